"""The emulated instance as the tools around a run see it: its devices, and who uses them.

The real tools look at the instance they run on.  Here it is that of the newest run, or the one
named with ``--instance``; of several instances in one run it is the first.
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import psutil

from trainium_edu import fabric, live
from trainium_edu.specs import INSTANCES, TOOLS
from trainium_edu.specs.arguments import whole
from trainium_edu.specs.instances import with_cores
from trainium_edu.specs.signatures import checked

__all__ = ["DEFAULT", "Machine", "Usage", "by_core", "cpu_s", "machine", "resident_bytes", "tag",
           "usage"]  # fmt: skip

#: Looked at where nothing runs.
DEFAULT = "trn1.2xlarge"
_ADDRESSES = {
    "trn1.2xlarge": TOOLS.pci_bdf_trn1_2xlarge,
    "trn1.32xlarge": TOOLS.pci_bdf_trn1_32xlarge,
    "inf2.xlarge": TOOLS.pci_bdf_inf2_xlarge,
}


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
        fact = _ADDRESSES.get(self.instance)
        return fact.value[device] if fact else ""

    @checked
    def on_device(self, device: int) -> list[live.Seen]:
        """Return the runs that hold a NeuronCore of a chip."""
        whole(device, "device", 0, self.devices - 1)
        first = device * self.cores_per_device
        here = range(first, first + self.cores_per_device)
        return [run for run in self.runs if any(core in here for core in run.cores)]


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


@dataclass(frozen=True, slots=True)
class Usage:
    """What a NeuronCore did in a period."""

    percent: float  #: of the emulated time in which it worked
    flops: float  #: floating-point operations per emulated second


@checked
def usage(now: live.Totals, before: live.Totals) -> dict[int, Usage]:
    """Return what each NeuronCore did between two moments, by its number.

    Parameters
    ----------
    now, before : live.Totals

    Examples
    --------
    >>> now = live.Totals(4e9, groups=[live.Group(0, 2, busy_ns=1e9, flops=8e12)])
    >>> usage(now, live.Totals())[1]
    Usage(percent=25.0, flops=2000000000000.0)
    """
    elapsed = now.elapsed_ns - before.elapsed_ns
    then = {(g.first, g.count): g for g in before.groups}
    busy: dict[int, list[float]] = {}
    for group in now.groups:
        old = then.get((group.first, group.count), live.Group(group.first, group.count))
        for core in range(group.first, group.first + group.count):
            sums = busy.setdefault(core, [0.0, 0.0])
            sums[0] += group.busy_ns - old.busy_ns
            sums[1] += group.flops - old.flops
    return {
        core: Usage(min(100.0, 100 * ns / elapsed), 1e9 * flops / elapsed)
        if elapsed > 0
        else Usage(0.0, 0.0)
        for core, (ns, flops) in sorted(busy.items())
    }


@checked
def by_core(run: live.Seen) -> dict[int, Counter]:
    """Return the device memory that a run uses, by NeuronCore and class."""
    found: dict[int, Counter] = {}
    for group in run.now.groups:
        for core in range(group.first, group.first + group.count):
            found.setdefault(core, Counter(dict.fromkeys(live.MEMORY, 0))).update(group.memory)
    return dict(sorted(found.items()))


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
