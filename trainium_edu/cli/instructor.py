"""The instructor's commands: ``grade``, ``leaderboard`` and ``export``."""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from trainium_edu import files

__all__ = ["add"]


def add(commands):
    """Add the commands to the argument parser."""
    grade = commands.add_parser("grade", help="grade a notebook, a kernel, or a folder of them")
    grade.add_argument("target", type=Path, metavar="FILE_OR_DIR")
    grade.add_argument("--assignment", type=Path, metavar="SPEC", 
                       help="grade kernel files (.py) against this .toml or .py")  # fmt: skip
    grade.add_argument("--json", action="store_true", help="print the rows as JSON")
    grade.add_argument("--csv", type=Path, metavar="OUT", help="write one line per submission")
    grade.add_argument(
        "--gradescope", type=Path, metavar="OUT", help="write results.json in Gradescope's format"
    )
    grade.add_argument("--feedback", type=Path, metavar="DIR", help="write a page per student")
    grade.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="submissions at once")
    grade.add_argument("--roster", type=Path, metavar="CSV",
                       help="columns submission (file name) and student (id)")  # fmt: skip
    _add_salt(grade)
    _add_exercises(grade)
    grade.add_argument("--seconds", type=float, metavar="N",
                       help="seconds for a cell or call (default: SPEC's, or 30)")  # fmt: skip
    grade.add_argument("--submission-seconds", type=float, metavar="N",
                       help="seconds for a submission (default: SPEC's, or 240)")  # fmt: skip
    grade.add_argument("--memory-gib", type=float, metavar="N",
                       help="memory for a submission (default: SPEC's, or 4)")  # fmt: skip
    grade.add_argument("--predictions", action="store_true",
                       help="collect the class's predictions instead; nothing is run")  # fmt: skip
    grade.add_argument("--png", type=Path, metavar="DIR", help="histograms of the predictions")
    grade.set_defaults(run=_grade)
    board = commands.add_parser(
        "leaderboard", help="rank the right kernels of a class by their predicted latency"
    )
    board.add_argument("paths", type=Path, nargs="+", metavar="FILE_OR_DIR",
                       help="what grade --json printed, or keeps as OUT.csv.jsonl")  # fmt: skip
    board.add_argument("--pseudonyms", metavar="WORD", help="hash names with this word of yours")
    board.add_argument("--csv", type=Path, metavar="OUT", help="write all boards as a table")
    board.add_argument("--html", type=Path, metavar="OUT", help="write a page")
    board.set_defaults(run=_leaderboard)
    export = commands.add_parser(
        "export", help="write exercises for nbgrader, or an autograder for Gradescope"
    )
    export.add_argument("lesson", help="its number, for example 02; or an assignment of kernels")
    export.add_argument("out", type=Path, nargs="?", metavar="FILE",
                        help="the assignment's notebook, or the archive")  # fmt: skip
    _add_exercises(export)
    export.add_argument("--solutions", type=Path, metavar="FILE",
                        help="solutions to put between nbgrader's marks")  # fmt: skip
    _add_salt(export)
    export.add_argument(
        "--gradescope", action="store_true", help="write an autograder archive for Gradescope"
    )
    export.set_defaults(run=_export)


def _add_exercises(command):
    command.add_argument("--exercises", type=Path, nargs="*", default=[], metavar="FILE",
                         help="lessons of your own, named like 20_my_lesson.py")  # fmt: skip


def _add_salt(command):
    command.add_argument("--salt", default="", help="your own word: other hidden numbers")
    command.add_argument("--salt-file", metavar="FILE",
                         help="a file of mode 0600 with the word; - reads it")  # fmt: skip


def _salt(options):
    """Return the instructor's word, from where submissions cannot read it."""
    if options.salt_file == "-":
        return sys.stdin.readline().strip()
    if options.salt_file:
        path = Path(options.salt_file)
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise ValueError(f"{path} can be read by others than you: chmod 600 {path}")
        return path.read_text(encoding="utf-8").strip()
    return options.salt


def _export(options):
    from trainium_edu import exercises

    for path in options.exercises:
        exercises.register(path)
    if options.gradescope:
        from trainium_edu.cli import gradescope

        out = options.out or Path(f"autograder-{Path(options.lesson).stem}.zip")
        print(gradescope.export(options.lesson, out, salt=_salt(options)))
        return 0
    from trainium_edu.exercises import assignment

    out = options.out or Path(f"{options.lesson}.ipynb")
    said = assignment.export(options.lesson, out, solutions=options.solutions, salt=_salt(options))
    print(said)
    return 0


