"""Judges: intervals counted by hand, and the packed bytes read back with struct and NumPy."""

import json
import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import raises
from trainium_edu.neuroncore.timing.timeline import levels
from trainium_edu.viz.core_trace import CoreTrace, Track, columns_of
from trainium_edu.viz.packing import pack

NAMES = {"u8": "u1", "u16": "u2", "u32": "u4", "i32": "i4", "f32": "f4", "f64": "f8"}


def unpack(data):
    """Read packed bytes as the page does, without the code that wrote them."""
    (size,) = struct.unpack_from("<I", data)
    header = json.loads(data[4 : 4 + size])
    arrays = {
        name: np.frombuffer(data, np.dtype(f"<{NAMES[kind]}"), count, 4 + size + offset)
        for name, (kind, offset, count) in header.pop("arrays").items()
    }
    return header, arrays


def test_arrays_come_back_and_lie_at_multiples_of_eight():
    arrays = {"a": np.arange(3, dtype=np.uint8), "b": np.array([1.5, -2.0]),
              "c": np.arange(5, dtype=np.int32) - 2, "d": np.zeros(0, np.uint16)}  # fmt: skip
    header, back = unpack(pack({"title": "µs → ns"}, arrays))
    assert header == {"title": "µs → ns"}
    for name, values in arrays.items():
        assert back[name].dtype.kind == values.dtype.kind
        assert np.array_equal(back[name], values)
    raw = pack({"x": 1}, arrays)
    (size,) = struct.unpack_from("<I", raw)
    assert (4 + size) % 8 == 0
    assert all(o % 8 == 0 for _, o, _ in json.loads(raw[4 : 4 + size])["arrays"].values())


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 20)), min_size=1, max_size=30))
def test_steps_count_what_is_open_at_every_moment(intervals):
    start = np.array([s for s, _ in intervals], float)
    end = start + np.array([n for _, n in intervals])
    when, level = levels(start, end)
    for moment in np.arange(0.5, 60.0):
        k = np.searchsorted(when, moment, side="right") - 1
        assert (level[k] if k >= 0 else 0) == int(((start < moment) & (end > moment)).sum())
    assert level[-1] == 0


def test_what_is_said_of_a_time_is_exact_and_where_it_is_drawn_is_a_float32():
    times = columns_of("spans", ([0.0], [1 / 3], [0], [0]))
    nothing = {group: columns_of(group) for group in ("waits", "pieces", "tiles")}
    rows = columns_of("rows", ([0.0], [1 / 3], [0], [0], [0]))
    track = Track("Vector Engine", "vector", "engine")
    trace = CoreTrace("a third", 1 / 3, (track,), times, rows, **nothing)
    header, arrays = unpack(trace.to_bytes(ask=3))
    assert (arrays["rows_end"][0], arrays["spans_end"][0]) == (1 / 3, np.float32(1 / 3))
    assert (header["makespan"], header["ask"]) == (1 / 3, 3)


def test_an_array_type_that_the_page_does_not_know_is_an_error():
    raises(KeyError, "", pack, {}, {"a": np.zeros(2, np.complex128)})
