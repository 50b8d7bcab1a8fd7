"""One step on other instances: its time, its band, and what it costs.

The graph of a step is compiled once for each kind of chip; sizes of one chip differ in how many
ranks sum over which links.  Every NeuronCore keeps its batch, so a larger size takes more samples
in a step.  Left out: whether the host's CPUs can load so many samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from trainium_edu.neuroncore.timing.bands import Band
from trainium_edu.specs import INSTANCES, PRICES
from trainium_edu.specs.arguments import choice, whole
from trainium_edu.specs.instances import with_cores
from trainium_edu.specs.signatures import checked
from trainium_edu.training.parallel.collectives import links
from trainium_edu.training.run_numbers import band_of
from trainium_edu.xla.executable import Executable
from trainium_edu.xla.graph import Graph

__all__ = ["SIZES", "OnInstance", "compare_instances", "comparison_lines"]

#: the sizes with NeuronCores whose price on demand is known
SIZES = tuple(name for name in with_cores() if hasattr(PRICES[name], "on_demand_usd_per_hour"))


@dataclass(frozen=True, slots=True)
class OnInstance:
    """A step on all NeuronCores of one instance."""

    instance: str
    ranks: int
    step_ns: float
    band: Band
    samples: int  #: samples of all ranks per step
    usd_per_hour: float  #: on demand

    @property
    def usd_per_step(self) -> float:
        """The instance's price for the time of a step."""
        return self.usd_per_hour * self.step_ns / 3.6e12

    @property
    def usd_per_million_samples(self) -> float:
        """The price of a million samples."""
        return self.usd_per_step / self.samples * 1e6

    def against(self, other: "OnInstance") -> float:
        """Return how many samples this one gives per dollar, relative to another."""
        return other.usd_per_million_samples / self.usd_per_million_samples


@checked
def compare_instances(graph: Graph, batch: int, instances: Sequence[str] = SIZES, *,
                      flags=None) -> list[OnInstance]:  # fmt: skip
    """Return what a step of one rank takes and costs on every NeuronCore of several instances.

    Parameters
    ----------
    graph : Graph
        Of a training step, with its sums over ranks; without any, ranks do not wait for each other.
    batch : int
        Samples per NeuronCore and step.
    instances : sequence of str
        Sizes of Trn1 and Inf2.
    flags : xla.flags.Flags, optional
        Of the compiler.

    Returns
    -------
    list of OnInstance
        In the order asked for.

    Raises
    ------
    ValueError
        For an instance without NeuronCores, or a batch below 1.

    Examples
    --------
    >>> from trainium_edu.xla.graph import as_type
    >>> from trainium_edu.xla.operations import apply, parameter
    >>> x = parameter(0, as_type((128, 512), "float32"))
    >>> graph = Graph("step", (x,), (apply("exp", x),))
    >>> [(one.instance, one.ranks) for one in compare_instances(graph, 8, ["inf2.xlarge"])]
    [('inf2.xlarge', 2)]
    """
    whole(batch, "batch", 1)
    for name in instances:
        choice(name, "instance", SIZES)
    compiled: dict[str, Executable] = {}
    rows = []
    for name in instances:
        chip = INSTANCES[name].chip
        ranks = int(INSTANCES[name].cores.value)
        reached = links(ranks, name)
        if chip.name not in compiled:
            compiled[chip.name] = Executable(graph, flags, spec=chip, times=reached)
        executable = compiled[chip.name].with_times(reached)
        usd = float(PRICES[name].on_demand_usd_per_hour)
        band = band_of(executable)[0]
        rows.append(OnInstance(name, ranks, executable.makespan_ns, band, batch * ranks, usd))
    return rows


def comparison_lines(graph: Graph, *, flags=None) -> list[str]:
    """Return a table of :func:`compare_instances` as lines for the screen.

    Parameters
    ----------
    graph : Graph
        Of one rank's step.
    flags : xla.flags.Flags, optional
        Of the compiler.
    """
    found = compare_instances(graph, 1, flags=flags)
    first = found[0]
    lines = [f"{'instance':15} {'ranks':>5} {'step ms':>9} {'band':>17} {'USD/h':>8} "
             f"{'USD/1M steps':>14} {'steps per dollar and core':>26}"]  # fmt: skip
    for one in found:
        band = f"{one.band.low_ns / 1e6:,.2f} to {one.band.high_ns / 1e6:,.2f}"
        lines.append(
            f"{one.instance:15} {one.ranks:5} {one.step_ns / 1e6:9,.2f} {band:>17} "
            f"{one.usd_per_hour:8.3f} {one.usd_per_step * 1e6:14,.2f} "
            f"{one.against(first):20.2f} of {first.instance}"
        )
    return [*lines, "The engines of both chips are alike here; what a host can load is left out."]
