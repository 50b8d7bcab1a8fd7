"""A look-alike of ``neuron-top``: utilisation and memory on a live screen.

Sections and columns are the guide's; its tree is a list here, of what holds memory, and its tabs of
runs are left out.  ``screen`` makes one picture of a report of ``neuron_monitor``, in tables of
``rich``; ``watch`` shows it in a terminal and reads two keys.  Utilisation is that
of the run's last period, in the emulated machine's time; two runs on one emulated core add up.
vCPUs and host memory are those of *this* computer.  Model Code and Runtime Memory are 0, for
neither takes room here; the instance has no id (``NA``).

References: `aws-neuron-top` in :data:`trainium_edu.specs.SOURCES`.
"""

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from typing import Any

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.layout import Layout
from rich.live import Live as Screen
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

import trainium_edu
from trainium_edu import live
from trainium_edu.files import tables
from trainium_edu.specs import INSTANCES
from trainium_edu.specs.signatures import checked
from trainium_edu.tools.machine import machine
from trainium_edu.tools.neuron_monitor import Monitor, everything

__all__ = ["HELP", "once", "screen", "watch"]

_REFRESH_S, _LOOK_S = 1.0, 0.05  #: a new picture, and a look at the keys, after so long
_WORDS = tables(__file__)
#: What takes memory of a device: the words for it -> how a report calls it.
_KINDS = _WORDS["kinds"]
#: The line below a picture.
HELP = Padding(_WORDS["help"], style=_WORDS["styles"]["help"])


# -- one picture ----------------------------------------------------------------------------------


@checked
def screen(report: dict, shows_flops: bool = False) -> Group:
    """Return one picture, as wide as the console that prints it.

    Parameters
    ----------
    report : dict
        Of a ``neuron_monitor.Monitor`` that collects everything.
    shows_flops : bool
        Rates in place of percentages.

    Examples
    --------
    >>> from trainium_edu.tools.machine import Machine
    >>> shown = Console(width=60)
    >>> with shown.capture() as text:
    ...     shown.print(screen(Monitor().report(Machine("trn1.2xlarge"))))
    >>> for line in text.get().splitlines()[3:6]:
    ...     print(line.rstrip())
    NeuronCore v2 Utilization (Avg: 0.00%)
                NC0                        NC1
     ND0                   [  0.00%]                  [  0.00%]
    """
    runs = [one["report"] for one in report["neuron_runtime_data"]]
    used = [run["memory_used"]["neuron_runtime_used_bytes"] for run in runs]
    memory = _summed(one["usage_breakdown"]["neuroncore_memory_usage"] for one in used)
    version, instance = trainium_edu.__version__, report["instance_info"]["instance_type"]
    title = f"neuron-top of trainium_edu {version} running on NA ({instance})"
    system = report["system_data"]["vcpu_usage"]["average_usage"]
    own = _summed({0: run["neuron_runtime_vcpu_usage"]["vcpu_usage"]} for run in runs)[0]
    vcpus = [
        (name, (user + system) / 100, f"[{user:6.2f}%,{system:6.2f}%]")
        for name, user, system in (
            ("System vCPU Usage", system["user"] + system["nice"], system["system"]),
            ("Runtime vCPU Usage", own["user"], own["system"]),
        )
    ]
    head, cores = _cores(report, runs, shows_flops)
    sections: dict[str, RenderableType] = {
        head: cores,
        "vCPU Utilization": _bars(["", "", ""], vcpus),
        "Memory Usage Summary": Group(*_summary(sum(one["host"] for one in used), memory)),
        "Memory Usage Details": _details(report["neuron_hardware_info"], runs, memory),
    }
    shown: list[RenderableType] = [
        Padding(Text(title, justify="center"), style=_WORDS["styles"]["title"])
    ]
    for head, body in sections.items():
        shown += ["", Padding(head, style=_WORDS["styles"]["head"]), body]
    return Group(*shown)


def _summed(tables: Iterable[Mapping[Any, Mapping]]) -> dict[int, Any]:
    """Return what several runs' tables say, by NeuronCore, added up."""
    found: dict[int, Any] = defaultdict(Counter)
    for table in tables:
        for core, counted in table.items():
            found[int(core)].update(counted)
    return found


def _bars(names: list[str], rows: Iterable[Iterable[str | float]]) -> Table:
    """Return a table of texts and, in every second column, shares as bars."""
    table = Table(box=None, expand=True, show_header=any(names))
    for i, name in enumerate(names):
        table.add_column(Text(name, justify="center"), ratio=i % 2 or None, no_wrap=True)
    for row in rows:
        table.add_row(*(Text(p) if isinstance(p, str) else ProgressBar(1.0, p) for p in row))
    return table


