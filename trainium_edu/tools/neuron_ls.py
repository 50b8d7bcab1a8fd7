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
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from trainium_edu.specs import TOOLS
from trainium_edu.specs.signatures import checked
from trainium_edu.tools.machine import Machine

__all__ = ["as_json", "drawing", "report", "table"]

_NA = "NA"


def _devices(of: Machine, is_wide: bool, also: Sequence[tuple[int, str]]) -> list[dict]:
    """Return what the JSON has of each device; `also` are processes on every one."""
    most = len((TOOLS.command_wide if is_wide else TOOLS.command).value)
    per, several = of.cores_per_device, of.devices > 1
    return [
        {
            "neuron_device": device, "bdf": of.address(device), "cpu_affinity": "",
            "numa_node": "-1",
            "connected_to": list(of.topology.neighbours(device)) if several else None,
            "nc_count": per, "memory_size": of.memory_bytes,
            "neuroncore_ids": list(range(device * per, (device + 1) * per)),
            "neuron_processes": [
                {"pid": pid, "command": command if len(command) <= most else
                 f"{command[: most - 3]}...", "neuron_runtime_version": _NA}
                for pid, command in [*((r.pid, r.command) for r in of.on_device(device)), *also]
            ],
        }
        for device in range(of.devices)
    ]  # fmt: skip


@checked
def table(of: Machine, *, is_wide: bool = False, also: Sequence[tuple[int, str]] = (),
          is_bare: bool = False) -> str:  # fmt: skip
    """Return the table.

    Parameters
    ----------
    of : Machine
    is_wide : bool
        Show more of each command.
    also : sequence of (int, str)
        Numbers and commands of other processes on every device.
    is_bare : bool
        Leave processes out.
    """
    devices, drawn = _devices(of, is_wide, () if is_bare else also), Table(box=box.ASCII2)
    on = [[] if is_bare else [[*one.values()] for one in device["neuron_processes"]]
          for device in devices]  # fmt: skip
    connected = ["CONNECTED\nDEVICES"] * (of.devices > 1)
    columns = ["NEURON\nDEVICE", "NEURON\nCORES", "NEURON\nMEMORY", *connected, "PCI\nBDF"]
    for column in columns + ["PID\n", "COMMAND\n", "RUNTIME\nVERSION"] * any(on):
        drawn.add_column(Text(column, justify="center"), no_wrap=True)
    for device, lines in zip(devices, on, strict=True):
        links = [", ".join(map(str, device["connected_to"]))] if connected else []
        cells = [device["neuron_device"], device["nc_count"], f"{of.memory_bytes // 2**30} GB",
                 *links, device["bdf"] or _NA]  # fmt: skip
        for line in lines or [[_NA] * 3 * any(on)]:
            drawn.add_row(*(Text(str(said)) for said in [*cells, *line]))
            cells = [""] * len(cells)
        if max(map(len, on)) > 1:
            drawn.add_section()
    text = io.StringIO()
    Console(width=10_000, file=text).print(drawn)
    return text.getvalue().rstrip("\n")


@checked
def drawing(of: Machine) -> str:
    """Return the devices and links as letters, as ``--topology`` does."""
    shape, wrap = of.topology.shape, of.topology.wrap
    across, down = shape[-1], of.devices // shape[-1]
    closes, closes_down = wrap[-1], len(shape) > 1 and wrap[0]
    margin = " " * 3 * closes

    def column(mark):
        return (margin + f"   {mark}     " * across).rstrip()

    between = [column("▲"), column("│"), column("▼")]
    lines = [column("*"), column("│"), column("▼")] if closes_down else []
    for row in range(down):
        cells = "◄––►".join(f"[{row * across + i:>2} ]" for i in range(across))
        lines.append(f"*––►{cells}◄––*" if closes else cells)
        if row < down - 1:
            lines += between
    if closes_down:
        lines += [column("▲"), column("│"), column("*")]
    legend = ["", "Legend:", "", "        *––► = Wrap-around link"] if closes else []
    return "\n".join(["Neuron Device Topology", *lines, *legend])


@checked
def as_json(of: Machine, *, is_wide: bool = False, also: Sequence[tuple[int, str]] = ()) -> str:
    """Return what ``--json-output`` prints.

    Parameters
    ----------
    of : Machine
    is_wide, also
        As in :func:`table`.
    """
    return json.dumps(_devices(of, is_wide, also), indent=4)


@checked
def report(of: Machine, *, is_wide: bool = False, shows_all: bool = False,
           shows_topology: bool = False, is_json: bool = False,
           myself: tuple[int, str] | None = None) -> str:  # fmt: skip
    """Return all that ``neuron-ls`` prints.

    Parameters
    ----------
    of : Machine
    is_wide, shows_all, shows_topology, is_json : bool
        Its four options.
    myself : (int, str), optional
        Number and command of the process that asks; ``--show-all-procs`` shows it too.

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
    also = [(one.pid, one.command) for one in of.tools] if shows_all else []
    also += [myself] if shows_all and myself else []
    if is_json:
        return as_json(of, is_wide=is_wide, also=also)
    lines = [f"instance-type: {of.instance}", f"instance-id: {_NA}"]
    lines.append(table(of, is_wide=is_wide, also=also, is_bare=shows_topology))
    return "\n".join([*lines, "", "", drawing(of)] if shows_topology else lines)
