"""A learner's working copy of the lessons: made without outputs, and never overwritten.

Learners work in ``work/``, where no answer stands under its question: outputs are stripped.  A
second copy of each lesson as it was handed out (the base) is kept in ``work/.trainium_edu/base``,
so that ``update`` can tell what the learner changed.  A wheel is built by ``stripped`` too, before
NumPy is there, so the exercises are imported late.
"""

import json
from pathlib import Path

from trainium_edu import files

__all__ = ["base_folder", "default_folder", "make_working_copy", "stripped", "write"]


def default_folder() -> Path:
    """Return ``work`` beside the lessons of a clone, or in the present folder if installed."""
    from trainium_edu.exercises import lessons

    beside = lessons.folder().parent
    installed = (beside / "exercises").is_dir()
    return (Path.cwd() if installed else beside) / "work"


def stripped(notebook: dict) -> dict:
    """Return a notebook without outputs, execution counts and widget states.

    Parameters
    ----------
    notebook : dict

    Returns
    -------
    notebook : dict
        A new one.
    """
    copy = json.loads(json.dumps(notebook))
    copy.get("metadata", {}).pop("widgets", None)
    for cell in copy["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
            cell.get("metadata", {}).pop("execution", None)
    return copy


def base_folder(work: Path) -> Path:
    """Return where the lessons are kept as they were handed out."""
    return work / ".trainium_edu" / "base"


def write(path: Path, notebook: dict):
    """Write a notebook whole or not at all."""
    text = json.dumps(notebook, indent=1, ensure_ascii=False)
    files.write(path, f"{text}\n", makes_folder=True)


def make_working_copy(work: Path) -> list[Path]:
    """Copy the lessons, and the scripts that they run, that are missing; touch none that is there.

    Parameters
    ----------
    work : Path

    Returns
    -------
    new : list of Path
        The copies of lessons that were made.
    """
    from trainium_edu.exercises import lessons

    work, shipped = Path(work), lessons.folder()
    for script in (*shipped.glob("*.py"), *shipped.glob("programs/*.py")):
        target = work / script.relative_to(shipped)
        if not (target.exists() or target.is_symlink()):
            files.write(target, script.read_text(encoding="utf-8"), makes_folder=True)
    new = []
    for source in lessons.notebooks():
        target = work / source.name
        if target.exists() or target.is_symlink():
            continue
        copy = stripped(json.loads(source.read_text(encoding="utf-8")))
        write(target, copy)
        write(base_folder(work) / source.name, copy)
        new.append(target)
    return new
