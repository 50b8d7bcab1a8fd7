"""Lessons' kernels under nbval talk through files (a pytest plugin: ``-p tests.lesson_kernels``).

Jupyter picks five free TCP ports for a kernel and closes them again until the kernel opens them.
Whoever starts a second kernel at that moment may be given the same ones; then one of the two dies,
or waits for ever.  Two lessons run side by side here, so this did happen.  A file has one owner.
"""

import itertools
import tempfile

from jupyter_client.manager import KernelManager
from nbval import kernel

_folder = tempfile.TemporaryDirectory(prefix="lessons-")
_numbers = itertools.count()


def _manager(**given):
    return KernelManager(transport="ipc", ip=f"{_folder.name}/{next(_numbers)}", **given)


kernel.KernelManager = _manager
