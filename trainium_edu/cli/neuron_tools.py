"""``python -m trainium_edu neuron-ls``, ``neuron-top``, ``neuron-monitor``: what runs now."""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

__all__ = ["add", "tools_on_path"]


@contextmanager
def tools_on_path() -> Iterator[None]:
    """Return a context in which what a script starts finds these tools by their AWS names."""
    from trainium_edu import settings
    from trainium_edu.tools import launchers

    with tempfile.TemporaryDirectory() as folder:
        path = f"{launchers(folder)}{os.pathsep}{settings.variable('PATH') or ''}"
        with patch.dict(os.environ, {"PATH": path}):
            yield


def add(commands) -> None:
    """Add the commands to the dispatcher's list.

    Parameters
    ----------
    commands : argparse subparsers
    """
    ls = commands.add_parser("neuron-ls", help="list devices and the runs on them")
    ls.add_argument("-w", "--wide", action="store_true", help="show more of each command")
    ls.add_argument("-a", "--show-all-procs", action="store_true", help="these tools too")
    ls.add_argument("-t", "--topology", action="store_true", help="draw devices and links")
    ls.add_argument("-j", "--json-output", action="store_true", help="print JSON")
    ls.set_defaults(run=_ls)
    top = commands.add_parser("neuron-top", help="watch utilisation and memory of what runs")
    top.add_argument("--once", action="store_true", help="print the screen once (not in AWS's)")
    top.set_defaults(run=_top)
    monitor = commands.add_parser("neuron-monitor", help="stream metrics of what runs as JSON")
    monitor.add_argument("-c", "--config-file", metavar="FILE", help="what to collect; JSON")
    monitor.add_argument("--verbose", type=int, choices=range(5), default=0, metavar="0-4",
                         help="how much to say on stderr (default: 0)")  # fmt: skip
    monitor.add_argument("--once", action="store_true", help="print one report (not in AWS's)")
    monitor.set_defaults(run=_monitor)
    for parser in (ls, top, monitor):
        parser.add_argument(
            "--instance", metavar="TYPE", help="look at this one, such as trn1.32xlarge (not in "
            "AWS's; default: that of the newest run, else trn1.2xlarge)",
        )  # fmt: skip


def _looked_at(options):
    """Return the instance to show, and say on stderr what runs on another one."""
    from trainium_edu.tools.machine import machine

    found = machine(options.instance)
    others = sorted({run.instance for run in found.elsewhere})
    if others:
        print(f"not shown: what runs on {', '.join(others)}; --instance shows it", file=sys.stderr)
    return found


def _ls(options) -> int:
    from trainium_edu.tools.neuron_ls import report

    names = ("wide", "show_all_procs", "topology", "json_output")
    flags = [f"--{name.replace('_', '-')}" for name in names if getattr(options, name)]
    print(report(
        _looked_at(options), is_wide=options.wide, shows_all=options.show_all_procs,
        shows_topology=options.topology, is_json=options.json_output,
        myself=(os.getpid(), " ".join(["neuron-ls", *flags])),
    ))  # fmt: skip
    return 0


def _top(options) -> int:
    from trainium_edu.tools import neuron_top

    (neuron_top.once if options.once else neuron_top.watch)(options.instance)
    return 0


def _monitor(options) -> int:
    import json

    from trainium_edu.live import Live
    from trainium_edu.tools.machine import machine
    from trainium_edu.tools.neuron_monitor import Monitor, read_config

    monitor = Monitor(read_config(options.config_file))
    of = _looked_at(options)
    me = Live("neuron-monitor", of.instance, (), is_tool=True)
    try:
        time.sleep(monitor.shortest_s)
        while True:
            of = machine(options.instance)
            print(json.dumps(monitor.report(of)), flush=True)
            if options.verbose:
                print(f"{len(of.runs)} runs on {of.instance}", file=sys.stderr)
            if options.once:
                return 0
            time.sleep(monitor.wait_s())
    finally:
        me.close()
