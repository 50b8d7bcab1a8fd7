"""Judges: NumPy's sums, what the account says of links and time, and networkx for paths."""

import json
import struct

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from tests.for_each import for_each
from trainium_edu import fabric
from trainium_edu.viz.collective_frames import frames_of_schedule
from trainium_edu.viz.units import size_text

TRN1 = fabric.trn1_32xlarge()
CASES = [
    (TRN1, collective, algorithm)
    for algorithm in ("ring", "kangaring", "mesh", "rdh")
    for collective in ("all_reduce", "reduce_scatter", "all_gather")
] + [
    (fabric.ultracluster(32), "all_reduce", "hierarchical"),
    (fabric.ring(4), "all_to_all", "mesh"),
]


def make(topology, collective, algorithm, **options):
    return frames_of_schedule(
        fabric.plan(topology, collective, algorithm), topology, 2**20, **options
    )


def paths_of(arrays):
    """Return each message's links."""
    return np.split(arrays["msg_path"], arrays["msg_path_start"][1:-1])


@for_each("topology, collective, algorithm", CASES)
def test_every_rank_ends_with_what_the_collective_promises(topology, collective, algorithm):
    frames = make(topology, collective, algorithm)
    have = frames.arrays["have"]
    last = have[-1]
    if collective == "reduce_scatter":
        assert (np.diagonal(last) == frames.full).all()
    elif collective == "all_to_all":
        assert (last == 1).all()
    else:
        assert (last == frames.full).all()
    assert (have[0] <= frames.full).all()


@for_each("topology, collective, algorithm", CASES[:12])
def test_messages_follow_links_from_chip_to_chip(topology, collective, algorithm):
    arrays = make(topology, collective, algorithm).arrays
    graph = topology.to_networkx()
    for src, dst, path in zip(arrays["msg_src"], arrays["msg_dst"], paths_of(arrays), strict=True):
        at = topology.chip_of(int(src))
        for link in path:
            a, b, wire = (int(x) for x in arrays["links"][link])
            assert a == at
            assert graph.has_edge(a, b)
            assert {a, b} == set(arrays["wires"][wire].tolist())
            at = b
        assert at == topology.chip_of(int(dst))


@for_each("topology, collective, algorithm", CASES[:12])
def test_messages_and_links_carry_the_same_bytes(topology, collective, algorithm):
    arrays = make(topology, collective, algorithm).arrays
    from_messages = np.zeros_like(arrays["link_bytes"])
    for step, size, path in zip(
        arrays["msg_step"], arrays["msg_bytes"], paths_of(arrays), strict=True
    ):
        from_messages[step, path] += size
    np.testing.assert_allclose(from_messages, arrays["link_bytes"], rtol=1e-9)


def test_time_and_busy_shares_are_the_account():
    schedule = fabric.plan(TRN1, "all_reduce", "kangaring")
    bill = fabric.account(schedule, TRN1, 2**24)
    arrays = frames_of_schedule(schedule, TRN1, 2**24).arrays
    step_ns, link_busy = arrays["step_ns"], arrays["link_busy"]
    assert step_ns[-1] == pytest.approx(bill.total_ns)
    busy = (link_busy * np.diff(step_ns)[:, None]).sum(axis=0) / bill.total_ns
    np.testing.assert_allclose(busy, bill.utilisation)
    assert link_busy.max() <= 1 + 1e-9


def test_values_are_summed_as_numpy_sums_them():
    numbers = np.arange(1, 17).reshape(4, 4)
    ring = fabric.ring(4)
    schedule = fabric.plan(ring, "reduce_scatter", "ring", cycles=1)
    found = frames_of_schedule(schedule, ring, 4096, values=numbers).arrays["values"]
    np.testing.assert_array_equal(found[0], numbers)
    np.testing.assert_array_equal(np.diagonal(found[-1]), numbers.sum(axis=0))


def test_phases_of_a_step_follow_one_another():
    arrays = make(TRN1, "all_reduce", "mesh").arrays
    begins, ends = arrays["msg_begins"], arrays["msg_ends"]
    assert (begins >= 0).all()
    assert (begins < ends).all()
    assert (ends <= 1 + 1e-12).all()


def test_bytes_hold_the_header_and_every_array():
    frames = make(TRN1, "all_reduce", "rdh")
    blob = frames.to_bytes()
    size = struct.unpack("<I", blob[:4])[0]
    header = json.loads(blob[4 : 4 + size])
    assert (header["ranks"], header["steps"], header["full"]) == (32, 10, 32)
    assert len(header["palette"]) == len(header["letters"]) == 32
    kind, offset, count = header["arrays"]["have"]
    assert kind == "u8"
    assert offset % 8 == 0
    have = np.frombuffer(blob, np.uint8, count, 4 + size + offset)
    shown = frames.arrays["have"]
    np.testing.assert_array_equal(have.reshape(shown.shape), shown)
    assert make(TRN1, "all_reduce", "rdh").to_bytes() == blob


def test_a_broken_cable_is_in_the_frames():
    frames = make(fabric.without_link(fabric.torus(4, 4), 0, 1), "all_reduce", "mesh")
    assert [frames.arrays["wires"][k].tolist() for k in frames.down] == [[0, 1]]


def test_too_many_ranks_and_ill_fitting_values_are_refused():
    big = fabric.torus(8, 16)
    with pytest.raises(fabric.FabricError, match="128 ranks are too many to see"):
        frames_of_schedule(fabric.plan(big, "all_gather", "ring"), big, 1024)
    ring = fabric.ring(4)
    with pytest.raises(fabric.FabricError, match="one number per rank and chunk"):
        frames_of_schedule(
            fabric.plan(ring, "all_gather", "ring"), ring, 64, values=np.zeros((2, 2))
        )


def test_sizes_are_written_for_people():
    assert [size_text(n) for n in (12, 4096, 3 * 2**19, 2**30)] == ["12 B", "4 KiB", "1.5 MiB",
        "1 GiB"]  # fmt: skip


@for_each("page", ["#ffffff", "#111111", "#212121"], ids=["light", "dark", "darker"])
def test_full_cells_stand_out_from_an_empty_one_on_light_and_dark_pages(page):
    """Judge: WCAG's relative luminance and contrast of JupyterLab's own page colours."""

    def luminance(colour):
        c = np.array(to_rgb(colour))
        return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ [
            0.2126, 0.7152, 0.0722,
        ]  # fmt: skip

    for colour in make(TRN1, "all_reduce", "rdh").palette():
        low, high = sorted([luminance(colour), luminance(page)])
        assert (high + 0.05) / (low + 0.05) > 1.7, colour
