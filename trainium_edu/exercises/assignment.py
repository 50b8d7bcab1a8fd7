"""A lesson's exercises as an nbgrader assignment, and a mender for an assignment's metadata.

The export keeps what an exercise needs and nothing else of the lesson: its text, the cells above
it that it uses, the cell to be written in (graded by nobody), and a locked cell with the points:
the public check, and the hidden one between nbgrader's marks.  Grade ids come from exercise keys,
so they never change.  nbgrader itself is not imported here; only its metadata format is written.
"""

import json
import re
import warnings
from pathlib import Path

from trainium_edu import files
from trainium_edu.exercises import afterwards, catalogue, lessons
from trainium_edu.exercises.needed_cells import cells_of, key_of, needed_for

__all__ = ["export", "grade_id", "mend"]

_SCHEMA = 3
# The check runs in a process of its own (``cli/grade_answer.py``): in this one a submission may
# have replaced anything of the package.
_HIDDEN = '''\
import pickle, subprocess, sys
from trainium_edu.exercises.answers import canonical
grader = subprocess.Popen([sys.executable, "-I", "-m", "trainium_edu.cli.grade_answer"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
def tell(*what):
    try:
        data = pickle.dumps(canonical(what))
    except Exception:
        data = pickle.dumps(("unsendable", type(what[1]).__name__))
    print(data.hex(), file=grader.stdin, flush=True)
tell({key!r}, str(globals().get("student", "")), {salt!r})
tell(*(("callable", getattr({answer}, "__name__", "answer")) if callable({answer})
       else ("value", {answer})))
status, reason = "stopped", "the grader ended"
for line in grader.stdout:
    status, reason = pickle.loads(bytes.fromhex(line))
    if status != "call":
        break
    try:
        tell("value", {answer}(*reason[0], **reason[1]))
    except BaseException as error:
        tell("raised", (type(error).__name__, str(error)[:500]))
grader.kill()
assert status == "full", f"{{status}}: {{reason}}"'''


def grade_id(key: str, part: str = "") -> str:
    """Return nbgrader's name for an exercise's cell.

    Parameters
    ----------
    key : str
    part : str
        Empty for the cell to be written in, ``"check"`` for the one with the points.

    Examples
    --------
    >>> grade_id("02/spacing", "check")
    'ex-02-spacing-check'
    """
    return "-".join(["ex", key.replace("/", "-"), *([part] if part else [])])


