"""Bring new versions of lessons into a learner's working copy, and lose nothing of theirs.

Three versions meet cell by cell, matched by cell id: the base (as handed out), the learner's, and
the new lesson.  A cell that only one side changed takes that side; where both did, the learner's
stays, and the new lesson is laid beside it as ``NAME.new.ipynb``.  A notebook that cannot be
matched, because its cells have lost the lesson's ids or order, is left alone in the same way.
Whatever is rewritten is first copied to ``.trainium_edu/backup``.  (nbdime's merge shows a conflict
inside a cell, which then does not run, and needs git: this one keeps whole cells.)

Decisions: outputs of cells whose source stays are the learner's and stay; a committed prediction
stays even where the cell around it is new.  A lesson that the learner deleted comes back fresh
(that is how people start over); a cell that they deleted stays deleted.
"""

import itertools
import json
import shutil
from pathlib import Path
from typing import Any

from trainium_edu.cli.working_copy import base_folder, default_folder, stripped, write
from trainium_edu.exercises import lessons
from trainium_edu.exercises.cells import shown_by, text_of
from trainium_edu.files import tables
from trainium_edu.tools.schema import checked
from trainium_edu.widgets.prediction import MIME

__all__ = ["command", "merge", "update", "waiting"]

_SCHEMA = tables(__file__)


class CannotMatch(Exception):
    """The learner's file cannot be compared with the lesson; says why."""


def command(options) -> int:
    """Update the copy of the lessons."""
    work = Path(options.folder or default_folder())
    if not work.is_dir():
        print(f"{work} is not there yet; `python -m trainium_edu lab` makes it")
        return 1
    for name, said in update(work).items():
        print(f"{name}: {said}")
    return 0


def waiting(work: Path) -> list[str]:
    """Return the lessons whose handed-out version is older than the present one."""
    found = []
    for source in lessons.notebooks():
        base = _readable(base_folder(work) / source.name)
        if base is not None and base != stripped(_load(source)):
            found.append(source.name)
    return found


def update(work: Path) -> dict[str, str]:
    """Update all lessons of a working copy.

    Parameters
    ----------
    work : Path

    Returns
    -------
    said : dict of str to str
        What became of each lesson, by its file's name: one sentence or more to the learner.
    """
    return {source.name: _update_one(source, Path(work)) for source in lessons.notebooks()}


