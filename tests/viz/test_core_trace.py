"""Judges: intervals counted by hand, and the packed bytes read back with struct and NumPy."""

import json
import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import raises
from trainium_edu.neuroncore.timing.timeline import levels
from trainium_edu.timeline import Span, Timeline
from trainium_edu.viz.core_trace import trace_of_timeline
from trainium_edu.viz.packing import pack

NAMES = {"u8": "u1", "u16": "u2", "u32": "u4", "i32": "i4", "f32": "f4", "f64": "f8"}


def unpack(data):
    """Read packed bytes as the page does, without the code that wrote them."""
    (size,) = struct.unpack_from("<I", data)
    header = json.loads(data[8 : 8 + size])
    arrays = {
        name: np.frombuffer(data, np.dtype(f"<{NAMES[kind]}"), count, 8 + size + offset)
        for name, (kind, offset, count) in header.pop("arrays").items()
    }
    return header, arrays


def test_arrays_come_back_and_lie_at_multiples_of_eight():
    arrays = {"a": np.arange(3, dtype=np.uint8), "b": np.array([1.5, -2.0]),
              "c": np.arange(5, dtype=np.int32) - 2, "d": np.zeros(0, np.uint16)}  # fmt: skip
    header, back = unpack(pack({"title": "µs → ns"}, arrays))
    assert header == {"title": "µs → ns"}
    for name, values in arrays.items():
        assert back[name].dtype == values.dtype
        assert np.array_equal(back[name], values)
    raw = pack({"x": 1}, arrays)
    (size,) = struct.unpack_from("<I", raw)
    assert size % 8 == 0
    assert all(o % 8 == 0 for _, o, _ in json.loads(raw[8 : 8 + size])["arrays"].values())


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 20)), min_size=1, max_size=30))
def test_steps_count_what_is_open_at_every_moment(intervals):
    start = np.array([s for s, _ in intervals], float)
    end = start + np.array([n for _, n in intervals])
    when, level = levels(start, end)
    for moment in np.arange(0.5, 60.0):
        k = np.searchsorted(when, moment, side="right") - 1
        assert (level[k] if k >= 0 else 0) == int(((start < moment) & (end > moment)).sum())
    assert level[-1] == 0


def test_a_plain_timeline_becomes_a_trace_that_begins_at_zero():
    trace = trace_of_timeline(
        Timeline([Span("DMA queue 10", "b", 150, 300), Span("DMA queue 2", "a", 100, 200),
                  Span("Vector Engine", "tensor_copy", 120, 180)])
    )  # fmt: skip
    assert [t.name for t in trace.tracks] == ["Vector Engine", "DMA queue 2", "DMA queue 10"]
    assert [t.kind for t in trace.tracks] == ["engine", "queue", "queue"]
    assert (trace.rows["start"].tolist(), trace.makespan_ns) == ([0.0, 20.0, 50.0], 200)
    assert trace.words["labels"] == ["a", "tensor_copy", "b"]
    when, level = trace.dma_load()
    assert (when.tolist(), level.tolist()) == ([0.0, 50.0, 100.0, 200.0], [1, 2, 1, 0])
    assert trace.busy_ns(0) == 60


def test_an_empty_timeline_is_a_trace_too():
    header, arrays = unpack(trace_of_timeline(Timeline()).to_bytes(ask=3))
    assert (header["makespan"], header["ask"]) == (0.0, 3)
    assert all(a.size == 0 for a in arrays.values())


def test_what_is_said_of_a_time_is_exact_and_where_it_is_drawn_is_a_float32():
    trace = trace_of_timeline(Timeline([Span("Vector Engine", "x", 0.0, 1 / 3)]))
    _, arrays = unpack(trace.to_bytes())
    assert (arrays["rows_end"][0], arrays["spans_end"][0]) == (1 / 3, np.float32(1 / 3))


def test_the_longest_track_name_order_is_stable():
    spans = [Span(f"DMA queue {q}", "x", 0, 1) for q in (15, 3, 0)]
    spans += [Span("port: Vector/GpSimd on SBUF", "x", 0, 1), Span("Sync Engine", "x", 0, 1)]
    trace = trace_of_timeline(Timeline(spans))
    assert [t.name for t in trace.tracks] == [
        "Sync Engine", "port: Vector/GpSimd on SBUF", "DMA queue 0", "DMA queue 3", "DMA queue 15",
    ]  # fmt: skip


def test_an_array_type_that_the_page_does_not_know_is_an_error():
    raises(KeyError, "", pack, {}, {"a": np.zeros(2, np.complex128)})
