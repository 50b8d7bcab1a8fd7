"""The learner's commands: ``lab``, ``update`` and ``warm``."""

import argparse
from pathlib import Path

__all__ = ["add"]


def _folder(text):
    if not text.strip():
        raise argparse.ArgumentTypeError(
            "an empty name is not a folder; leave the option out for work"
        )
    return Path(text)


def add(commands):
    """Add the commands to the argument parser."""
    lab = commands.add_parser("lab", help="open JupyterLab on your copy of the lessons")
    lab.add_argument("--folder", type=_folder, help="your copy (default: work)")
    lab.add_argument("--copy-only", action="store_true", help="make the copy, open nothing")
    lab.set_defaults(run=_lab)
    update = commands.add_parser("update", help="bring in newer lessons; keeps all that you wrote")
    update.add_argument("--folder", type=_folder, help="your copy (default: work)")
    update.set_defaults(run=_update)
    warm = commands.add_parser("warm", help="compile all loops now, so that no lesson has to wait")
    warm.set_defaults(run=_warm)


def _lab(options):
    from trainium_edu.cli import lab

    if options.copy_only:
        lab.make_copy(options.folder)
        return 0
    return lab.open_lab(options.folder, options.rest)


def _update(options):
    from trainium_edu.cli.update import update
    from trainium_edu.cli.working_copy import default_folder

    work = Path(options.folder or default_folder())
    if not work.is_dir():
        print(f"{work} is not there yet; `python -m trainium_edu lab` makes it")
        return 1
    for outcome in update(work):
        print(f"{outcome.name}: {outcome.said}")
    return 0


def _warm(_options):
    from trainium_edu.cli import warm

    for line in warm.warm():
        print(line)
    return 0