def _update_one(source, work):
    name, mine, base_path = source.name, work / source.name, base_folder(work) / source.name
    new = stripped(_load(source))
    if not mine.exists() and not mine.is_symlink():
        was_there = base_path.exists()
        write(mine, new)
        write(base_path, new)
        return "put back, fresh (your copy was gone)" if was_there else "new"
    base = _readable(base_path)
    if base == new:
        return "nothing new"
    try:
        learner = _load(mine)
        if learner == new or (base is None and stripped(learner) == new):
            write(base_path, new)
            return "nothing new"
        if base is None:
            raise CannotMatch("it is not known which version it came from")
        merged, kept = merge(base, learner, new)
    except (CannotMatch, OSError) as error:
        reason = f"cannot be read ({error.strerror})" if isinstance(error, OSError) else error
        beside = _lay_beside(work, name, new)
        write(base_path, new)
        return f"kept as it is: {reason}; the new lesson stands beside it as {beside.name}"
    backup = _back_up(mine, work)
    write(mine, merged)
    write(base_path, new)
    said = [f"updated; your former copy is {backup.relative_to(work)}", *kept]
    if any("also changed" in line for line in kept):
        said.append(f"the new lesson stands beside yours as {_lay_beside(work, name, new).name}")
    return "; ".join(said)


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
        If the lesson's ids are missing in the learner's copy, or its cells have another order.
    """
    base_cells, new_cells = ({cell.get("id"): cell for cell in b["cells"]} for b in (base, new))
    if None in base_cells or None in new_cells:
        raise CannotMatch("the lesson's own cells have no ids")
    theirs = _by_id(learner["cells"])
    if base_cells and not theirs.keys() & (base_cells | new_cells).keys():
        raise CannotMatch("its cells have other ids than the lesson's")
    if [key for key in theirs if key in base_cells] != [key for key in base_cells if key in theirs]:
        raise CannotMatch("its cells have another order than the lesson's")
    kept: list[str] = []
    cells: list[dict] = []
    deleted = [key for key in base_cells if key not in theirs]
    for key in _order(new_cells, theirs, deleted):
        cell: Any = theirs.get(key)
        was, becomes = base_cells.get(key), new_cells.get(key)
        if becomes is None and was is None:  # their own
            cells.append(cell)
        elif becomes is None:  # it left the lesson
            if not _same(cell, was) or shown_by(cell, MIME):
                kept.append(f"kept your cell {_name(cell)}, which has left the lesson")
                cells.append(cell)
        elif cell is None:
            cells.append(becomes)
        elif was and _same(cell, was) and not _same(was, becomes):
            outputs = {"outputs": shown_by(cell, MIME)} if becomes["cell_type"] == "code" else {}
            cells.append(becomes | outputs)
        else:
            if not _same(cell, becomes) and not (was and _same(was, becomes)):
                kept.append(f"kept your cell {_name(cell)}, which the lesson also changed")
            cells.append(_lesson_metadata(cell, becomes))
    gone = [key for key in deleted if key in new_cells]
    if gone:
        kept.append(f"left out {len(gone)} cell{'s' * (len(gone) > 1)} that you deleted")
    if any(not _same(base_cells[key], new_cells[key]) for key in gone):
        kept.append("of what you deleted, the lesson also changed a part")
    merged = {**new, "cells": cells}
    merged["metadata"] = {**learner.get("metadata", {}), **new.get("metadata", {})}
    merged["nbformat_minor"] = max(new.get("nbformat_minor", 5), learner.get("nbformat_minor", 0))
    return merged, kept


def _by_id(cells) -> dict[str, dict]:
    """Return the learner's cells by id; a copy of a cell, or one without an id, gets its own."""
    theirs: dict[str, dict] = {}
    for cell in cells:
        names = (cell.get("id"), *(f"mine-{n}" for n in range(1, len(cells) + 1)))
        key = next(name for name in names if isinstance(name, str) and name not in theirs)
        theirs[key] = cell | {"id": key}
    return theirs


def _order(new, theirs, deleted) -> list[str]:
    """Return the lesson's order; a cell that is not in it follows the one that it followed."""
    order, above = [key for key in new if key not in deleted], None
    for key in theirs:
        if key not in new:
            order.insert(order.index(above) + 1 if above else 0, key)
        above = key
    return order


def _same(a, b):
    return a["cell_type"] == b["cell_type"] and _source(a) == _source(b)


def _source(cell):
    return text_of(cell).rstrip()


def _lesson_metadata(cell, lesson_cell):
    """Return the learner's cell with the tags and the exercise key that the lesson gives it."""
    metadata = dict(cell.get("metadata") or {})
    for name in ("tags", "trainium_edu"):
        if name in lesson_cell.get("metadata", {}):
            metadata[name] = lesson_cell["metadata"][name]
    return {**cell, "id": lesson_cell["id"], "metadata": metadata}


def _name(cell):
    first = _source(cell).strip().split("\n")[0]
    return f'"{first[:40]}"' if first else "(empty)"


def _load(path):
    """Read a notebook; raise CannotMatch where it is none of format 4."""
    try:
        return checked(json.loads(path.read_text(encoding="utf-8")), _SCHEMA)
    except (ValueError, RecursionError) as problem:
        raise CannotMatch(f"it is not a notebook of format 4 ({problem})") from None


def _readable(path):
    try:
        return _load(path)
    except (OSError, CannotMatch):
        return None


def _lay_beside(work, name, new):
    """Write the new lesson beside the learner's copy, under a name that is free."""
    stem, ends = name.removesuffix(".ipynb"), itertools.chain([""], itertools.count(2))
    beside = _free(work / f"{stem}.new{end}.ipynb" for end in ends)
    write(beside, new)
    return beside


def _free(names):
    return next(name for name in names if not name.exists())


def _back_up(path, work):
    folder = work / ".trainium_edu" / "backup"
    folder.mkdir(parents=True, exist_ok=True)
    target = _free(folder / f"{path.stem}.{i}.ipynb" for i in itertools.count(1))
    shutil.copy2(path, target)
    return target
