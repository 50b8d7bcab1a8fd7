"""How sure a time is.  Judge: any setting of the doubtful numbers, drawn between their ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.neuroncore.streams import programs, stream
from trainium_edu.neuroncore import Band, band, parameters, place, schedule, tie
from trainium_edu.specs import TRN1

DOUBTFUL = {n: p for n, p in parameters(TRN1).items() if p.fast != p.slow}


@given(programs, st.lists(st.floats(0, 1), min_size=len(DOUBTFUL), max_size=len(DOUBTFUL)))
def test_every_setting_between_the_ends_lies_in_the_band(program, shares):
    tl = schedule(program, place(program))
    found = tl.band
    drawn = {n: p.fast + s * (p.slow - p.fast)
             for (n, p), s in zip(DOUBTFUL.items(), shares, strict=True)}  # fmt: skip
    timed = schedule(program, tl.placement, parameters=drawn, order=tl.order)
    assert timed.makespan_ns in found
    assert found.low_ns <= found.nominal_ns <= found.high_ns


@given(programs)
def test_no_group_alone_leaves_the_band(program):
    found = band(program, place(program))
    for low, high in found.effects.values():
        assert found.low_ns <= low <= found.nominal_ns <= high <= found.high_ns


def test_groups_move_together_and_the_widest_comes_first():
    program = stream(8, 64, 1)
    found = band(program, place(program, buffers=4))
    widths = [high - low for low, high in found.effects.values()]
    assert widths == sorted(widths, reverse=True)
    assert found.most == next(iter(found.effects))
    assert set(found.effects) == {p.group for p in DOUBTFUL.values()}
    assert found.most.startswith("DMA ")


def test_what_the_user_states_is_certain():
    program = stream(8)
    placement = place(program)
    free = band(program, placement)
    stated = band(program, placement, parameters={"dma_start_ns": 1500.0})
    assert "DMA start" in free.effects
    assert "DMA start" not in stated.effects


def test_work_on_documented_formulas_alone_is_nearly_certain():
    program = stream(1, 8192, 64)
    found = band(program, place(program))
    assert (found.high_ns - found.low_ns) / found.nominal_ns < 0.06


def test_overlapping_bands_are_a_tie():
    a, b, c = (Band(low, low + 1, low + 2, {}) for low in (0.0, 1.5, 3.0))
    assert tie(a, b)
    assert tie(b, a)
    assert not tie(a, c)
    program = stream(32)
    one, two = (schedule(program, place(program, buffers=n)) for n in (1, 2))
    assert tie(one, one)
    assert not tie(one, two)


def test_a_band_prints():
    program = stream(4)
    text = str(band(program, place(program)))
    assert text.count("us") == 1
    assert "matters most" in text
    assert str(Band(1000.0, 1000.0, 1000.0, {})) == "1.00 us, between 1.00 and 1.00"
    with pytest.raises(AttributeError):
        tie(1, 2)
