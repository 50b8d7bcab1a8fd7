"""Bring new versions of lessons into a learner's working copy, and lose nothing of theirs.

Three versions meet cell by cell, matched by cell id: the base (as handed out), the learner's, and
the new lesson.  A cell that only one side changed takes that side; where both did, the learner's
stays, and the new lesson is laid beside it as ``NAME.new.ipynb``.  A notebook that cannot be
matched is left alone in the same way.  Whatever is rewritten is first copied to
``.trainium_edu/backup``.

Decisions: outputs of cells whose source stays are the learner's and stay; a committed prediction
stays even where the cell around it is new.  A lesson that the learner deleted comes back fresh
(that is how people start over); a cell that they deleted stays deleted.
"""

import difflib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from trainium_edu.cli.working_copy import base_folder, stripped, write
from trainium_edu.exercises import lessons
from trainium_edu.widgets.prediction import MIME

__all__ = ["Outcome", "merge", "update", "waiting"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one lesson."""

    name: str
    what: str  #: "new", "same", "updated", "kept"
    said: str  #: one sentence or more to the learner


class CannotMatch(Exception):
    """The learner's file cannot be compared with the lesson; says why."""


def waiting(work: Path) -> list[str]:
    """Return the lessons whose handed-out version is older than the present one."""
    found = []
    for source in lessons.notebooks():
        base = _readable(base_folder(work) / source.name)
        if base is not None and base != stripped(_load(source)):
            found.append(source.name)
    return found


def update(work: Path) -> list[Outcome]:
    """Update all lessons of a working copy.

    Parameters
    ----------
    work : Path

    Returns
    -------
    outcomes : list of Outcome
        One for each lesson, in order.
    """
    return [_update_one(source, Path(work)) for source in lessons.notebooks()]


def _update_one(source, work):
    name, mine, base_path = source.name, work / source.name, base_folder(work) / source.name
    new = stripped(_load(source))
    if not mine.exists() and not mine.is_symlink():
        was_there = base_path.exists()
        write(mine, new)
        write(base_path, new)
        return Outcome(name, "new", "put back, fresh (your copy was gone)" if was_there else "new")
    base = _readable(base_path)
    if base == new:
        return Outcome(name, "same", "nothing new")
    try:
        learner = _load(mine)
        if learner == new or (base is None and stripped(learner) == new):
            write(base_path, new)
            return Outcome(name, "same", "nothing new")
        if base is None:
            raise CannotMatch("it is not known which version it came from")
        merged, kept = merge(base, learner, new)
    except CannotMatch as error:
        return _lay_beside(work, name, new, base_path, f"kept as it is: {error}")
    except OSError as error:
        return _lay_beside(
            work, name, new, base_path, f"kept as it is: cannot be read ({error.strerror})"
        )
    backup = _back_up(mine, work)
    write(mine, merged)
    write(base_path, new)
    sentence = f"updated; your former copy is {backup.relative_to(work)}"
    if not kept:
        return Outcome(name, "updated", sentence)
    if any("also changed" in line for line in kept):
        beside = _free_name(work, name)
        write(beside, new)
        kept = [*kept, f"the new lesson stands beside yours as {beside.name}"]
    return Outcome(name, "updated", "; ".join([sentence, *kept]))


def merge(base: dict, learner: dict, new: dict) -> tuple[dict, list[str]]:
    """Merge three versions of a notebook by cell id.

    Parameters
    ----------
    base, learner, new : dict
        As handed out, as it is in the learner's folder, and as it should become.

    Returns
    -------
    merged : dict
    kept : list of str
        What of the learner's won over the lesson's, in words.

    Raises
    ------
    CannotMatch
        If ids are missing in the lesson or too many of the learner's are.
    """
    base_cells, new_cells = _by_id(base), _by_id(new)
    if base_cells is None or new_cells is None:
        raise CannotMatch("the lesson's own cells have no ids")
    theirs = _identified(learner["cells"], base["cells"], new["cells"])
    present = {i for i, _ in theirs if i}
    kept: list[str] = []
    order = _order(base_cells, theirs, new_cells, kept)
    own = {key: cell for key, cell in theirs if key is not None}
    merged_cells = []
    for key in order:
        if isinstance(key, int):  # a cell of the learner's own
            merged_cells.append(theirs[key][1])
            continue
        cell = own.get(key)
        if key not in new_cells:
            if _same(cell, base_cells[key]) and not _predictions(cell):
                continue  # left the lesson, and the learner never touched it
            kept.append(f"kept your cell {_name(cell)}, which has left the lesson")
            merged_cells.append(cell)
        elif cell is None:
            merged_cells.append(new_cells[key])
        elif any(_same(new_cells[key], c) for c in (cell, base_cells.get(key, new_cells[key]))):
            merged_cells.append(_lesson_metadata(cell, new_cells[key]))
        elif _same(cell, base_cells[key]):
            taken = json.loads(json.dumps(new_cells[key]))
            if taken["cell_type"] == "code":
                taken["outputs"] = _predictions(cell)
            merged_cells.append(taken)
        else:
            kept.append(f"kept your cell {_name(cell)}, which the lesson also changed")
            merged_cells.append(_lesson_metadata(cell, new_cells[key]))
    gone = [i for i in base_cells if i in new_cells and i not in present]
    if gone:
        kept.append(f"left out {len(gone)} cell{'s' * (len(gone) > 1)} that you deleted")
    if any(not _same(base_cells[i], new_cells[i]) for i in gone):
        kept.append("of what you deleted, the lesson also changed a part")
    _make_ids_differ(merged_cells)
    merged = {**new, "cells": merged_cells}
    merged["metadata"] = {**learner.get("metadata", {}), **new.get("metadata", {})}
    merged["nbformat_minor"] = max(new.get("nbformat_minor", 5), learner.get("nbformat_minor", 0))
    return merged, kept


def _order(base, theirs, new, kept):
    """Return the merged order: ids, and positions for the learner's own cells."""
    shared = [i for i, _ in theirs if i in base and i in new]
    in_base = [i for i in base if i in set(shared)]
    deleted = {i for i in base if i not in {j for j, _ in theirs}}
    if shared == in_base:
        spine = [i for i in new if i not in deleted]
    else:
        kept.append("kept your order of cells")
        spine = list(shared)
        for i in _insertions(new, [j for j in new if j not in base and j not in shared]):
            _insert_after(spine, *i)
    # What the lesson does not have stands behind the cell that it stood behind.
    before = None
    for position, (key, _) in enumerate(theirs):
        if key is not None and key in spine:
            before = key
            continue
        item = key if key is not None else position
        if before is None:
            spine.insert(0, item)
        else:
            spine.insert(spine.index(before) + 1, item)
        before = item
    return spine


def _insertions(new, fresh):
    """Yield each fresh id with the lesson's cells above it, nearest first."""
    ids = list(new)
    for i in fresh:
        yield i, list(reversed(ids[: ids.index(i)]))


def _insert_after(spine, item, above):
    place = next((spine.index(i) + 1 for i in above if i in spine), 0)
    spine.insert(place, item)


def _identified(cells, base_cells, new_cells):
    """Pair the learner's cells with ids of the base; None marks a cell of their own.

    Of several cells with one id (a damaged copy), the one most like the lesson's has it.  Where
    no id is known (some tools drop or rewrite them), cells are matched where their text is still
    the lesson's.
    """
    base = {cell["id"]: cell for cell in base_cells}
    ids = [cell.get("id") if isinstance(cell.get("id"), str) else None for cell in cells]
    known = set(base) | {cell["id"] for cell in new_cells}
    if not known.intersection(ids):
        texts = [(_source(c), c["cell_type"]) for c in cells]
        theirs = [(_source(c), c["cell_type"]) for c in base_cells]
        matcher = difflib.SequenceMatcher(None, theirs, texts, autojunk=False)
        ids = [None] * len(cells)
        for block in matcher.get_matching_blocks():
            for k in range(block.size):
                ids[block.b + k] = base_cells[block.a + k]["id"]
        matched = sum(i is not None for i in ids)
        if 2 * matched < len(base_cells):
            raise CannotMatch("its cells have other ids, and most of its text is not the lesson's")
        # Between two matches, one edited cell on either side is the same cell.
        for first, last in _gaps(ids):
            above = ids[first - 1] if first else None
            below = ids[last] if last < len(ids) else None
            order = [cell["id"] for cell in base_cells]
            start = order.index(above) + 1 if above else 0
            end = order.index(below) if below else len(order)
            if last - first == end - start:
                ids[first:last] = order[start:end]
    result, taken = [], {}
    for position, (key, cell) in enumerate(zip(ids, cells, strict=True)):
        if key in taken:
            likeness = [
                difflib.SequenceMatcher(
                    None, _source(base.get(key, cell)), _source(cells[p])
                ).ratio()
                for p in (taken[key], position)
            ]
            if likeness[1] > likeness[0]:
                result[taken[key]] = (None, cells[taken[key]])
                taken[key] = position
            else:
                key = None
        elif key is not None:
            taken[key] = position
        result.append((key, cell))
    # Ids that the lesson never had are the learner's own cells.
    return [(key if key in known else None, cell) for key, cell in result]


def _gaps(ids):
    """Yield (first, last) of each run of None."""
    first = None
    for i, key in enumerate([*ids, "end"]):
        if key is None and first is None:
            first = i
        if key is not None and first is not None:
            yield first, i
            first = None


def _by_id(notebook):
    cells = notebook["cells"]
    found = {cell.get("id"): cell for cell in cells}
    return found if None not in found and len(found) == len(cells) else None


def _make_ids_differ(cells):
    """Give a new id to a cell that has none, or that of a cell above it."""
    seen = set()
    for i, cell in enumerate(cells):
        key = cell.get("id")
        if not isinstance(key, str) or key in seen:
            stem = f"mine-{key}"[:50] if isinstance(key, str) else f"mine-{i}"
            key = next(k for k in (f"{stem}-{n}" for n in range(1, 10**6)) if k not in seen)
            cells[i] = {**cell, "id": key}
        seen.add(key)


def _same(a, b):
    return a["cell_type"] == b["cell_type"] and _source(a) == _source(b)


def _source(cell):
    source = cell.get("source", "")
    return ("".join(source) if isinstance(source, list) else str(source)).rstrip()


def _lesson_metadata(cell, lesson_cell):
    """Return the learner's cell with the tags and the exercise key that the lesson gives it."""
    metadata = dict(cell.get("metadata") or {})
    for name in ("tags", "trainium_edu"):
        if name in lesson_cell.get("metadata", {}):
            metadata[name] = lesson_cell["metadata"][name]
    return {**cell, "id": lesson_cell["id"], "metadata": metadata}


def _predictions(cell):
    """Return the outputs of a cell that hold a committed prediction."""
    outputs = cell.get("outputs") if isinstance(cell.get("outputs"), list) else []
    return [o for o in outputs if isinstance(o, dict) and MIME in (o.get("data") or {})]


def _name(cell):
    first = _source(cell).strip().split("\n")[0]
    return f'"{first[:40]}"' if first else "(empty)"


def _load(path):
    """Read a notebook as JSON; raise CannotMatch where it is none of format 4."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise CannotMatch("it is not a notebook (not JSON)") from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        old = isinstance(notebook, dict) and "worksheets" in notebook
        raise CannotMatch("its format predates 4" if old else "it is not a notebook (no cells)")
    for cell in notebook["cells"]:
        if not isinstance(cell, dict) or not isinstance(cell.get("cell_type"), str):
            raise CannotMatch("one of its cells is damaged")
    if not isinstance(notebook.get("metadata", {}), dict):
        raise CannotMatch("its metadata are damaged")
    return notebook


def _readable(path):
    try:
        return _load(path)
    except (OSError, CannotMatch):
        return None


def _lay_beside(work, name, new, base_path, reason):
    beside = _free_name(work, name)
    write(beside, new)
    write(base_path, new)
    return Outcome(name, "kept", f"{reason}; the new lesson stands beside it as {beside.name}")


def _free_name(work, name):
    stem = name.removesuffix(".ipynb")
    names = [f"{stem}.new.ipynb", *(f"{stem}.new{i}.ipynb" for i in range(2, 1000))]
    return next(work / n for n in names if not (work / n).exists())


def _back_up(path, work):
    folder = work / ".trainium_edu" / "backup"
    folder.mkdir(parents=True, exist_ok=True)
    names = (folder / f"{path.stem}.{i}.ipynb" for i in range(1, 100_000))
    target = next(name for name in names if not name.exists())
    shutil.copy2(path, target)
    return target
