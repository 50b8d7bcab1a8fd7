"""A page for each student: points, and what was wrong, in the words of the checks.

``grade ... --feedback DIR`` writes them; a folder of submissions keeps its shape, so that the pages
of ``in/ab123/02.ipynb`` and ``in/cd34/02.ipynb`` do not meet.  Notes, which are the instructor's,
and names of misconceptions are not on them.
"""

from collections.abc import Sequence
from pathlib import Path

from trainium_edu import exercises, files
from trainium_edu.cli.page import rendered
from trainium_edu.cli.row import Row

__all__ = ["page", "title_of", "write"]


def title_of(key: str) -> str:
    """Return an exercise's title; the part of an assignment is called by its key."""
    exercise = exercises.find(key)
    return exercise.title if exercise else key


def page(row: Row) -> str:
    """Return the page of one submission, as HTML."""
    title = f"Feedback: {Path(row.submission).name}"
    return rendered("feedback.html", title=title, row=row, title_of=title_of)


def write(rows: Sequence[Row], target: Path, folder: Path) -> str:
    """Write the pages, one for each row.

    Parameters
    ----------
    rows : sequence of Row
    target : Path
        What was graded: a file, or the folder of the submissions.
    folder : Path
        Where the pages go.

    Returns
    -------
    said : str
        One line on what was written.
    """
    for row in rows:
        name = Path(row.submission)
        place = name.relative_to(target) if name.is_relative_to(target) and name != target else None
        out = folder / (place or name.name)
        files.write(out.with_name(f"{out.name}.html"), page(row), makes_folder=True)
    return f"{len(rows)} pages in {folder}"
