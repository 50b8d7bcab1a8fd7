"""A look-alike of ``neuron-top``: utilisation and memory on a live screen.

Sections and columns are the guide's; its tree is a list here, of what holds memory, and its tabs of
runs are left out.  ``screen`` makes one picture of plain data, in tables of ``rich``; ``watch``
shows it in a terminal and reads two keys.  Utilisation is that
of the run's last period, in the emulated machine's time; two runs on one emulated core add up.
vCPUs and host memory are those of *this* computer.  Model Code and Runtime Memory are 0, for
neither takes room here; the instance has no id (``NA``).

References: `aws-neuron-top` in :data:`trainium_edu.specs.SOURCES`.
"""

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import psutil
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
from trainium_edu.specs import INSTANCES, TOOLS
from trainium_edu.specs.signatures import checked
from trainium_edu.tools.machine import (
    Machine,
    Usage,
    by_core,
    cpu_s,
    machine,
    resident_bytes,
    usage,
)

__all__ = ["HELP", "Work", "once", "screen", "watch"]

_REFRESH_S = 1.0
_KINDS = {
    "Tensors": "tensors", "Constants": "constants", "Model Code": "model_code",
    "Runtime Memory": "runtime_memory", "Model Scratchpad": "model_shared_scratchpad",
}  # fmt: skip
_TITLE, _HEAD = "bold black on bright_blue", "bold black on bright_cyan"
#: The line below a picture.
HELP = Padding("q: quit  f: FLOPS on/off", style="white on blue")

#: Percentages of user and of system time.
Pair = tuple[float, float]


class Work:
    """How busy this computer's vCPUs are, from one question to the next."""

    def __init__(self):
        self._then, self._of = time.monotonic(), {}
        psutil.cpu_times_percent()  # from here on

    def since(self, runs) -> tuple[Pair, Pair]:
        """Return the percentages of user and system time, of the system and of some runs."""
        now, shares = time.monotonic(), psutil.cpu_times_percent()
        of = {run.pid: cpu_s(run.pid) for run in runs}
        per_cent = 100 / max(now - self._then, 1e-3) / (psutil.cpu_count() or 1)
        spent = [[b - a for a, b in zip(self._of.get(pid, mine), mine, strict=True)]
                 for pid, mine in of.items()]  # fmt: skip
        self._then, self._of = now, of
        user, system = (max(0.0, sum(one[i] for one in spent)) * per_cent for i in (0, 1))
        return (shares.user + getattr(shares, "nice", 0.0), shares.system), (user, system)


# -- one picture ----------------------------------------------------------------------------------


@checked
def screen(
    of: Machine, shows_flops: bool = False, *, vcpu: tuple[Pair, Pair] = ((0.0, 0.0), (0.0, 0.0))
) -> Group:
    """Return one picture, as wide as the console that prints it.

    Parameters
    ----------
    of : Machine
    shows_flops : bool
        Rates in place of percentages.
    vcpu : ((float, float), (float, float))
        Percentages of user and system time: of the system, of the runs.

    Examples
    --------
    >>> shown = Console(width=60)
    >>> with shown.capture() as text:
    ...     shown.print(screen(Machine("trn1.2xlarge")))
    >>> for line in text.get().splitlines()[3:6]:
    ...     print(line.rstrip())
    NeuronCore v2 Utilization (Avg: 0.00%)
                NC0                        NC1
     ND0                   [  0.00%]                  [  0.00%]
    """
    runs = of.runs
    memory: dict[int, Counter] = defaultdict(Counter)
    for core, sizes in (pair for run in runs for pair in by_core(run).items()):
        if core < of.cores:
            memory[core].update(sizes)
    version = trainium_edu.__version__
    title = f"neuron-top of trainium_edu {version} running on NA ({of.instance})"
    names = "System vCPU Usage", "Runtime vCPU Usage"
    vcpus = [(name, (user + system) / 100, f"[{user:6.2f}%,{system:6.2f}%]")
             for name, (user, system) in zip(names, vcpu, strict=True)]  # fmt: skip
    return Group(
        Padding(Text(title, justify="center"), style=_TITLE),
        "", *_cores(of, runs, shows_flops),
        "", _header("vCPU Utilization"), _bars(["", "", ""], vcpus),
        "", _header("Memory Usage Summary"), *_summary(runs, memory),
        "", _header("Memory Usage Details"), _details(of, runs, memory),
    )  # fmt: skip


def _header(text: str) -> Padding:
    return Padding(text, style=_HEAD)


def _bars(names: list[str], rows: Iterable[Iterable[str | float]]) -> Table:
    """Return a table of texts and, in every second column, shares as bars."""
    table = Table(box=None, expand=True, show_header=any(names))
    for i, name in enumerate(names):
        table.add_column(Text(name, justify="center"), ratio=i % 2 or None, no_wrap=True)
    for row in rows:
        table.add_row(*(Text(p) if isinstance(p, str) else ProgressBar(1.0, p) for p in row))
    return table


