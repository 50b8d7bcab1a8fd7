"""Gradescope: an autograder archive, and the results file that it has to leave.

It grades a lesson's notebook, or a kernel file against an assignment.

The archive holds what Gradescope asks for (``setup.sh``, run once while it builds its image, and
``run_autograder``, run for each submission), this package without its solutions, and the salt in
a file that only root can read.
On its machines a submission stands in a container of its own; the grader in it is the one of every
other class, and where the container has no walls, it runs a submission as another user.
"""

import json
import shlex
import zipfile
from pathlib import Path

import trainium_edu
from trainium_edu import exercises, files
from trainium_edu.cli.assignment import read
from trainium_edu.cli.feedback import title_of
from trainium_edu.cli.refusals import sentence
from trainium_edu.exercises import afterwards
from trainium_edu.exercises.assignment import files_of
from trainium_edu.exercises.lessons import lesson_notebook
from trainium_edu.files import tables

__all__ = ["export", "write_results"]

#: The two scripts that Gradescope asks for.
_SCRIPTS = Path(__file__).with_name("autograder")
_COLUMNS = tables(__file__)["columns"]  #: of its leaderboard; the first one ranks


def export(lesson: str, out: Path, *, salt: str = "") -> str:
    """Write the autograder archive of a lesson, or of an assignment.

    Parameters
    ----------
    lesson : str
        Its number, ``"02"``; or the specification of an assignment, a ``.toml`` or ``.py``.
    out : Path
    salt : str
        Your own word; it changes all hidden numbers.

    Returns
    -------
    said : str
        One line on what was written.

    Raises
    ------
    ValueError
        If the lesson has no exercises, the specification is wrong, or this package is not in a
        checkout that can be packed.
    """
    if Path(lesson).suffix in (".toml", ".py"):
        asked = read(Path(lesson), salt=salt)
        kind, own, parts = "assignment", [Path(lesson).resolve(), *asked.own], asked.parts
        what = f"assignment {asked.name}, {len(parts)} parts"
    else:
        parts = {exercise.key: exercise.points for exercise in exercises.of_lesson(lesson)}
        if not parts:
            raise ValueError(f"lesson {lesson} has no exercises")
        kind, own = "exercises", files_of(lesson)
        own += [lesson_notebook(lesson)] if own else []
        what = f"lesson {lesson}, {len(parts)} exercises"
    option = f" --{kind} {shlex.quote(f'source/{kind}/{own[0].name}')}" if own else ""
    package = Path(trainium_edu.__file__).resolve().parent
    root = package.parent
    if not (root / "pyproject.toml").is_file():
        raise ValueError(sentence("gradescope.no_checkout", root=root))
    out = Path(out)
    with files.replacing(out) as file, zipfile.ZipFile(file, "w") as archive:
        for script in sorted(_SCRIPTS.iterdir()):
            text = script.read_text(encoding="utf-8").format(options=option)
            _put(archive, script.name, text, mode=0o755)
        _put(archive, "salt", f"{salt}\n", mode=0o600)
        packed = [root / n for n in ["pyproject.toml", ".ci/wheel.py", "README.md", "LICENSE"]]
        for folder in (package, root / "notebooks"):
            packed += sorted(p for p in folder.rglob("*") if p.is_file())
        kept_out = {"__pycache__", ".ipynb_checkpoints", afterwards.FOLDER.name}
        packed = [path for path in packed if not kept_out & {*path.parts}]
        named = {f"package/{path.relative_to(root).as_posix()}": path for path in packed}
        named |= {f"{kind}/{path.relative_to(own[0].parent).as_posix()}": path for path in own}
        for name, path in named.items():
            _put(archive, name, path.read_bytes())
    return f"{out}: autograder for {what}, {sum(parts.values())} points"


def _put(archive, name, data, mode=0o644):
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.external_attr, info.compress_type = mode << 16, zipfile.ZIP_DEFLATED
    archive.writestr(info, data)


def write_results(row, out: Path):
    """Write the results of one submission.

    Parameters
    ----------
    row : Row
        As ``cli.grade`` leaves it.
    out : Path
        ``results.json``: score, and a test with score, status and feedback for each exercise.
    """
    tests = []
    for key, grade in row.exercises.items():
        test = {"name": title_of(key), "number": key, "output": row.feedback(key)}
        test |= {"score": grade["points"], "max_score": grade["of"], "visibility": "visible"}
        tests.append({**test, "status": "passed" if grade["points"] else "failed"})
    why = "" if row.status == "graded" else row.reason
    lines = filter(None, [why, f"walls: {row.walls}", *row.said(), *row.advice])
    results = {"score": row.points, "execution_time": round(row.seconds), "tests": tests}
    results |= {"stdout_visibility": "hidden", "visibility": "visible", "output": "\n".join(lines)}
    if row.leaderboard:  # Gradescope ranks by the first of them and shows names of its own
        results["leaderboard"] = [
            {"name": head, "value": round(row.leaderboard[key], 4), "order": order}
            for key, head, order in _COLUMNS
        ]
    files.write(out, json.dumps(results, indent=1) + "\n", makes_folder=True)
