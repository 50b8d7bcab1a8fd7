"""Files: tables beside a module or for a spreadsheet, and writing whole or not at all.

A program that is killed half-way leaves the old file.
"""

import csv
import io
import itertools
import os
import shutil
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["csv_text", "replacing", "tables", "write"]

_COUNT = itertools.count()  # an interrupted write may end late, while the same file is written


def tables(module: str, name: str = "") -> dict:
    """Read the TOML file beside a module, of its name if none is given.

    Parameters
    ----------
    module : str
        Its ``__file__``.
    name : str, optional
        Of the file.

    Examples
    --------
    >>> import trainium_edu.viz.colours as module
    >>> tables(module.__file__)["colours"]["blue"]
    '#0072B2'
    """
    path = Path(module).with_name(name) if name else Path(module).with_suffix(".toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def csv_text(rows: Iterable[Iterable]) -> str:
    r"""Return rows as CSV, whose texts a spreadsheet does not take for formulas.

    Parameters
    ----------
    rows : iterable of iterable
        Texts and numbers; a text that begins like a formula gets an apostrophe in front.

    Returns
    -------
    str

    Examples
    --------
    >>> csv_text([["name", "points"], ["=1+1", -2]])
    "name,points\r\n'=1+1,-2\r\n"
    """
    text = io.StringIO(newline="")
    csv.writer(text).writerows(map(_harmless, row) for row in rows)
    return text.getvalue()


def _harmless(cell):
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@") else cell


def write(path, content: str | bytes, *, makes_folder: bool = False) -> None:
    """Write a text (as UTF-8) or bytes to a file, in place of an older one.

    Parameters
    ----------
    path : str or Path
    content : str or bytes
    makes_folder : bool
        Make its folder if there is none.

    Raises
    ------
    FileNotFoundError
        If there is no such folder.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(f"{folder}/note.txt", "one")
    ...     write(f"{folder}/note.txt", "two")
    ...     Path(f"{folder}/note.txt").read_text()
    'two'
    """
    if makes_folder:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def replacing(path) -> Iterator[BinaryIO]:
    """Return a context with a file to write to, which becomes `path` when the context ends.

    It stands in the same folder until all of it is on the disk.  After an error, or Ctrl-C, the
    older file is still there.  A pipe or device (``/dev/stdout``) is written directly.
    """
    path = Path(os.path.realpath(path))  # a link goes on pointing at what it names
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"there is no folder {path.parent}; make it first, or name a file in another one"
        )
    is_plain = path.is_file() or not path.exists()
    part = path.with_name(f".{path.name}.{os.getpid()}.{next(_COUNT)}.part") if is_plain else path
    try:
        with part.open("wb") as file:
            yield file
            file.flush()
            if is_plain:
                os.fsync(file.fileno())
        if path.is_file():
            shutil.copymode(path, part)
        if is_plain:
            os.replace(part, path)
    except OSError as problem:
        if problem.errno and problem.filename in (None, str(part)):  # no space, and for which file?
            problem.filename = str(path)
        raise
    finally:
        if is_plain:
            part.unlink(missing_ok=True)
