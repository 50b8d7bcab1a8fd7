"""``python -m trainium_edu run script.py …``: let the script's ``import nki`` mean this package.

So does ``import neuronxcc.nki``, the older interface.
"""

import os
import sys
from pathlib import Path
from unittest.mock import patch

from trainium_edu import settings
from trainium_edu.cli import torch_script
from trainium_edu.cli.refusals import sentence
from trainium_edu.torch.script import run_main

__all__ = ["command", "run_script"]


def command(options) -> int:
    """Run the script that the options name."""
    path = Path(options.script)
    how = {"platform": options.platform, "replace": options.replace}
    flags = settings.variable("NEURON_CC_FLAGS") or ""
    further = {"NEURON_CC_FLAGS": f"{flags} --disable-dge"} if options.disable_dge else {}
    with patch.dict(os.environ, further):
        if path.is_file() and torch_script.is_for_torch(path):
            return torch_script.run(options, **how)
        return run_script(options.script, options.arguments, **how)


def run_script(script, arguments=(), *, platform=None, replace=False) -> int:
    """Run a Python file as ``__main__`` with ``import nki`` meaning this package.

    Parameters
    ----------
    script : str or Path
    arguments : sequence of str
        What the script finds in ``sys.argv[1:]``.
    platform : {"trn1", "inf2", "trn2"}, optional
        Chip of every kernel, whatever the environment says.
    replace : bool
        Also where AWS's own package is installed.

    Returns
    -------
    int
        0, what the script exits with, or 1 after an error (whose traceback is printed).
    """
    path = Path(script)
    if not path.is_file():
        print(f"{path}: there is no such script", file=sys.stderr)
        return 2
    with torch_script.nki_here(platform, replace) as is_ours:
        if is_ours:
            return run_main(str(path), arguments)[0]
    print(sentence("run.not_ours"), file=sys.stderr)
    return 1
