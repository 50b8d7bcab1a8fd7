"""One submission, graded as a class of one."""

from pathlib import Path

from trainium_edu.cli.grade import grade_all


def grade_submission(path, *, student="", **options):
    """Grade one notebook in a process of its own; return its row."""
    (row,) = grade_all([Path(path)], roster={Path(path).name: student}, **options)
    return row
