"""Where the lessons are: ``notebooks/`` of a clone, or the copies inside an installed package."""

from pathlib import Path

import trainium_edu

__all__ = ["folder", "lesson_notebook", "notebooks"]


def folder() -> Path:
    """Return the folder of the lessons.

    Returns
    -------
    path : Path

    Raises
    ------
    FileNotFoundError
        If this installation has none.
    """
    package = Path(trainium_edu.__file__).parent
    for candidate in (package / "notebooks", package.parent / "notebooks"):
        if any(candidate.glob("[0-9][0-9]_*.ipynb")):
            return candidate
    raise FileNotFoundError(
        "no lessons are installed beside trainium_edu; install it again, or run from a clone"
    )


def notebooks() -> list[Path]:
    """Return the lessons' notebooks in order."""
    return sorted(folder().glob("[0-9][0-9]_*.ipynb"))


def lesson_notebook(lesson: str) -> Path:
    """Return the notebook of a lesson.

    Parameters
    ----------
    lesson : str
        Its two-digit number.

    Raises
    ------
    FileNotFoundError
        If it is not installed.
    """
    for path in notebooks():
        if path.name.startswith(f"{lesson}_"):
            return path
    raise FileNotFoundError(f"lesson {lesson} is not installed")
