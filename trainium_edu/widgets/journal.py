"""What a learner did, kept on this machine and nowhere else: one line of JSON per event.

A journal only grows: each event is one append, so two kernels may write at once, and a line that
was torn or damaged is skipped when reading.  Nothing here is ever fatal to a lesson.
"""

import json
import os
from functools import partial
from pathlib import Path

from trainium_edu import settings

__all__ = ["append", "last", "read"]

_READ_AT_MOST = 8 << 20  # bytes from the end: decades of one learner, and no surprise for memory


def append(name: str, event: dict) -> str:
    """Add one event to a journal in the learner's data folder.

    Parameters
    ----------
    name : str
        The journal, for example ``"progress"``.
    event : dict
        Anything that JSON can hold.

    Returns
    -------
    complaint : str
        Empty, or one sentence on why nothing was kept (folder not writable, disk full).
    """
    folder = settings.data_folder()
    # The line break comes first as well: it ends whatever a torn write left behind.
    line = "\n" + json.dumps(event, ensure_ascii=True, separators=(",", ":")) + "\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        private = partial(os.open, mode=0o600)
        with open(folder / f"{name}.jsonl", "ab", buffering=0, opener=private) as file:
            file.write(line.encode("ascii"))  # one write, so that two kernels' lines stay whole
    except OSError as error:
        return f"not kept for next time: cannot write in {folder} ({error.strerror})"
    return ""


def read(name: str) -> list[dict]:
    """Return the events of a journal in order; damaged lines are left out.

    Parameters
    ----------
    name : str

    Returns
    -------
    events : list of dict
        Empty where there is no journal, or none that can be read.
    """
    path = settings.data_folder() / f"{name}.jsonl"
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _READ_AT_MOST))
            lines = file.read().split(b"\n")
    except OSError:
        return []
    events = []
    for line in lines:
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            events.append(event)
    return events


def last(*names: str) -> dict:
    """Return the last event of the journal that was written to last.

    Parameters
    ----------
    *names : str

    Returns
    -------
    event : dict
        Empty where it has none.
    """
    files = (settings.data_folder() / f"{name}.jsonl" for name in names)
    newest = max(filter(Path.is_file, files), key=os.path.getmtime, default=None)
    return (read(newest.stem) or [{}])[-1] if newest else {}
