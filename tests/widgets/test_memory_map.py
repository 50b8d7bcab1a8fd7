"""Judges: the placement, and the PNG signature; no browser."""

import numpy as np
import pytest

from tests.viz.programs import gelu_linear, timed
from tests.viz.test_core_trace import unpack
from trainium_edu.timeline import Timeline
from trainium_edu.widgets.memory_map import memory_map


def test_the_page_gets_every_tile_where_place_put_it():
    core = timed()
    header, arrays = unpack(memory_map(core).film)
    placed = [(t.address, t.row_bytes, t.allocation) for t in core.placement.tiles()]
    found = np.stack([arrays[f"tiles_{n}"] for n in ("address", "bytes", "allocation")], axis=1)
    assert [tuple(row) for row in found.tolist()] == placed
    assert [m["high"] for m in header["memories"]] == [4352, 4096]
    assert len(header["sites"]) == 4


def test_it_shows_memory_only_and_has_no_sliders_unless_asked():
    shown = memory_map(gelu_linear(), buffers=2)
    assert (shown.panels, shown.sliders) == (["memory"], [])
    assert len(memory_map(gelu_linear(), sliders=True).sliders) == 3
    assert repr(shown) == "MemoryMap('gelu_linear', 31 instructions, 11.93 µs)"


def test_a_plain_timeline_has_no_memories():
    with pytest.raises(TypeError, match="no memories"):
        memory_map(Timeline())
