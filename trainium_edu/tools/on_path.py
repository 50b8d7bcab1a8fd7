"""Commands by their AWS names, for the PATH of scripts."""

import os
import shlex
import sys
from pathlib import Path

from trainium_edu import files
from trainium_edu.specs.signatures import checked

__all__ = ["COMMANDS", "launchers"]

COMMANDS = ("neuron-ls", "neuron-top", "neuron-monitor", "neuron-profile", "neuron-explorer")


@checked
def launchers(folder: str | Path) -> Path:
    """Make small programs in a folder: ``neuron-ls``, ``neuron-profile`` and the others.

    They call this interpreter: shell scripts, and on Windows ``.cmd`` files.

    Parameters
    ----------
    folder : str or Path
        Is made if it is not there.

    Returns
    -------
    Path
        The folder, to be put in front of ``PATH``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sorted(path.stem for path in launchers(folder).iterdir())
    ['neuron-explorer', 'neuron-ls', 'neuron-monitor', 'neuron-profile', 'neuron-top']
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for command in COMMANDS:
        if os.name == "nt":
            file = folder / f"{command}.cmd"
            text = f'@"{sys.executable}" -m trainium_edu {command} %*\r\n'
        else:
            file = folder / command
            text = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m trainium_edu {command} "$@"\n'
        files.write(file, text)
        file.chmod(0o755)
    return folder
