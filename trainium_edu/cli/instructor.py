"""The instructor's commands ``grade`` and ``export``."""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from trainium_edu.cli.page import rendered
from trainium_edu.cli.refusals import sentence

__all__ = ["export", "grade"]


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


def export(options) -> None:
    """Write exercises for nbgrader, or an autograder."""
    from trainium_edu import exercises

    for path in options.exercises:
        exercises.register(path)
    if options.gradescope:
        from trainium_edu.cli import gradescope

        out = options.out or Path(f"autograder-{Path(options.lesson).stem}.zip")
        said = gradescope.export(options.lesson, out, salt=_salt(options))
    else:
        from trainium_edu.exercises import assignment

        out, solutions = options.out or Path(f"{options.lesson}.ipynb"), options.solutions
        said = assignment.export(options.lesson, out, solutions=solutions, salt=_salt(options))
    print(said)


def grade(options) -> int:
    """Grade submissions, or collect their predictions."""
    from trainium_edu.cli import feedback, grade, gradescope, row, sandbox
    from trainium_edu.cli.assignment import read
    from trainium_edu.cli.limits import Limits

    if options.target.suffix == ".py" and options.target.is_file() and not options.assignment:
        raise ValueError(f"{options.target} is graded against an assignment: --assignment SPEC")
    numbers = ("jobs", "seconds", "submission_seconds", "memory_gib")
    given = {name: getattr(options, name) for name in numbers}
    for name, value in given.items():
        if value is not None and not 0 < value < 1e6:
            raise ValueError(f"--{name.replace('_', '-')} takes a number above 0, below a million")
    if options.csv and not options.csv.absolute().parent.is_dir():
        raise ValueError(f"there is no folder {options.csv.parent} for --csv; make it first")
    pages = options.feedback
    if pages and pages.resolve().is_relative_to(options.target.resolve()):
        raise ValueError(f"--feedback {pages} is among the submissions; name a folder elsewhere")
    why = sandbox.missing()
    if options.salt and why:
        raise ValueError(sentence("instructor.salt", why=why))
    salt = _salt(options)
    if salt and why:
        sandbox.harden()
    asked = read(options.assignment, salt=salt) if options.assignment else None
    target = options.target
    paths = grade.submissions(target, ".py", asked.own) if asked else grade.submissions(target)
    if options.predictions:
        from trainium_edu.cli import class_predictions

        class_predictions.show(paths, as_json=options.json, folder=options.png)
        return 0
    jobs = given.pop("jobs") or os.cpu_count() or 1
    limits = (asked.limits if asked else Limits()).but(**given)
    roster = grade.read_roster(options.roster, paths) if options.roster else {}
    kept = options.csv.with_name(f"{options.csv.name}.jsonl") if options.csv else None
    rows, new = [], []

    def done(one):
        if kept:
            row.keep_row(one, kept)
            print(f"{one.submission}: {_summary(one)}", flush=True)
        new.append(one)

    how: dict = {"roster": roster, "known": row.read_kept(kept) if kept else {}, "done": done}
    how |= {"limits": limits, "jobs": jobs, "salt": salt, "modules": options.exercises}
    try:
        rows = grade.grade_all(paths, assignment=asked, **how)
        if options.target.is_dir():
            rows += grade.absent(roster, paths)
        if options.csv:
            row.write_csv(rows, options.csv)
        if pages:
            print(feedback.write(rows, options.target, pages), file=sys.stderr)
    except (KeyboardInterrupt, OSError) as error:
        why = "stopped" if isinstance(error, KeyboardInterrupt) else str(error.strerror or error)
        where = f"; {kept} keeps the rows so far, and the same command goes on" if kept else ""
        print(f"{why} after {len(new)} new rows{where}", file=sys.stderr)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    if options.gradescope:
        gradescope.write_results(rows[0], options.gradescope)
    if options.json:
        data = [asdict(each) for each in rows]
        print(json.dumps(data if options.target.is_dir() else data[0], indent=1))
    elif options.csv:
        print(f"{len(rows)} rows in {options.csv} ({len(new)} new)")
    else:
        print("\n".join(rendered("row.txt", row=r, summary=_summary(r)) for r in rows))
    return 0


def _summary(row):
    text = f"{row.points} of {row.of}" if row.status == "graded" else row.status
    return f"{text}; {row.reason}" if row.reason else text
