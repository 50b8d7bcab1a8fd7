"""A look-alike of ``neuron-top``: utilisation and memory on a live screen.

Sections, columns and colours are the guide's; its tree is a list here, of what holds memory, and
its tabs of runs are left out.  ``screen`` makes the lines of one picture from plain data; ``watch``
shows them in a terminal (with ``rich``) and reads two keys.  Utilisation is that
of the run's last period, in the emulated machine's time; two runs on one emulated core add up.
vCPUs and host memory are those of *this* computer.  Model Code and Runtime Memory are 0, for
neither takes room here; the instance has no id (``NA``).

References: `aws-neuron-top` in :data:`trainium_edu.specs.SOURCES`.
"""

import os
import select
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import psutil
from rich.console import Console
from rich.live import Live as Screen
from rich.text import Text

import trainium_edu
from trainium_edu import live
from trainium_edu.specs import INSTANCES, TOOLS
from trainium_edu.specs.arguments import whole
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

__all__ = ["Work", "once", "screen", "watch"]

_REFRESH_S = 1.0
_MOST_LETTERS = 10_000  #: in a line
_KINDS = {
    "Tensors": "tensors", "Constants": "constants", "Model Code": "model_code",
    "Runtime Memory": "runtime_memory", "Model Scratchpad": "model_shared_scratchpad",
}  # fmt: skip
_HELP = "q: quit  f: FLOPS on/off"
_TITLE, _HEAD = "bold black on bright_blue", "bold black on bright_cyan"

#: A line is pieces of text, each with a style.
Line = list[tuple[str, str]]
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
def screen(of: Machine, shows_flops: bool = False, *, width: int = 120, rows: int | None = None,
           vcpu: tuple[Pair, Pair] = ((0.0, 0.0), (0.0, 0.0)),
           resident: Callable[[int], int] = resident_bytes) -> list[Line]:  # fmt: skip
    """Return the lines of one picture.

    Parameters
    ----------
    of : Machine
    shows_flops : bool
        Rates in place of percentages.
    width : int
        Letters in a line.
    rows : int, optional
        Lines that fit; the details are cut to them.
    vcpu : ((float, float), (float, float))
        Percentages of user and system time: of the system, of the runs.
    resident : callable (int) -> int, optional
        Host memory of a process in bytes.

    Examples
    --------
    >>> for line in screen(Machine("trn1.2xlarge"), width=60)[2:5]:
    ...     print("".join(text for text, _ in line).rstrip())
    NeuronCore v2 Utilization (Avg: 0.00%)
                     NC0                        NC1
    ND0  ................ [  0.00%]  ................ [  0.00%]
    """
    whole(width, "width", 1, _MOST_LETTERS)
    runs = of.runs
    host = sum(resident(run.pid) for run in runs)
    memory: dict[int, Counter] = defaultdict(Counter)
    for core, sizes in (pair for run in runs for pair in by_core(run).items()):
        if core < of.cores:
            memory[core].update(sizes)
    version = trainium_edu.__version__
    title = f"neuron-top of trainium_edu {version} running on NA ({of.instance})"
    lines: list[Line] = [[(title.center(width), _TITLE)], []]
    lines += _cores(of, runs, shows_flops, width)
    lines += [[], _header("vCPU Utilization", width)]
    names = "System vCPU Usage", "Runtime vCPU Usage"
    lines += [_vcpu(name, a, b, width) for name, (a, b) in zip(names, vcpu, strict=True)]
    lines += [[], _header("Memory Usage Summary", width), *_summary(host, memory, width)]
    lines += [[], _header("Memory Usage Details", width)]
    columns = f"{'Model ID':<14}{'Device Memory':<16}{'Host Memory':<13}"
    lines.append([(columns.rjust(width), "bold")])
    held = [[(_row(*row, width), "")] for row in _details(of, runs, memory)]
    room = len(held) if rows is None else max(1, rows - len(lines) - 2)
    return [*lines, *held[:room], [], [(f" {_HELP}".ljust(width), "white on blue")]]


