"""``python -m trainium_edu neuron-ls``, ``neuron-top``, ``neuron-monitor``: what runs now."""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from unittest.mock import patch

__all__ = ["ls", "monitor", "tools_on_path", "top"]


@contextmanager
def tools_on_path() -> Iterator[None]:
    """Return a context in which what a script starts finds these tools by their AWS names."""
    from trainium_edu import settings
    from trainium_edu.tools import launchers

    with tempfile.TemporaryDirectory() as folder:
        path = f"{launchers(folder)}{os.pathsep}{settings.variable('PATH') or ''}"
        with patch.dict(os.environ, {"PATH": path}):
            yield


def _looked_at(options):
    """Return the instance to show, and say on stderr what runs on another one."""
    from trainium_edu.tools.machine import machine

    found = machine(options.instance)
    others = sorted({run.instance for run in found.elsewhere})
    if others:
        print(f"not shown: what runs on {', '.join(others)}; --instance shows it", file=sys.stderr)
    return found


def ls(options) -> None:
    """Print the devices and the runs on them."""
    from trainium_edu.tools import neuron_ls

    flags = [flag for flag in neuron_ls.FLAGS if getattr(options, flag)]
    print(neuron_ls.report(_looked_at(options), *flags))


def top(options) -> None:
    """Show the screen of utilisation and memory."""
    from trainium_edu.tools import neuron_top

    (neuron_top.once if options.once else neuron_top.watch)(options.instance)


def monitor(options) -> int:
    """Print reports as JSON, one a line."""
    import json

    from trainium_edu.live import Live
    from trainium_edu.tools.machine import machine
    from trainium_edu.tools.neuron_monitor import Monitor, read_config

    monitor = Monitor(read_config(options.config_file))
    of = _looked_at(options)
    with closing(Live("neuron-monitor", of.instance, (), is_tool=True)):
        while True:
            time.sleep(monitor.wait_s())
            of = machine(options.instance)
            print(json.dumps(monitor.report(of)), flush=True)
            if options.verbose:
                print(f"{len(of.runs)} runs on {of.instance}", file=sys.stderr)
            if options.once:
                return 0
