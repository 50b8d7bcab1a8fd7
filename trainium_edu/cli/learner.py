"""The learner's commands: ``lab``, ``update`` and ``warm``."""

import argparse
from pathlib import Path

from trainium_edu.cli.refusals import sentence

__all__ = ["folder", "lab", "update", "warm"]


def folder(text: str) -> Path:
    """Return the folder that an argument names."""
    if not text.strip():
        raise argparse.ArgumentTypeError(sentence("learner.no_name"))
    return Path(text)


def lab(options) -> int:
    """Make the copy of the lessons, and open JupyterLab on it."""
    from trainium_edu.cli.lab import make_copy, open_lab

    if options.copy_only:
        make_copy(options.folder)
        return 0
    return open_lab(options.folder, options.rest)


def update(options) -> int:
    """Update the copy of the lessons."""
    from trainium_edu.cli.update import update
    from trainium_edu.cli.working_copy import default_folder

    work = Path(options.folder or default_folder())
    if not work.is_dir():
        print(f"{work} is not there yet; `python -m trainium_edu lab` makes it")
        return 1
    for outcome in update(work):
        print(f"{outcome.name}: {outcome.said}")
    return 0


def warm(_options) -> None:
    """Compile all loops."""
    from trainium_edu.cli.warm import warm

    for line in warm():
        print(line)