def _used(of: Machine, runs) -> dict[int, Usage]:
    used: dict[int, Usage] = {}
    for run in runs:
        for core, one in ({} if run.is_idle else usage(run.now, run.before)).items():
            old = used.get(core, Usage(0.0, 0.0))
            used[core] = Usage(min(100.0, old.percent + one.percent), old.flops + one.flops)
    return used


def _cores(of: Machine, runs, shows_flops: bool) -> Iterator[RenderableType]:
    used, per = _used(of, runs), of.cores_per_device
    each = [used.get(core, Usage(0.0, 0.0)) for core in range(of.cores)]
    title = f"NeuronCore {TOOLS.neuroncore_version.value} Utilization"
    peak = float(INSTANCES[of.instance].peak_flops.value) / of.cores
    if shows_flops:
        title += f" (Total: {sum(one.flops for one in each) / 1e12:.2f} TFLOPS)"
        cells = [(one.flops / peak, f"[{one.flops / 1e12:6.2f}T]") for one in each]
    else:
        title += f" (Avg: {sum(one.percent for one in each) / of.cores:.2f}%)"
        cells = [(one.percent / 100, f"[{one.percent:6.2f}%]") for one in each]
    yield _header(title)
    names = ["", *(name for i in range(per) for name in (f"NC{i}", ""))]
    rows: list[list[str | float]] = [[f"ND{i}"] for i in range(of.devices)]
    for core, cell in enumerate(cells):
        rows[core // per] += cell
    yield _bars(names, rows)


def _size(count: float) -> str:
    """Return bytes as the guide's pictures show them: 17.5GB."""
    power = min(3, max(0, int(count).bit_length() - 1) // 10)
    return f"{count / 1024**power:.1f}{('B', 'KB', 'MB', 'GB')[power]}"


def _summary(runs, memory) -> Iterator[Columns]:
    host = sum(resident_bytes(run.pid) for run in runs)
    total = {name: sum(m[kind] for m in memory.values()) for name, kind in _KINDS.items()}
    on_host = {"Total": host, "Tensors": 0, "Constants": 0, "DMA Buffers": 0, "App. Memory": host}
    on_device = {"Total": sum(total.values()), **total}
    for name, sizes in (("Host Used Memory", on_host), ("Device Used Memory", on_device)):
        yield Columns([name, *(f"{kind}: {_size(size)}" for kind, size in sizes.items())], (0, 3))


def _details(of: Machine, runs, memory) -> Table:
    """Return what holds memory, parts below their sums."""
    table = Table("", "Model ID", "Device Memory", "Host Memory", box=None, expand=True)
    table.columns[0].ratio = 1

    def row(depth, name, size, number=""):
        table.add_row(f"{'    ' * depth}{name}", number, _size(size), _size(0))

    per = of.cores_per_device
    for device in range(of.devices):
        mine = {core: memory[core] for core in range(device * per, (device + 1) * per)
                if sum(memory.get(core, {}).values())}  # fmt: skip
        if mine or not device:
            row(0, f"ND {device}", sum(sum(sizes.values()) for sizes in mine.values()))
        for core, sizes in mine.items():
            row(1, f"NC {core - device * per}", sum(sizes.values()))
            for model in (m for run in runs for m in run.models):
                if model.first <= core < model.first + model.count:
                    loaded = model.memory["constants"] + model.memory["model_code"]
                    row(2, model.name, loaded, str(model.model_id))
            for name, kind in _KINDS.items():
                row(2, name, sizes[kind])
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
    work, of = Work(), machine(instance)
    work.since(of.runs)
    time.sleep(0.2)
    console.print(screen(of, vcpu=work.since(of.runs)), HELP)


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

    me = live.Live("neuron-top", instance or machine().instance, (), is_tool=True)
    page, shows_flops, work, keys = Layout(), False, Work(), create_input()
    page.split_column(Layout(name="screen"), Layout(HELP, size=1))
    try:
        console = Console(highlight=False)
        shown = Screen(page, console=console, screen=True, auto_refresh=False)
        with keys.raw_mode(), shown:
            while not keys.closed:
                of, looked = machine(instance), time.monotonic()
                vcpu = work.since(of.runs)
                while time.monotonic() - looked < _REFRESH_S and not keys.closed:
                    page["screen"].update(screen(of, shows_flops, vcpu=vcpu))
                    shown.refresh()
                    key = _key(keys, looked + _REFRESH_S)
                    if key in ("q", "\x03"):
                        return
                    shows_flops ^= key == "f"
    except (KeyboardInterrupt, BrokenPipeError):
        return
    except OSError:
        if sys.stdin.isatty():
            raise
    finally:
        me.close()


def _key(keys, until: float) -> str:
    """Return the key that is pressed until some time; "" if none is."""
    while not keys.closed:
        for pressed in keys.read_keys():
            return pressed.data.lower()
        if time.monotonic() >= until:
            break
        time.sleep(0.05)
    return ""
