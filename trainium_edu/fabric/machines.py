"""The machines that AWS documents, made of sourced facts: Trn1, Trn1n, Inf2, UltraClusters."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from trainium_edu.fabric.arguments import choice, real_number
from trainium_edu.fabric.topology import (
    FabricError,
    Topology,
    known,
    product,
    ring,
    torus,
    whole_number,
)
from trainium_edu.specs import FABRIC, INSTANCES, TRN1, TRN2
from trainium_edu.specs.instances import TRN2_FABRIC

__all__ = [
    "HOP_LATENCY_NS", "group", "inf2_24xlarge", "inf2_48xlarge", "one_instance", "single_chip",
    "trn1_2xlarge", "trn1_32xlarge", "trn1n_32xlarge", "trn2_like", "ultracluster",
]  # fmt: skip

#: The middle of the documented 1 to 2 µs per hop.
HOP_LATENCY_NS = sum(FABRIC.hop_latency_ns.value) / 2
_RANKS = FABRIC.ranks_per_chip.value


def _options(options, link_bytes_per_s=FABRIC.link_bytes_per_s, chip=TRN1, ranks=_RANKS) -> dict:
    """Return the options of a machine: those of its links and chips, and what replaces them."""
    return {
        "link_bytes_per_s": float(link_bytes_per_s), "ranks_per_chip": int(ranks),
        "latency_ns": HOP_LATENCY_NS, "hbm_bytes_per_s": float(chip.hbm_bytes_per_s),
        "hbm_bytes": int(chip.hbm_bytes), **options,
    }  # fmt: skip


def trn1_32xlarge(**options) -> Topology:
    """Build trn1.32xlarge: 16 Trainium chips in a 4 x 4 torus, two ranks on each.

    Parameters
    ----------
    **options
        As in :func:`~trainium_edu.fabric.product`: ``direction``, ``ranks_per_chip``,
        ``link_bytes_per_s``, ``latency_ns``.

    Returns
    -------
    Topology

    References
    ----------
    `aws-trn1-page`, `aws-trn1-page-middle`, `aws-runtime-tips` in
    :data:`trainium_edu.specs.SOURCES`.

    Examples
    --------
    >>> trn1_32xlarge()
    Topology('trn1.32xlarge', 16 chips, 32 ranks, 64 directed links)
    """
    return torus(4, 4, name="trn1.32xlarge", **_options(options, FABRIC.link_bytes_per_s_trn1))


def trn1n_32xlarge(**options) -> Topology:
    """Build trn1n.32xlarge: the same torus with twice the link bandwidth."""
    return torus(4, 4, name="trn1n.32xlarge", **_options(options, FABRIC.link_bytes_per_s_trn1n))


def trn1_2xlarge(**options) -> Topology:
    """Build trn1.2xlarge: one chip, two ranks, no links."""
    return product((1,), (False,), name="trn1.2xlarge", **_options(options))


def single_chip(**options) -> Topology:
    """Build one chip by itself."""
    return product((1,), (False,), name="one chip", **_options(options))


def inf2_48xlarge(**options) -> Topology:
    """Build inf2.48xlarge: a ring of 12 Inferentia2 chips, two ranks on each, no EFA."""
    return ring(12, name="inf2.48xlarge", **_options(options))


def inf2_24xlarge(**options) -> Topology:
    """Build inf2.24xlarge: a ring of 6 Inferentia2 chips, two ranks on each, no EFA."""
    return ring(6, name="inf2.24xlarge", **_options(options))


def trn2_like(**options) -> Topology:
    """Build what the documents' text on algorithms is written for: 16 chips, 4 ranks on each.

    128 GB/s per link and direction (1024 GB/s per chip over four cables and both directions) and
    2.9 TB/s of HBM; for comparison only.
    """
    link = TRN2_FABRIC.neuronlink_bytes_per_s_per_chip.value / 8
    options = _options(options, link, TRN2, TRN2_FABRIC.ranks_per_chip)
    return torus(4, 4, name="Trn2-like", **options)


def group(ranks: int, **options) -> Topology:
    """Build the part of Trn1 that a group of ranks occupies, as ``nccom-test -r`` places it.

    Parameters
    ----------
    ranks : int
        2, 4, 8, 16 or 32 in one instance, or a multiple of 32 over several.
    **options
        As in :func:`trn1_32xlarge`.

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
    if ranks > 32 and ranks % 32 == 0:
        return ultracluster(ranks // 2, **options)
    shapes = {
        2: ((1,), (False,)),
        4: ((2,), (False,)),
        8: ((4,), (True,)),
        16: ((2, 4), (False, True)),
        32: ((4, 4), (True, True)),
    }
    if ranks not in shapes:
        raise FabricError(
            f"a group of {ranks} ranks has no place on trn1.32xlarge: groups start at a multiple"
            " of their size. Use 2, 4, 8, 16 or 32 ranks, or a multiple of 32 on several instances"
        )
    if ranks == 32:
        return trn1_32xlarge(**options)
    options = _options(options, FABRIC.link_bytes_per_s_trn1)
    return product(*shapes[ranks], name=f"{ranks} ranks of trn1.32xlarge", **options)


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
    instance : {"trn1.32xlarge", "trn1n.32xlarge"}
    network_latency_ns : float, optional
        From memory to memory of another instance; the documented 15 µs unless said otherwise.
    **options
        As in :func:`trn1_32xlarge`, for the links inside an instance.

    Returns
    -------
    Topology
        One switch stands for the whole network; each EFA device is a link up and a link down.
        The devices hang on different chips: on every second one of trn1, on every one of trn1n.

    Examples
    --------
    >>> ultracluster(64)
    Topology('4 x trn1.32xlarge', 64 chips, 128 ranks, 320 directed links)
    """
    builders = {"trn1.32xlarge": trn1_32xlarge, "trn1n.32xlarge": trn1n_32xlarge}
    instance = choice(instance, builders, "instance with EFA")
    node = builders[instance](**options)
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
