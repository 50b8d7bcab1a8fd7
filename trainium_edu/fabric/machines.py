"""The machines that AWS documents, made of sourced facts: Trn1, Trn1n, Inf2, Trn2, clusters."""

import re
from dataclasses import replace
from functools import lru_cache

import numpy as np

from trainium_edu.fabric.arguments import are_several, choice, real_number
from trainium_edu.fabric.topology import FabricError, Topology, known, product, whole_number
from trainium_edu.specs import FABRIC, INSTANCES
from trainium_edu.specs.instances import with_cores

__all__ = [
    "HOP_LATENCY_NS", "group", "inf2_48xlarge", "machine", "one_instance", "trn1_32xlarge",
    "trn1n_32xlarge", "trn2_48xlarge", "ultracluster", "ultraserver",
]  # fmt: skip

#: The middle of the documented 1 to 2 µs per hop.
HOP_LATENCY_NS = sum(FABRIC.hop_latency_ns.value) / 2
_EFA = "efa_devices"


def machine(instance: str, shape: tuple | None = None, **options) -> Topology:
    """Build an instance of Trn1, Trn2 or Inf2 by its API name.

    Parameters
    ----------
    instance : str
        A key of ``specs.INSTANCES`` with NeuronCores.
    shape : tuple of int, optional
        Of a part of it, or of several together; extents that are its own close to rings.
    **options
        As in :func:`~trainium_edu.fabric.product`: ``direction``, ``ranks_per_chip``,
        ``link_bytes_per_s``, ``latency_ns``.

    Returns
    -------
    Topology
        With a rank for each NeuronCore, or on Trn2 for two, as AWS configures it (LNC 2);
        ``ranks_per_chip=8`` is LNC 1.

    References
    ----------
    `aws-trn1-page`, `aws-trn1-page-middle`, `aws-trn2-page`, `aws-runtime-tips` in
    :data:`trainium_edu.specs.SOURCES`.

    Examples
    --------
    >>> machine("trn1.32xlarge"), machine("trn2.3xlarge").ranks
    (Topology('trn1.32xlarge', 16 chips, 32 ranks, 64 directed links), 4)
    """
    facts = INSTANCES[choice(instance, with_cores(), "instance with NeuronCores")]
    printed = str(getattr(facts, "topology", facts.chips).value)
    layout = tuple(map(int, re.findall(r"\d+", printed)))
    shape = layout if shape is None else shape
    rings = [extent for extent in layout if extent > 1]
    closes = [extent in rings for extent in shape] if are_several(shape) else []
    return product(shape, closes, **{
        "name": instance,
        "link_bytes_per_s": float(getattr(facts, "link_bytes_per_s", FABRIC.link_bytes_per_s)),
        "ranks_per_chip": int(getattr(facts, "ranks_per_chip", FABRIC.ranks_per_chip)),
        "direction": facts.link_direction.value if hasattr(facts, "link_direction") else "one_way",
        "latency_ns": HOP_LATENCY_NS, "hbm_bytes_per_s": float(facts.chip.hbm_bytes_per_s),
        "hbm_bytes": int(facts.chip.hbm_bytes), **options,
    })  # fmt: skip


def trn1_32xlarge(**options) -> Topology:
    """Build trn1.32xlarge: 16 Trainium chips in a 4 x 4 torus, two ranks on each.

    Examples
    --------
    >>> trn1_32xlarge()
    Topology('trn1.32xlarge', 16 chips, 32 ranks, 64 directed links)
    """
    return machine("trn1.32xlarge", **options)


def trn1n_32xlarge(**options) -> Topology:
    """Build trn1n.32xlarge: the same torus with twice the link bandwidth."""
    return machine("trn1n.32xlarge", **options)


def inf2_48xlarge(**options) -> Topology:
    """Build inf2.48xlarge: a ring of 12 Inferentia2 chips, two ranks on each, no EFA."""
    return machine("inf2.48xlarge", **options)


def trn2_48xlarge(**options) -> Topology:
    """Build trn2.48xlarge: 16 Trainium2 chips in a 4 x 4 torus, four ranks on each.

    128 GB/s per link and direction: 1,024 GB/s per chip over four cables, as if that counted both
    directions, which no document says; ``direction="one_way"`` is the other reading.

    Examples
    --------
    >>> trn2_48xlarge()
    Topology('trn2.48xlarge', 16 chips, 64 ranks, 64 directed links)
    """
    return machine("trn2.48xlarge", **options)