def _grade(options):
    from trainium_edu.cli import grade, sandbox
    from trainium_edu.cli.assignment import read
    from trainium_edu.cli.limits import Limits

    if options.target.suffix == ".py" and options.target.is_file() and not options.assignment:
        raise ValueError(f"{options.target} is graded against an assignment: --assignment SPEC")
    for name in ("jobs", "seconds", "submission_seconds", "memory_gib"):
        value = getattr(options, name)
        if value is not None and not 0 < value < 1e6:
            raise ValueError(f"--{name.replace('_', '-')} takes a number above 0, below a million")
    if options.csv and not options.csv.absolute().parent.is_dir():
        raise ValueError(f"there is no folder {options.csv.parent} for --csv; make it first")
    pages = options.feedback
    if pages and pages.resolve().is_relative_to(options.target.resolve()):
        raise ValueError(f"--feedback {pages} is among the submissions; name a folder elsewhere")
    why = sandbox.missing()
    if options.salt and why:
        raise ValueError(
            f"--salt stands on the command line, which submissions can read here ({why}); put the "
            "word into a file of mode 0600, or better pipe it: --salt-file FILE, or -"
        )
    salt = _salt(options)
    if salt and why:
        sandbox.harden()
    asked = read(options.assignment, salt=salt) if options.assignment else None
    paths = grade.submissions(
        options.target, lambda said: print(said, file=sys.stderr),
        suffix=".py" if asked else ".ipynb", leave=asked.own if asked else (),
    )  # fmt: skip
    if options.predictions:
        return _predictions(paths, options)
    limits = (asked.limits if asked else Limits()).but(
        seconds=options.seconds, submission_seconds=options.submission_seconds,
        memory_gib=options.memory_gib,
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
            salt=salt,
            modules=options.exercises,
            limits=limits,
            jobs=options.jobs,
            known=known,
            done=done,
            assignment=asked,
        )
        if options.target.is_dir():
            rows += grade.absent(roster, paths)
        if options.csv:
            grade.write_csv(rows, options.csv)
        if pages:
            from trainium_edu.cli import feedback

            print(feedback.write(rows, options.target, pages), file=sys.stderr)
    except (KeyboardInterrupt, OSError) as error:
        why = "stopped" if isinstance(error, KeyboardInterrupt) else str(error.strerror or error)
        where = f"; {kept} keeps the rows so far, and the same command goes on" if kept else ""
        print(f"{why} after {count} new rows{where}", file=sys.stderr)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    if options.gradescope:
        from trainium_edu.cli import gradescope

        gradescope.write_results(rows[0], options.gradescope)
    if options.json:
        data = [asdict(row) for row in rows]
        print(json.dumps(data if options.target.is_dir() else data[0], indent=1))
    elif options.csv:
        print(f"{len(rows)} rows in {options.csv} ({count} new)")
    else:
        for row in rows:
            print(_in_full(row))
    return 0


def _leaderboard(options):
    from trainium_edu.cli import class_leaderboard
    from trainium_edu.exercises import leaderboard

    entries, unreadable = class_leaderboard.collect(options.paths)
    for sentence in unreadable:
        print(sentence, file=sys.stderr)
    if not entries:
        raise ValueError(
            f"{options.paths[0]} holds no row of a right kernel; make some with grade "
            "--assignment SPEC --json"
        )
    if options.pseudonyms:
        entries = [entry.under(options.pseudonyms) for entry in entries]
    if options.csv:
        files.write(options.csv, leaderboard.as_csv(entries))
    if options.html:
        files.write(options.html, class_leaderboard.as_page(entries))
    if not (options.csv or options.html):
        print(class_leaderboard.as_text(entries))
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


def _summary(row):
    text = f"{row.points} of {row.of}" if row.status == "graded" else row.status
    return f"{text}; {row.reason}" if row.reason else text


def _in_full(row):
    lines = [f"{row.submission}: {_summary(row)}"]
    for key, grade in row.exercises.items():
        said = f"{grade['status']}: {grade['reason']}".strip(": ")
        lines.append(f"  {key}: {grade['points']} of {grade['of']}, {said}")
    if row.figures:
        from trainium_edu.cli.grade_kernel import Figures

        lines += [f"  {case}: {Figures(**found)}" for case, found in row.figures.items()]
    lines += [f"  advice: {said}" for said in row.advice]
    return "\n".join([*lines, *(f"  note: {note}" for note in row.notes)])