def _header(text: str, width: int) -> Line:
    return [(text.ljust(width), _HEAD)]


def _used(of: Machine, runs) -> dict[int, Usage]:
    found: dict[int, Usage] = {}
    for run in runs:
        for core, one in ({} if run.is_idle else usage(run.now, run.before)).items():
            old = found.get(core, Usage(0.0, 0.0))
            found[core] = Usage(min(100.0, old.percent + one.percent), old.flops + one.flops)
    return found


def _cores(of: Machine, runs, shows_flops: bool, width: int) -> Iterator[Line]:
    used, per, none = _used(of, runs), of.cores_per_device, Usage(0.0, 0.0)
    each = [used.get(core, none) for core in range(of.cores)]
    title = f"NeuronCore {TOOLS.neuroncore_version.value} Utilization"
    if shows_flops:
        title += f" (Total: {sum(one.flops for one in each) / 1e12:.2f} TFLOPS)"
    else:
        title += f" (Avg: {sum(one.percent for one in each) / of.cores:.2f}%)"
    yield _header(title, width)
    space = max(10, (width - 5) // per - 11)
    yield [("     " + "".join(f"NC{i}".center(space + 11) for i in range(per)), "bold")]
    peak = float(INSTANCES[of.instance].peak_flops.value) / of.cores
    for device in range(of.devices):
        line: Line = [(f"{f'ND{device}':<5}", "bold")]
        for one in each[device * per : (device + 1) * per]:
            share = one.flops / peak if shows_flops else one.percent / 100
            said = f"{one.flops / 1e12:6.2f}T" if shows_flops else f"{one.percent:6.2f}%"
            line += [*_bar(share, space, "green"), (f" [{said}]  ", "bold")]
        yield line


def _bar(share: float, space: int, style: str) -> Line:
    full = round(min(1.0, max(0.0, share)) * space)
    return [("|" * full, style), ("." * (space - full), "bright_black")]


def _vcpu(name: str, user: float, system: float, width: int) -> Line:
    space = max(10, width - 38)
    a = round(min(100.0, user) / 100 * space)
    b = min(space - a, round(min(100.0, system) / 100 * space))
    bar = [("|" * a, "green"), ("|" * b, "red"), ("." * (space - a - b), "bright_black")]
    return [(f"{name:<19}", "bold"), *bar, (f" [{user:6.2f}%,{system:6.2f}%]", "bold")]


def _size(count: float) -> str:
    """Return bytes as the guide's pictures show them: 17.5GB."""
    power = min(3, max(0, int(count).bit_length() - 1) // 10)
    return f"{count / 1024**power:.1f}{('B', 'KB', 'MB', 'GB')[power]}"


def _summary(host: int, memory, width: int) -> list[Line]:
    total = {name: sum(m[kind] for m in memory.values()) for name, kind in _KINDS.items()}
    on_host = {"Total": host, "Tensors": 0, "Constants": 0, "DMA Buffers": 0, "App. Memory": host}
    device = {"Total": sum(total.values()), **total}
    return [*_flow("Host Used Memory", on_host, width), *_flow("Device Used Memory", device, width)]


def _flow(name: str, sizes: dict[str, int], width: int) -> Iterator[Line]:
    """Yield sizes with their names, on as many lines as they need."""
    line: Line = [(f"{name:<20}", "bold")]
    column = max(20, (width - 20) // 6)
    for kind, size in sizes.items():
        piece = [(f"{kind}: ", "bold"), (_size(size), "green")]
        taken = sum(len(text) for text, _ in piece)
        if sum(len(text) for text, _ in line) + taken > width:
            yield line
            line = [(" " * 20, "")]
        line += [*piece, (" " * max(2, column - taken), "")]
    yield line


def _details(of: Machine, runs, memory) -> Iterator[tuple[int, str, str, int]]:
    """Yield what holds memory: (depth, name, model id, bytes)."""
    per = of.cores_per_device
    for device in range(of.devices):
        mine = {core: memory[core] for core in range(device * per, (device + 1) * per)
                if sum(memory.get(core, {}).values())}  # fmt: skip
        if mine or not device:
            yield 0, f"ND {device}", "", sum(sum(sizes.values()) for sizes in mine.values())
        for core, sizes in mine.items():
            yield 1, f"NC {core - device * per}", "", sum(sizes.values())
            for model in (m for run in runs for m in run.models):
                if model.first <= core < model.first + model.count:
                    loaded = model.memory["constants"] + model.memory["model_code"]
                    yield 2, model.name, str(model.model_id), loaded
            for name, kind in _KINDS.items():
                yield 2, name, "", sizes[kind]


def _row(depth: int, name: str, number: str, size: int, width: int) -> str:
    text, values = f" {'    ' * depth}{name}", f"{number:<14}{_size(size):<16}{_size(0):<13}"
    return f"{text[: width - len(values) - 1]:<{width - len(values)}}{values}"


# -- keys -----------------------------------------------------------------------------------------


@contextmanager
def _keys() -> Iterator[Callable[[float], str]]:
    """Give a function that waits up to some seconds for a key; "" if none comes."""
    if sys.platform == "win32":
        import msvcrt

        def wait(seconds):
            end = time.monotonic() + seconds
            while not msvcrt.kbhit():
                if time.monotonic() > end:
                    return ""
                time.sleep(0.05)
            key = msvcrt.getwch()
            if key == "\x03":
                raise KeyboardInterrupt
            return key

        yield wait
        return
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)

    def wait(seconds):
        if not select.select([terminal], [], [], seconds)[0]:
            return ""
        said = os.read(terminal, 16).decode(errors="replace")
        if not said:
            raise OSError("the terminal is gone")
        return said[:1]

    tty.setcbreak(terminal)
    try:
        yield wait
    finally:
        with suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)


# -- showing it -----------------------------------------------------------------------------------


def _text(lines: list[Line]) -> Text:
    return Text("\n", no_wrap=True, overflow="crop").join(
        Text.assemble(*line, no_wrap=True, overflow="crop") for line in lines
    )


@checked
def once(instance: str | None = None, *, file=None) -> None:
    """Print the screen once.

    Parameters
    ----------
    instance : str, optional
        As in :func:`~trainium_edu.tools.machine.machine`.
    file : text file, optional
        Default: the standard output.
    """
    console = Console(file=file or sys.stdout, highlight=False)
    if not console.is_terminal:
        console.width = 120
    work, of = Work(), machine(instance)
    work.since(of.runs)
    time.sleep(0.2)
    lines = screen(of, width=console.width, vcpu=work.since(of.runs))
    console.print(_text(lines), soft_wrap=True)


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
    console = Console(highlight=False)
    me = live.Live("neuron-top", instance or machine().instance, (), is_tool=True)
    shows_flops, work, of = False, Work(), machine(instance)
    try:
        shown = Screen(console=console, screen=True, auto_refresh=False)
        with _keys() as wait, shown:
            vcpu, looked = work.since(of.runs), time.monotonic()
            while True:
                lines = screen(of, shows_flops, width=console.width, rows=console.height, vcpu=vcpu)
                shown.update(_text(lines), refresh=True)
                key = wait(max(0.0, looked + _REFRESH_S - time.monotonic())).lower()
                if key == "q":
                    return
                shows_flops ^= key == "f"
                if time.monotonic() - looked >= _REFRESH_S:
                    of, looked = machine(instance), time.monotonic()
                    vcpu = work.since(of.runs)
    except KeyboardInterrupt:
        return
    except OSError:
        if sys.stdin.isatty():
            raise
    finally:
        me.close()
