"""A look-alike of ``neuron-ls``: the Neuron devices of an instance, and the processes on them.

Table and columns are those of the guide's editions with a Trn1 instance: columns for processes are
there where processes are, CONNECTED DEVICES where devices are connected.  The JSON has the fields
of the current edition.  What an emulator cannot know stays empty (``NA`` in the table, ``""`` in
the JSON): instance-id, CPU affinity, RUNTIME VERSION (no Neuron Runtime is used), and PCI addresses
of instances of which AWS prints none.  The NUMA node is "-1", as on machines that have none, and
``connected_to`` is null where there is one device.

References: `aws-neuron-ls`, `aws-neuron-ls-trn1` in :data:`trainium_edu.specs.SOURCES`; outputs of
real machines in the tests of lablup/all-smi (src/device/readers/neuron.rs) and lablup/backend.ai.
"""

import io
import json
import os
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from trainium_edu.specs import TOOLS
from trainium_edu.specs.arguments import choice
from trainium_edu.specs.signatures import checked
from trainium_edu.tools.machine import Machine

__all__ = ["FLAGS", "report"]

_NA = "NA"
#: What ``report`` can be asked for, by the names of AWS's options.
FLAGS = ("wide", "show_all_procs", "topology", "json_output")


def _devices(of: Machine, is_wide: bool, also: Sequence[tuple[int, str]]) -> list[dict]:
    """Return what the JSON has of each device; `also` are processes on every one."""
    most = len((TOOLS.command_wide if is_wide else TOOLS.command).value)

    def process(pid, command):
        shown = command if len(command) <= most else f"{command[: most - 3]}..."
        return {"pid": pid, "command": shown, "neuron_runtime_version": _NA}

    return [
        {
            "neuron_device": device,
            "bdf": of.address(device),
            "cpu_affinity": "",
            "numa_node": "-1",
            "connected_to": list(of.topology.neighbours(device)) if of.devices > 1 else None,
            "nc_count": of.cores_per_device,
            "memory_size": of.memory_bytes,
            "neuroncore_ids": list(of.cores_of(device)),
            "neuron_processes": [
                process(*one)
                for one in (*((run.pid, run.command) for run in of.on_device(device)), *also)
            ],
        }
        for device in range(of.devices)
    ]


def _table(devices: Sequence[dict], is_bare: bool = False) -> str:
    """Return the table of the devices; if it is bare, without their processes."""
    drawn = Table(box=box.ASCII2)
    lines = [[[*p.values()] for p in one["neuron_processes"]] * (not is_bare) for one in devices]
    connected = ["CONNECTED\nDEVICES"] * (len(devices) > 1)
    columns = ["NEURON\nDEVICE", "NEURON\nCORES", "NEURON\nMEMORY", *connected, "PCI\nBDF"]
    for column in columns + ["PID\n", "COMMAND\n", "RUNTIME\nVERSION"] * any(lines):
        drawn.add_column(Text(column, justify="center"), no_wrap=True)
    for device, processes in zip(devices, lines, strict=True):
        cells = [device["neuron_device"], device["nc_count"], f"{device['memory_size'] >> 30} GB"]
        cells += [", ".join(map(str, device["connected_to"]))] if connected else []
        cells += [device["bdf"] or _NA]
        for process in processes or [[_NA] * 3 * any(lines)]:
            drawn.add_row(*(Text(str(said)) for said in [*cells, *process]))
            cells = [""] * len(cells)
        if max(map(len, lines)) > 1:
            drawn.add_section()
    text = io.StringIO()
    Console(width=10_000, file=text).print(drawn)
    return text.getvalue().rstrip("\n")


def _drawing(of: Machine) -> str:
    """Return the devices and links as letters, as ``--topology`` does."""
    shape, wrap = of.topology.shape, of.topology.wrap
    across, down = shape[-1], of.devices // shape[-1]
    closes, closes_down = wrap[-1], len(shape) > 1 and wrap[0]
    margin = " " * 3 * closes

    def column(mark):
        return (margin + f"   {mark}     " * across).rstrip()

    numbers = [[f"[{row * across + i:>2} ]" for i in range(across)] for row in range(down)]
    start, end = ("*––►", "◄––*") if closes else ("", "")
    lines = [f"{start}{'◄––►'.join(row)}{end}" for row in numbers]
    drawn = "\n".join(["", *map(column, "▲│▼"), ""]).join(lines)
    if closes_down:
        drawn = "\n".join([*map(column, "*│▼"), drawn, *map(column, "▲│*")])
    legend = ["", "Legend:", "", "        *––► = Wrap-around link"] if closes else []
    return "\n".join(["Neuron Device Topology", drawn, *legend])


@checked
def report(of: Machine, *flags: str) -> str:
    """Return all that ``neuron-ls`` prints.

    Parameters
    ----------
    of : Machine
    *flags : str
        Of :data:`FLAGS`: more of each command, these tools too, the drawing, JSON.

    Examples
    --------
    >>> print(report(Machine("inf2.xlarge")))
    instance-type: inf2.xlarge
    instance-id: NA
    +--------+--------+--------+---------+
    | NEURON | NEURON | NEURON |   PCI   |
    | DEVICE | CORES  | MEMORY |   BDF   |
    +--------+--------+--------+---------+
    | 0      | 2      | 32 GB  | 00:1e.0 |
    +--------+--------+--------+---------+
    """
    for flag in flags:
        choice(flag, "flags", FLAGS)
    command = " ".join(["neuron-ls", *(f"--{flag.replace('_', '-')}" for flag in flags)])
    tools = [*((tool.pid, tool.command) for tool in of.tools), (os.getpid(), command)]
    devices = _devices(of, "wide" in flags, tools if "show_all_procs" in flags else [])
    if "json_output" in flags:
        return json.dumps(devices, indent=4)
    head = f"instance-type: {of.instance}\ninstance-id: {_NA}\n"
    if "topology" in flags:
        return f"{head}{_table(devices, is_bare=True)}\n\n\n{_drawing(of)}"
    return head + _table(devices)