def _cores(report, runs, shows_flops: bool) -> tuple[str, Table]:
    hardware, instance = report["neuron_hardware_info"], report["instance_info"]["instance_type"]
    per = hardware["neuroncore_per_device_count"]
    count = hardware["neuron_device_count"] * per
    used = _summed(run["neuroncore_counters"]["neuroncores_in_use"] for run in runs)
    title = f"NeuronCore {hardware['neuroncore_version']} Utilization"
    if shows_flops:
        peak = float(INSTANCES[instance].peak_flops.value) / count
        flops = [used[core]["flops"] for core in range(count)]
        title += f" (Total: {sum(flops) / 1e12:.2f} TFLOPS)"
        cells = [(one / peak, f"[{one / 1e12:6.2f}T]") for one in flops]
    else:
        shares = [min(100.0, used[core]["neuroncore_utilization"]) for core in range(count)]
        title += f" (Avg: {sum(shares) / count:.2f}%)"
        cells = [(one / 100, f"[{one:6.2f}%]") for one in shares]
    names = ["", *(name for i in range(per) for name in (f"NC{i}", ""))]
    rows: list[list[str | float]] = [[f"ND{i}"] for i in range(count // per)]
    for core, cell in enumerate(cells):
        rows[core // per] += cell
    return title, _bars(names, rows)


def _size(count: float) -> str:
    """Return bytes as the guide's pictures show them: 17.5GB."""
    power = min(3, max(0, int(count).bit_length() - 1) // 10)
    return f"{count / 1024**power:.1f}{('B', 'KB', 'MB', 'GB')[power]}"


def _summary(host, memory) -> Iterator[Columns]:
    total = {name: sum(m[kind] for m in memory.values()) for name, kind in _KINDS.items()}
    on_host = {"Total": host, "Tensors": 0, "Constants": 0, "DMA Buffers": 0, "App. Memory": host}
    on_device = {"Total": sum(total.values()), **total}
    for name, sizes in (("Host Used Memory", on_host), ("Device Used Memory", on_device)):
        yield Columns([name, *(f"{kind}: {_size(size)}" for kind, size in sizes.items())], (0, 3))


def _details(hardware, runs, memory) -> Table:
    """Return what holds memory, parts below their sums."""
    table = Table("", "Model ID", "Device Memory", "Host Memory", box=None, expand=True)
    table.columns[0].ratio = 1

    def row(depth, name, size, number=""):
        table.add_row(f"{'    ' * depth}{name}", number, _size(size), _size(0))

    models = [model for run in runs for model in run["memory_used"]["loaded_models"]]
    per = hardware["neuroncore_per_device_count"]
    for device in range(hardware["neuron_device_count"]):
        cores = range(device * per, (device + 1) * per)
        totals = {core: memory[core].total() for core in cores if memory[core].total()}
        if totals or not device:
            row(0, f"ND {device}", sum(totals.values()))
        for core, total in totals.items():
            row(1, f"NC {core - device * per}", total)
            for model in models:
                for graph in model["subgraphs"].values():
                    if graph["neuroncore_index"] == core:
                        loaded = graph["memory_used_bytes"]["neuron_device"]
                        row(2, model["name"], loaded, str(model["model_id"]))
            for name, kind in _KINDS.items():
                row(2, name, memory[core][kind])
    return table


# -- showing it -----------------------------------------------------------------------------------


@checked
def once(instance: str | None = None) -> None:
    """Print the screen once.

    Parameters
    ----------
    instance : str, optional
        As in :func:`~trainium_edu.tools.machine.machine`.
    """
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 120
    monitor = Monitor(everything(0.0, is_live=True))
    monitor.report(machine(instance))
    time.sleep(0.2)  # of which vCPUs are told
    console.print(screen(monitor.report(machine(instance))), HELP)


@checked
def watch(instance: str | None = None) -> None:
    """Show the screen until ``q`` or Ctrl-C, or until the terminal is gone.

    Parameters
    ----------
    instance : str, optional
        As in :func:`~trainium_edu.tools.machine.machine`.

    Raises
    ------
    ValueError
        Without a terminal.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ValueError("neuron-top needs a terminal; `neuron-top --once` prints its screen once")
    from prompt_toolkit.input import create_input

    monitor = Monitor(everything(0.0, is_live=True))
    page, keys = Layout(), create_input()
    report, due, shows_flops = {}, 0.0, False
    page.split_column(Layout(name="screen"), Layout(HELP, size=1))
    shown = Screen(page, console=Console(highlight=False), screen=True, auto_refresh=False)
    me = live.Live("neuron-top", instance or machine().instance, (), is_tool=True)
    try:
        with closing(me), keys.raw_mode(), shown:
            while not keys.closed:
                pressed = {key.data.lower() for key in keys.read_keys()}
                if pressed & {"q", "\x03"}:
                    return
                shows_flops ^= "f" in pressed
                is_due = time.monotonic() >= due
                if is_due:
                    report, due = monitor.report(machine(instance)), time.monotonic() + _REFRESH_S
                if is_due or pressed:
                    page["screen"].update(screen(report, shows_flops))
                    shown.refresh()
                time.sleep(_LOOK_S)
    except (KeyboardInterrupt, BrokenPipeError):
        return
    except OSError:
        if sys.stdin.isatty():
            raise
