"""A training step packed for the page.  Judges: the spans and bills given, unpacked again."""

import json

import numpy as np
import pytest

from tests.widgets import monitored
from trainium_edu import fabric
from trainium_edu.timeline import Span
from trainium_edu.viz.step_frames import ENGINES, LINKS, MOST_CHIPS, exposed, step_frames

_KINDS = {"u8": np.uint8, "f32": np.float32, "f64": np.float64}


def unpacked(data):
    size = int.from_bytes(data[:4], "little")
    header = json.loads(data[4 : 4 + size])
    for name, (kind, offset, count) in header.pop("arrays").items():
        header[name] = np.frombuffer(data, _KINDS[kind], count, 4 + size + offset)
    return header


@pytest.fixture(scope="module")
def packed():
    sums, topology = monitored.bills()
    spans = [monitored.spans(sums, overlap=overlap) for overlap in (True, False)]
    return sums, topology, spans, step_frames(spans, sums, topology)


def test_both_timelines_come_back_in_order_of_their_starts(packed):
    _, _, spans, data = packed
    found = unpacked(data)
    for name, given in zip(("on", "off"), spans, strict=True):
        rows = sorted(given, key=lambda span: span.start_ns)
        ns = found[f"{name}_ns"].reshape(-1, 2)
        assert ns.tolist() == [[row.start_ns, row.end_ns] for row in rows]
        assert [found["names"][i] for i in found[f"{name}_name"]] == [row.label for row in rows]
        assert (found[f"{name}_track"] == 1).sum() == len(monitored.SIZES)


def test_a_section_is_named_by_its_operations_and_tracks_of_single_engines_are_left_out():
    names = [f"op_{i % 7}" for i in range(20)]
    spans = [Span("engines", "dot+19", 0, 9, {"operations": names, "phases": []}),
             Span("DMA", "dot+19", 0, 2)]  # fmt: skip
    found = unpacked(step_frames([spans, spans]))
    assert found["names"] == ["op 0, op 1, op 2, op 3, op 4 and 2 more"]
    assert len(found["on_name"]) == 1


def test_a_section_of_known_parts_of_a_step_is_named_by_them():
    info = {"operations": ["dot", "fusion"], "phases": ["forward", "backward"]}
    found = unpacked(step_frames([[Span("engines", "dot+1", 0, 9, info)], []]))
    assert found["names"] == ["forward, backward"]


def test_links_carry_what_the_bill_says(packed):
    sums, topology, _, data = packed
    found = unpacked(data)
    assert found["bills"] == [0, 1, 2]
    for k, bill in enumerate(sums):
        carried = found[f"bytes_{k}"].reshape(-1, topology.links)
        np.testing.assert_allclose(carried, bill.link_bytes, rtol=1e-6)
        assert found[f"ends_{k}"][-1] == pytest.approx(bill.time_ns.sum())
    links = found["links"].reshape(-1, 3)
    assert links[:, :2].tolist() == np.stack([topology.src, topology.dst], axis=1).tolist()
    assert (np.sort(links[:, :2], axis=1) == found["wires"].reshape(-1, 2)[links[:, 2]]).all()


def test_equal_bills_travel_once_and_the_payload_stays_small(packed):
    sums, topology, spans, data = packed
    same = step_frames(spans, [sums[0]] * 3, topology)
    assert unpacked(same)["bills"] == [0, 0, 0]
    assert len(same) < len(data) < 40_000


@pytest.mark.parametrize("overlap", [True, False])
def test_exposed_is_when_only_links_work(packed, overlap):
    given = packed[2][0 if overlap else 1]
    moments = np.arange(0, max(span.end_ns for span in given), 250.0) + 1e-3
    busy = {track: np.zeros(len(moments), bool) for track in (ENGINES, LINKS)}
    for span in given:
        busy[span.track] |= (span.start_ns <= moments) & (moments < span.end_ns)
    inside = np.zeros(len(moments), bool)
    for start, end in exposed(given):
        inside |= (start <= moments) & (moments < end)
    assert (inside == busy[LINKS] & ~busy[ENGINES]).all()
    assert inside.any()


def test_less_is_exposed_with_overlap(packed):
    on, off = (np.ptp(exposed(spans), axis=1).sum() for spans in packed[2])
    assert 0 < on < off


def test_a_machine_too_large_to_see_is_left_out():
    _, topology = monitored.bills()
    assert unpacked(step_frames([[], []], [], topology))["chips"] == 16
    many = fabric.ultracluster(MOST_CHIPS + 16)
    assert unpacked(step_frames([[], []], [], many))["chips"] == 0
    assert unpacked(step_frames([[], []]))["chips"] == 0
