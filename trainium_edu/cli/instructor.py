"""The instructor's commands: ``grade`` and ``export``."""

import json
import os
import sys
from pathlib import Path

from trainium_edu import files

__all__ = ["add"]


def add(commands):
    """Add the commands to the argument parser."""
    grade = commands.add_parser("grade", help="grade a notebook, or a folder of them")
    grade.add_argument("target", type=Path, metavar="NOTEBOOK_OR_DIR")
    grade.add_argument("--json", action="store_true", help="print the rows as JSON")
    grade.add_argument("--csv", type=Path, metavar="OUT", help="write one line per submission")
    grade.add_argument(
        "--gradescope", type=Path, metavar="OUT", help="write results.json in Gradescope's format"
    )
    grade.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="submissions at once")
    grade.add_argument("--roster", type=Path, metavar="CSV",
                       help="columns submission (file name) and student (id)")  # fmt: skip
    grade.add_argument("--salt", default="", help="your own word: other hidden numbers")
    grade.add_argument("--exercises", type=Path, nargs="*", default=[], metavar="FILE",
                       help="lessons of your own, named like 20_my_lesson.py")  # fmt: skip
    grade.add_argument("--seconds", type=float, default=30.0, help="seconds for a cell or call")
    grade.add_argument(
        "--submission-seconds", type=float, default=240.0, help="seconds for a notebook"
    )
    grade.add_argument("--memory-gib", type=float, default=4.0, help="memory for a notebook")
    grade.add_argument("--predictions", action="store_true",
                       help="collect the class's predictions instead; nothing is run")  # fmt: skip
    grade.add_argument("--png", type=Path, metavar="DIR", help="histograms of the predictions")
    grade.set_defaults(run=_grade)
    export = commands.add_parser(
        "export", help="write a lesson's exercises for nbgrader, or an autograder for Gradescope"
    )
    export.add_argument("lesson", help="its number, for example 02")
    export.add_argument("out", type=Path, nargs="?", metavar="FILE",
                        help="the assignment's notebook, or the archive")  # fmt: skip
    export.add_argument("--solutions", type=Path, metavar="FILE",
                        help="solutions to put between nbgrader's marks")  # fmt: skip
    export.add_argument("--salt", default="", help="your own word: other hidden numbers")
    export.add_argument(
        "--gradescope", action="store_true", help="write an autograder archive for Gradescope"
    )
    export.set_defaults(run=_export)


def _export(options):
    if options.gradescope:
        from trainium_edu.cli import gradescope

        out = options.out or Path(f"autograder-{options.lesson}.zip")
        print(gradescope.export(options.lesson, out, salt=options.salt))
        return 0
    from trainium_edu.exercises import assignment

    out = options.out or Path(f"{options.lesson}.ipynb")
    said = assignment.export(options.lesson, out, solutions=options.solutions, salt=options.salt)
    print(said)
    return 0


def _grade(options):
    from trainium_edu.cli import grade
    from trainium_edu.cli.grade_one import Limits

    paths = grade.submissions(options.target, lambda said: print(said, file=sys.stderr))
    if options.predictions:
        return _predictions(paths, options)
    for name in ("jobs", "seconds", "submission_seconds", "memory_gib"):
        if not 0 < getattr(options, name) < 1e6:
            raise ValueError(f"--{name.replace('_', '-')} takes a number above 0, below a million")
    limits = Limits(
        seconds=options.seconds, submission_seconds=options.submission_seconds,
        memory_bytes=int(options.memory_gib * 2**30),
    )  # fmt: skip
    roster = grade.read_roster(options.roster, paths) if options.roster else {}
    kept = options.csv.with_name(f"{options.csv.name}.jsonl") if options.csv else None
    rows, count = [], 0

    def done(row):
        nonlocal count
        if kept:
            grade.keep_row(row, kept)
            print(f"{row.submission}: {_summary(row)}", flush=True)
        count += 1

    known = grade.read_kept(kept) if kept else {}
    try:
        if kept:
            grade.end_torn_line(kept)
        rows = grade.grade_all(
            paths,
            roster=roster,
            salt=options.salt,
            modules=options.exercises,
            limits=limits,
            jobs=options.jobs,
            known=known,
            done=done,
        )
        if options.csv:
            grade.write_csv(rows, options.csv)
    except (KeyboardInterrupt, OSError) as error:
        why = "stopped" if isinstance(error, KeyboardInterrupt) else str(error.strerror or error)
        where = f"; {kept} keeps the rows so far, and the same command goes on" if kept else ""
        print(f"{why} after {count} new rows{where}", file=sys.stderr)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    if options.gradescope:
        from trainium_edu.cli import gradescope

        gradescope.write_results(rows[0], options.gradescope)
    if options.json:
        data = [_as_dict(row) for row in rows]
        print(json.dumps(data if options.target.is_dir() else data[0], indent=1))
    elif options.csv:
        print(f"{len(rows)} rows in {options.csv} ({count} new)")
    else:
        for row in rows:
            print(_in_full(row))
    return 0


def _predictions(paths, options):
    from trainium_edu.cli import class_predictions

    found, unreadable = class_predictions.collect(paths)
    if options.json:
        print(json.dumps([p.as_data() for p in found.values()], indent=1))
    else:
        print("\n\n".join(str(p) for p in found.values()) or "no committed predictions found")
    for sentence in unreadable:
        print(sentence, file=sys.stderr)
    if options.png:
        from trainium_edu.viz import style

        options.png.mkdir(parents=True, exist_ok=True)
        for key, prediction in found.items():
            with style.theme():
                picture = style.to_png(class_predictions.plot_predictions(prediction))
            files.write(options.png / f"{key.replace('/', '-')}.png", picture)
    return 0


def _as_dict(row):
    import dataclasses

    return dataclasses.asdict(row)


def _summary(row):
    text = f"{row.points} of {row.of}" if row.status == "graded" else row.status
    return f"{text}; {row.reason}" if row.reason else text


def _in_full(row):
    lines = [f"{row.submission}: {_summary(row)}"]
    for key, grade in row.exercises.items():
        said = f"{grade['status']}: {grade['reason']}".strip(": ")
        lines.append(f"  {key}: {grade['points']} of {grade['of']}, {said}")
    return "\n".join([*lines, *(f"  note: {note}" for note in row.notes)])