def export(lesson: str, out: Path, *, solutions: Path | None = None, salt: str = "") -> str:
    """Write a lesson's exercises as the source version of an nbgrader assignment.

    Parameters
    ----------
    lesson : str
        Its two-digit number.
    out : Path
        The notebook to write.
    solutions : Path, optional
        A file as :mod:`.afterwards` reads it; its solutions go between nbgrader's solution marks,
        and ``nbgrader generate_assignment`` takes them out again.
    salt : str
        Your own word; it changes all hidden numbers.

    Returns
    -------
    said : str
        One line on what was written.

    Raises
    ------
    ValueError
        If the lesson has no exercises.
    """
    lesson = lessons.number_of(str(lesson))
    mine = catalogue.of_lesson(lesson)
    if not mine:
        raise ValueError(f"lesson {lesson} has no exercises")
    book = json.loads(lessons.lesson_notebook(lesson).read_text(encoding="utf-8"))
    told = afterwards.read(solutions) if solutions else {}
    answers = {key: part.solution for key, part in told.items()}
    wanted = _wanted(book, mine, answers)
    name = catalogue.LESSONS[lesson].partition("_")[2]
    made = [_text("# " + name.replace("_", " ").capitalize(), "title")]
    for i, cell in enumerate(book["cells"]):
        exercise = catalogue.find(key_of(cell)) if key_of(cell) else None
        check = catalogue.find(key_of(cell, "check")) if key_of(cell, "check") else None
        if exercise:
            if i and book["cells"][i - 1]["cell_type"] == "markdown":
                made.append({**book["cells"][i - 1], "attachments": {}})
            made.append(_answer_cell(exercise, cell, answers.get(exercise.key)))
        elif check:
            made.append(_check_cell(check, cell, salt))
        elif i in wanted:
            made.append(_code(_source(cell), cell["id"], cell.get("metadata", {})))
    for cell in made:
        cell.pop("attachments", None) if cell["cell_type"] == "markdown" else None
    assignment = {**book, "cells": made}
    out = Path(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    _write(out, assignment)
    points = sum(exercise.points for exercise in mine)
    return f"{out}: {len(mine)} exercises, {points} points"


def _wanted(book, mine, answers):
    """Return the indices of cells that an answer may need: by the solutions, and all imports."""
    solved = [
        {**cell, "source": answers.get(key_of(cell), _source(cell))} for cell in book["cells"]
    ]
    cells = cells_of({"cells": solved})
    checks = {i for i, cell in enumerate(book["cells"]) if key_of(cell, "check")}
    names = {exercise.answer for exercise in mine}
    names |= {name for cell in cells if cell.index in checks for name in cell.needs}
    wanted = {c.index for name in names for c in needed_for(name, cells, skip=checks)}
    imports = re.compile(r"((import|from)\s.*|\s*|#.*)")
    wanted |= {
        cell.index
        for cell in cells
        if cell.source.strip() and all(imports.fullmatch(li) for li in cell.source.split("\n"))
    }
    return wanted


def _answer_cell(exercise, cell, solution):
    # nbgrader empties a cell without marks, starter and all; so there are always marks.
    region = solution or "pass"
    source = f"{_source(cell).rstrip()}\n### BEGIN SOLUTION\n{region}\n### END SOLUTION"
    metadata = {**cell.get("metadata", {}), "nbgrader": _grade(grade_id(exercise.key))}
    return _code(source, cell["id"], metadata)


def _check_cell(exercise, cell, salt):
    """Return the locked cell: the public check, and the hidden one that nbgrader strips."""
    hidden = _HIDDEN.format(key=exercise.key, answer=exercise.answer, salt=salt)
    source = f"{_source(cell)}\n### BEGIN HIDDEN TESTS\n{hidden}\n### END HIDDEN TESTS"
    info = _grade(grade_id(exercise.key, "check"), points=exercise.points)
    return _code(source, cell["id"], {**cell.get("metadata", {}), "nbgrader": info})


def _grade(name, points=None):
    """Return nbgrader's cell metadata: a solution cell, or with points a locked test cell."""
    info = {
        "grade": points is not None, "grade_id": name, "locked": points is not None,
        "schema_version": _SCHEMA, "solution": points is None, "task": False,
    }  # fmt: skip
    return info if points is None else {**info, "points": points}


def mend(path: Path) -> list[str]:
    """Mend duplicated and missing cell metadata of an assignment, in place.

    Copied cells are the commonest trouble: two cells with one grade id make nbgrader stop.  The
    copy that is most likely the real one keeps it (the attempted one, else the first); the others
    become plain cells.  Metadata that a tool dropped are put back by exercise key, cell id or the
    name that a cell binds.  The former file is kept as ``NAME.before-mending``.

    Parameters
    ----------
    path : Path

    Returns
    -------
    said : list of str
        What was mended, one line each.

    Raises
    ------
    ValueError
        If the file is not the notebook of a known lesson.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
        book = json.loads(text)
        cells = book["cells"]
        assert all(isinstance(cell.get("cell_type"), str) for cell in cells)
    except (ValueError, KeyError, TypeError, AttributeError, AssertionError, RecursionError):
        raise ValueError(f"{path} is not a notebook of format 4") from None
    for cell in cells:
        if not isinstance(cell.get("metadata"), dict):
            cell["metadata"] = {}
    lesson = _lesson(cells, path.name)
    # Where every mark is lost, it was an assignment: that is what this is called for.
    graded = any(_nbgrader(c) for c in cells) or not any(key_of(c) for c in cells)
    said = _mend_ids(cells)
    for exercise in catalogue.of_lesson(lesson):
        said += _mend_part(cells, exercise, "exercise", graded)
        said += _mend_part(cells, exercise, "check", graded)
    said += _mend_strangers(cells)
    if not said:
        return [f"{path}: nothing to mend"]
    book["nbformat"], book["nbformat_minor"] = 4, 5
    kept = path.with_name(path.name + ".before-mending")
    if not kept.exists():
        files.write(kept, text)
    _write(path, book)
    return [*said, f"{path}: mended; the former file is {kept.name}"]


def _lesson(cells, name):
    keys = [key for cell in cells for kind in ("exercise", "check") if (key := key_of(cell, kind))]
    number = lessons.NUMBER.pattern
    given = [str(_nbgrader(cell).get("grade_id", "")) for cell in cells]
    ids = [m.group(1) for grade_id in given if (m := re.match(rf"ex-({number})-", grade_id))]
    named = re.findall(rf"(?<!\d)({number})(?!\d)", name)[:1]
    for found in [*map(lessons.number_of, keys), *ids, *named]:
        if catalogue.of_lesson(found):
            return found
    raise ValueError(f"{name} is not the notebook of a lesson with exercises")


def _mend_part(cells, exercise, kind, graded):
    """Give one exercise exactly one cell of a kind; return what was done."""
    part = "check" if kind == "check" else ""
    wanted = grade_id(exercise.key, part)
    marked = [
        c for c in cells
        if c["cell_type"] == "code"
        and (key_of(c, kind) == exercise.key or _nbgrader(c).get("grade_id") == wanted)
    ]  # fmt: skip
    said = []
    if not marked:
        lost = _find_lost(cells, exercise, kind)
        if lost is None:
            return [f"{exercise.key}: its {kind} cell is gone; copy it from the lesson"]
        marked = [lost]
        said.append(f"{exercise.key}: put back the metadata of its {kind} cell")
    keeper = _the_real_one(marked, exercise, kind)
    for cell in marked:
        if cell is not keeper:
            cell["metadata"].pop("nbgrader", None)
            cell["metadata"].pop("trainium_edu", None)
            cell["metadata"]["tags"] = [
                t for t in cell["metadata"].get("tags") or () if t not in ("exercise", "check")
            ]
            said.append(f"{exercise.key}: a copy of its {kind} cell is a plain cell now")
    metadata = keeper["metadata"]
    want = {"trainium_edu": {kind: exercise.key}}
    if graded:
        points = exercise.points if kind == "check" else None
        want["nbgrader"] = {**_nbgrader(keeper), **_grade(wanted, points)}
    if any(metadata.get(name) != value for name, value in want.items()) and not said:
        said.append(f"{exercise.key}: mended the metadata of its {kind} cell")
    metadata.update(want)
    tags = metadata.get("tags") if isinstance(metadata.get("tags"), list) else []
    metadata["tags"] = tags if kind in tags else [*tags, kind]
    return said


def _find_lost(cells, exercise, kind):
    """Find the cell that lost its metadata: by the lesson's cell id, else by what it does."""
    lesson_ids = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            path = lessons.lesson_notebook(lessons.number_of(exercise.key))
            book = json.loads(path.read_text(encoding="utf-8"))
            lesson_ids = {c.get("id") for c in book["cells"] if key_of(c, kind) == exercise.key}
        except (OSError, ValueError):
            pass
    free = [c for c in cells if c["cell_type"] == "code" and not _nbgrader(c)
            and not key_of(c) and not key_of(c, "check")]  # fmt: skip
    by_id = [c for c in free if c.get("id") in lesson_ids]
    if by_id:
        return by_id[0]
    if kind == "check":
        pattern = re.compile(rf"\b\w+\.{exercise.function.__name__}\(")
        return next((c for c in free if pattern.search(_source(c))), None)
    for cell in reversed(free):
        if _binds(cell, exercise.answer):
            return cell
    return None


def _the_real_one(marked, exercise, kind):
    """Return the cell that keeps the metadata: one that binds the answer, attempted, the last."""
    if len(marked) == 1 or kind == "check":
        return marked[0]
    binding = [cell for cell in marked if _binds(cell, exercise.answer)]
    attempted = [c for c in binding if not re.search(r"\.\.\.\s*$|= None\b", _source(c))]
    return (attempted or binding or marked)[-1]


def _binds(cell, name):
    return any(name in read.binds for read in cells_of({"cells": [cell]}))


def _mend_strangers(cells):
    """Take nbgrader's mark from further cells that share a grade id."""
    said, seen = [], set()
    for cell in cells:
        name = _nbgrader(cell).get("grade_id")
        if name is None:
            continue
        if name in seen:
            cell["metadata"].pop("nbgrader")
            said.append(f"a second cell with the grade id {name!r} is a plain cell now")
        seen.add(name)
    return said


def _mend_ids(cells):
    said, seen = [], set()
    for i, cell in enumerate(cells):
        key = cell.get("id")
        if not isinstance(key, str) or not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", key) or key in seen:
            key = next(k for n in range(10**6) if (k := f"cell-{i}-{n}") not in seen)
            cell["id"] = key
            said.append(f"cell {i + 1} has an id of its own now")
        seen.add(key)
    return said


def _nbgrader(cell):
    info = cell["metadata"].get("nbgrader")
    return info if isinstance(info, dict) else {}


def _source(cell):
    source = cell.get("source", "")
    return "".join(source) if isinstance(source, list) else str(source)


def _code(source, key, metadata):
    return {"cell_type": "code", "id": key, "metadata": metadata, "source": source,
            "outputs": [], "execution_count": None}  # fmt: skip


def _text(source, key):
    return {"cell_type": "markdown", "id": key, "metadata": {}, "source": source}


def _write(path, book):
    files.write(path, json.dumps(book, indent=1, ensure_ascii=False) + "\n")
