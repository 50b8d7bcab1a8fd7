"""The emulated instance as the tools around a run see it: its devices, and who uses them.

The real tools look at the instance they run on.  Here it is that of the newest run, or the one
named with ``--instance``; of several instances in one run it is the first.
"""

import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import psutil

from trainium_edu import fabric, live
from trainium_edu.specs import INSTANCES, TOOLS
from trainium_edu.specs.arguments import whole
from trainium_edu.specs.instances import with_cores
from trainium_edu.specs.signatures import checked

__all__ = ["DEFAULT", "Machine", "by_core", "cpu_s", "machine", "resident_bytes", "tag", "usage"]

#: Looked at where nothing runs.
DEFAULT = "trn1.2xlarge"


@dataclass(frozen=True)
class Machine:
    """An instance with the runs on it, the oldest first."""

    instance: str
    runs: tuple[live.Seen, ...] = ()  #: without tools
    tools: tuple[live.Seen, ...] = ()
    elsewhere: tuple[live.Seen, ...] = ()  #: runs on other instances

    @property
    def devices(self) -> int:
        """How many chips there are."""
        return int(INSTANCES[self.instance].chips.value)

    @property
    def cores_per_device(self) -> int:
        """NeuronCores of a chip."""
        return self.cores // self.devices

    @property
    def cores(self) -> int:
        """NeuronCores of the instance."""
        return int(INSTANCES[self.instance].cores.value)

    @property
    def memory_bytes(self) -> int:
        """Device memory of one chip."""
        return int(INSTANCES[self.instance].memory_bytes.value) // self.devices

    @cached_property
    def topology(self) -> fabric.Topology:
        """The chips and the links between them."""
        return fabric.machine(self.instance)

    @checked
    def address(self, device: int) -> str:
        """Return a chip's PCI address where AWS prints one; "" elsewhere."""
        whole(device, "device", 0, self.devices - 1)
        fact = getattr(TOOLS, f"pci_bdf_{self.instance.replace('.', '_')}", None)
        return "" if fact is None else fact.value[device]

    @checked
    def cores_of(self, device: int) -> range:
        """Return the numbers of a chip's NeuronCores."""
        first = whole(device, "device", 0, self.devices - 1) * self.cores_per_device
        return range(first, first + self.cores_per_device)

    @checked
    def on_device(self, device: int) -> list[live.Seen]:
        """Return the runs that hold a NeuronCore of a chip."""
        return [run for run in self.runs if set(run.cores) & set(self.cores_of(device))]


@checked
def machine(instance: str | None = None) -> Machine:
    """Return the instance to look at.

    Parameters
    ----------
    instance : str, optional
        Default: that of the newest run, or a trn1.2xlarge if nothing runs.

    Raises
    ------
    ValueError
        If there is no such instance with NeuronCores.
    trainium_edu.live.LiveError
        If what is said of runs cannot be believed.
    """
    known = with_cores()
    if instance is not None and instance not in known:
        raise ValueError(f"there is no instance {instance!r} here; there are {', '.join(known)}")
    found = [one for one in live.runs() if one.instance in known]
    runs = [one for one in found if not one.is_tool]
    if instance is None:
        instance = runs[-1].instance if runs else DEFAULT
    here = tuple(one for one in runs if one.instance == instance)
    tools = tuple(one for one in found if one.is_tool)
    return Machine(instance, here, tools, tuple(one for one in runs if one not in here))


@checked
def by_core(totals: live.Totals) -> dict[int, Any]:
    """Return what each NeuronCore counted: ``busy_ns``, ``flops`` and each class of memory."""
    found: dict[int, Any] = defaultdict(Counter)
    for group in totals.groups:
        counted = {"busy_ns": group.busy_ns, "flops": group.flops, **group.memory}
        for core in range(group.first, group.first + group.count):
            found[core].update(counted)
    return found


@checked
def usage(now: live.Totals, before: live.Totals) -> dict[int, dict[str, float]]:
    """Return what each NeuronCore did between two moments, by its number.

    That is the percentage of the emulated time in which it worked, and its floating-point
    operations per emulated second, under the names of ``neuron-monitor``.

    Parameters
    ----------
    now, before : live.Totals

    Examples
    --------
    >>> now = live.Totals(4e9, groups=[live.Group(0, 2, busy_ns=1e9, flops=8e12)])
    >>> usage(now, live.Totals())[1]
    {'neuroncore_utilization': 25.0, 'flops': 2000000000000}
    """
    elapsed = max(0.0, now.elapsed_ns - before.elapsed_ns) or math.inf
    then, found = by_core(before), {}
    for core, counted in sorted(by_core(now).items()):
        counted.subtract(then[core])
        percent = min(100.0, 100 * counted["busy_ns"] / elapsed)
        flops = int(1e9 * counted["flops"] / elapsed)
        found[core] = {"neuroncore_utilization": round(percent, 2), "flops": flops}
    return found


@checked
def tag(run: live.Seen) -> str:
    """Return what ``NEURON_PROCESS_TAG`` says in a run's process, or else its number."""
    said = _asked(run.pid, lambda process: process.environ().get("NEURON_PROCESS_TAG", ""), "")
    said = re.sub(r"[^\x20-\x7e]", " ", said)[: int(TOOLS.tag_letters)]
    return said or str(run.pid)


@checked
def resident_bytes(pid: int) -> int:
    """Return the host memory of a process; 0 if it has ended."""
    return _asked(pid, lambda process: process.memory_info().rss, 0)


@checked
def cpu_s(pid: int) -> tuple[float, float]:
    """Return the seconds that a process has spent as user and as system; 0 if it has ended."""
    return tuple(_asked(pid, lambda process: process.cpu_times()[:2], (0.0, 0.0)))


def _asked(pid, question, otherwise):
    """Return what a process answers, or something else if it cannot be asked any more."""
    try:
        return question(psutil.Process(pid))
    except (psutil.Error, OSError):
        return otherwise
