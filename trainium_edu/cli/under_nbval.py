"""What pytest does when it compares our lessons with what they store: a plugin, for nbval only.

``pytest --nbval notebooks`` finds it by its entry point.  Every prediction then counts as
committed and nothing is said about progress or compiling, which is what the stored outputs show.

The kernels talk through files where the system has such sockets: Jupyter picks free TCP ports for
a kernel and closes them again until the kernel opens them, so that two lessons side by side may be
given the same ones.  A file has one owner.
"""

import itertools
import os
import tempfile

__all__ = ["pytest_configure"]


def pytest_configure(config):
    """Let lessons be read along, if nbval is asked for."""
    if not (config.getoption("nbval", False) or config.getoption("nbval_lax", False)):
        return
    os.environ.setdefault("TRAINIUM_EDU_COMMITTED", "1")
    os.environ.setdefault("JUPYTER_PLATFORM_DIRS", "1")
    if os.name == "posix":
        _talk_through_files(config)


def _talk_through_files(config):
    from jupyter_client.manager import KernelManager
    from nbval import kernel

    folder = tempfile.TemporaryDirectory(prefix="lessons-")
    config.add_cleanup(folder.cleanup)
    numbers = itertools.count()

    def manager(**given):
        return KernelManager(transport="ipc", ip=f"{folder.name}/{next(numbers)}", **given)

    kernel.KernelManager = manager