def ultraserver(**options) -> Topology:
    """Build a Trn2 UltraServer: four trn2u.48xlarge, equal chips of which are joined in rings.

    Together a torus of three dimensions; the rings have half the bandwidth of the other links.

    Examples
    --------
    >>> ultraserver()
    Topology('Trn2 UltraServer', 64 chips, 256 ranks, 384 directed links)
    """
    facts = INSTANCES["trn2.48xlarge"]
    count, each = int(facts.ultraserver_instances), int(facts.chips)
    joined = machine(facts.name, (count, 4, 4), **{"name": "Trn2 UltraServer"} | options)
    slower = float(facts.ultraserver_link_bytes_per_s) / float(facts.link_bytes_per_s)
    share = np.where(joined.src // each != joined.dst // each, slower, 1.0)
    return replace(joined, bandwidth_bytes_per_s=joined.bandwidth_bytes_per_s * share)


def group(ranks: int, instance: str = "trn1.32xlarge", **options) -> Topology:
    """Build the part of an instance that a group of ranks occupies, as ``nccom-test -r`` places it.

    Parameters
    ----------
    ranks : int
        On a torus of 32 ranks 2, 4, 8, 16 or 32, or a multiple of 32 over several instances.
    instance : str
        A key of ``specs.INSTANCES`` with NeuronCores.
    **options
        As in :func:`machine`.

    Returns
    -------
    Topology

    Raises
    ------
    FabricError
        For other numbers.

    Examples
    --------
    >>> group(8)
    Topology('8 ranks of trn1.32xlarge', 4 chips, 8 ranks, 8 directed links)
    """
    whole_number(ranks, "the number of ranks", most=200_000)
    whole = machine(instance, **options)
    if ranks == whole.ranks:
        return whole
    if ranks > whole.ranks and ranks % whole.ranks == 0 and instance in with_cores(_EFA):
        return ultracluster(ranks // whole.ranks_per_chip, instance=instance, **options)
    on_chip = min(ranks, whole.ranks_per_chip)
    shape: tuple | None = (ranks // on_chip,)
    hint = f"Use an even number, at most {whole.ranks}"
    if len(whole.shape) > 1:
        parts = {1: (1,), 2: (2,), 4: (4,), 8: (2, 4)}
        shape = parts.get(ranks // on_chip)
        sizes = ", ".join(str(chips * whole.ranks_per_chip) for chips in parts)
        hint = f"Use {sizes} or {whole.ranks} ranks, or use a multiple of {whole.ranks} on several"
    if shape is None or ranks % on_chip or not 1 < ranks < whole.ranks:
        raise FabricError(
            f"{ranks} ranks do not fit {instance}, which has {whole.ranks}, {on_chip} to a chip:"
            f" groups start at a multiple of their size. {hint}"
        )
    options = {"name": f"{ranks} ranks of {instance}"} | options | {"ranks_per_chip": on_chip}
    return machine(instance, shape, **options)


def ultracluster(
    chips: int = 100_000,
    *,
    instance: str = "trn1.32xlarge",
    network_latency_ns: float | None = None,
    **options,
) -> Topology:
    """Build instances joined by EFA through a network that never blocks.

    Parameters
    ----------
    chips : int
        A multiple of 16.
    instance : {"trn1.32xlarge", "trn1n.32xlarge", "trn2.48xlarge"}
    network_latency_ns : float, optional
        From memory to memory of another instance; the documented 15 µs unless said otherwise.
    **options
        As in :func:`trn1_32xlarge`, for the links inside an instance.

    Returns
    -------
    Topology
        One switch stands for the whole network; each EFA device is a link up and a link down.
        The devices hang on different chips: on every second one of trn1, on each of others.

    Examples
    --------
    >>> ultracluster(64)
    Topology('4 x trn1.32xlarge', 64 chips, 128 ranks, 320 directed links)
    """
    instance = choice(instance, with_cores(_EFA), "instance with EFA")
    node = machine(instance, **options)
    whole_number(chips, "the number of chips")
    if chips % node.chips:
        raise FabricError(
            f"{chips} chips do not fill instances of {node.chips}; try {chips - chips % node.chips}"
            f" or {chips - chips % node.chips + node.chips}"
        )
    count = chips // node.chips
    if count == 1:
        return node
    facts = INSTANCES[instance]
    devices = int(facts.efa_devices)
    speed = float(facts.efa_bits_per_s_per_device) / 8
    latency = float(FABRIC.inter_step_latency_ns)
    if network_latency_ns is not None:
        latency = real_number(network_latency_ns, "network_latency_ns")
    gates = np.arange(devices, dtype=np.int32) * (node.chips // devices)
    # links of one instance by source chip: four cables, then the device if there is one
    src = np.concatenate((node.src, gates))
    dst = np.concatenate((node.dst, np.full(devices, -1, np.int32)))
    order = np.argsort(src, kind="stable")
    inside = dst[order]
    base = (np.arange(count, dtype=np.int32) * node.chips)[:, None]
    every_dst = inside[None, :] + base
    every_dst[:, inside < 0] = chips
    down = (gates[None, :] + base).ravel()
    up_speed = np.concatenate((node.bandwidth_bytes_per_s, np.full(devices, speed)))[order]
    up_latency = np.concatenate((node.latency_ns, np.full(devices, latency / 2)))[order]
    return replace(
        node,
        name=f"{count} x {instance}",
        chips=chips,
        src=np.concatenate(((src[order][None, :] + base).ravel(), np.full(len(down), chips, "i4"))),
        dst=np.concatenate((every_dst.ravel(), down)),
        bandwidth_bytes_per_s=np.concatenate((np.tile(up_speed, count), np.full(len(down), speed))),
        latency_ns=np.concatenate((np.tile(up_latency, count), np.full(len(down), latency / 2))),
        switches=1,
        instances=count,
        gateways=tuple(int(g) for g in gates),
    )


def one_instance(topology: Topology, index: int = 0) -> Topology:
    """Return one instance of a cluster as a topology of its own, links and all.

    Examples
    --------
    >>> one_instance(ultracluster(64))
    Topology('4 x trn1.32xlarge, instance 0', 16 chips, 32 ranks, 64 directed links)
    """
    last = known(topology).instances - 1
    index = whole_number(index, "the instance", least=0, most=last)
    return _instance(topology, index) if last else topology


@lru_cache(maxsize=32)
def _instance(topology, index):
    size = topology.chips_per_instance
    first, last = index * size, (index + 1) * size
    near = (topology.src >= first) & (topology.src < last)
    near &= (topology.dst >= first) & (topology.dst < last)
    return replace(
        topology,
        name=f"{topology.name}, instance {index}",
        chips=size,
        src=topology.src[near] - first,
        dst=topology.dst[near] - first,
        bandwidth_bytes_per_s=topology.bandwidth_bytes_per_s[near],
        latency_ns=topology.latency_ns[near],
        switches=0,
        instances=1,
        gateways=(),
    )
