"""How sure a time is, and what two of them allow one to say.

Judges: any setting of the doubtful numbers, drawn between their ends; closed forms of chains of
instructions; corners of small random programs, timed one by one.  What published kernels add to a
band is another thing, and judged at the end.
"""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trainium_edu.neuroncore as nc
from tests.for_each import for_rows, raises
from tests.neuroncore.streams import programs, stream
from trainium_edu.neuroncore.timing import bands
from trainium_edu.neuroncore.timing.bands import Times, bound_by
from trainium_edu.neuroncore.timing.durations import settle
from trainium_edu.specs import TRN1


@pytest.fixture(autouse=True, scope="module")
def documents_alone():
    """Leave out what published kernels add: what documents leave open is judged here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bands, "spread", lambda kind, left_out="": (1.0, 1.0))
        yield


DOUBTFUL = {n: p for n, p in nc.parameters(TRN1).items() if p.fast != p.slow and not p.only}


@given(programs, st.lists(st.floats(0, 1), min_size=len(DOUBTFUL), max_size=len(DOUBTFUL)))
def test_every_setting_between_the_ends_lies_in_the_band(program, shares):
    tl = nc.schedule(program, nc.place(program))
    found = nc.band_of(tl)
    drawn = {n: p.fast + s * (p.slow - p.fast)
             for (n, p), s in zip(DOUBTFUL.items(), shares, strict=True)}  # fmt: skip
    timed = nc.schedule(program, tl.placement, parameters=drawn, order=tl.order)
    assert timed.makespan_ns in found
    assert found.low_ns <= found.nominal_ns <= found.high_ns


@given(programs)
def test_no_group_alone_leaves_the_band(program):
    found = nc.band(program, nc.place(program))
    for low, high in found.effects.values():
        assert found.low_ns <= low <= found.nominal_ns <= high <= found.high_ns


def test_groups_move_together_and_the_widest_comes_first():
    program = stream(8, 64, 1)
    found = nc.band(program, nc.place(program, buffers=4))
    widths = [high - low for low, high in found.effects.values()]
    assert (widths, found.most) == (sorted(widths, reverse=True), next(iter(found.effects)))
    assert {*found.effects} - {p.group for p in DOUBTFUL.values()} == {
        "published kernels bound by DMA in short rows"
    }
    assert found.most.startswith("DMA ")


def test_what_the_user_states_is_certain():
    program = stream(8)
    placement = nc.place(program)
    free = nc.band(program, placement)
    stated = nc.band(program, placement, parameters={"dma_start_ns": 1500.0})
    assert "DMA start" in free.effects
    assert "DMA start" not in stated.effects


def test_work_on_documented_formulas_alone_is_nearly_certain():
    program = stream(1, 8192, 64)
    found = nc.band(program, nc.place(program))
    assert (found.high_ns - found.low_ns) / found.nominal_ns < 0.06


# -- two versions -----------------------------------------------------------------------------


def chain(links, columns=64):
    """Time instructions that wait for each other: Vector, Scalar, Vector, Scalar, ..."""
    core = nc.NeuronCore(values=False)
    x, y = core.sbuf((128, columns)), core.sbuf((128, columns))
    for _ in range(links):
        core.tensor_scalar(dst=y, data=x, op0="add", operand0=1.0, engine="vector")
        core.activation(dst=x, data=y, op="exp")
    return nc.measure(core.program)


def link_ns(columns, ends=()):
    """Return what one link takes: two overheads, two passes over the columns, two results."""
    ends = dict(ends)
    values = settle(
        TRN1, {n: getattr(p, ends[p.group]) for n, p in DOUBTFUL.items() if p.group in ends}
    )
    return sum(
        (values["fixed_cycles"] + values["work_factor"] * columns
         + values[f"{engine}_result_cycles"]) / values[f"{engine}_clock_hz"] * 1e9
        for engine in ("vector", "scalar")
    )  # fmt: skip


CORNERS = [
    tuple(zip(("fixed overhead", "instruction formulas", "result latency"), ends, strict=True))
    for ends in product(("fast", "slow"), repeat=3)
]


def test_what_two_versions_assume_together_cancels_to_the_last_bit():
    """Judge: n links take n times as long as one, whatever each of its parts takes."""
    twelve, four = chain(12), chain(4)
    assert nc.band_of(twelve).low_ns == pytest.approx(12 * min(link_ns(64, c) for c in CORNERS))
    assert nc.band_of(twelve).high_ns == pytest.approx(12 * max(link_ns(64, c) for c in CORNERS))
    assert nc.band_of(twelve).high_ns > 1.2 * nc.band_of(twelve).low_ns
    ratio = nc.compare(twelve, four)
    assert (ratio.low, ratio.nominal, ratio.high) == (3, 3, 3)
    assert not ratio.is_tie
    assert nc.compare(four, four).is_tie


def test_the_ratio_is_that_of_the_closed_forms_at_the_worst_corners():
    """Judge: (fixed + 64 + result) / (fixed + 512 + result) at every end of the three."""
    expected = [link_ns(64, c) / link_ns(512, c) for c in CORNERS]
    short, long = chain(6, 64), chain(6, 512)
    ratio = nc.compare(short, long)
    assert (ratio.low, ratio.high) == pytest.approx((min(expected), max(expected)), rel=1e-6)
    assert ratio.nominal == pytest.approx(link_ns(64) / link_ns(512), rel=1e-6)
    turned = nc.compare(long, short)
    assert (1 / turned.high, 1 / turned.low) == pytest.approx((ratio.low, ratio.high))
    assert next(iter(ratio.effects)) == ratio.most == "result latency"
    apart = (
        nc.band_of(short).low_ns / nc.band_of(long).high_ns,
        nc.band_of(short).high_ns / nc.band_of(long).low_ns,
    )
    assert ratio.high - ratio.low < 0.8 * (apart[1] - apart[0])


def test_overlapping_bands_may_still_be_told_apart():
    """Judge: 15 links take less than 16, though nobody knows how long a link takes."""
    a, b = chain(16), chain(15)
    assert nc.band_of(a).low_ns < nc.band_of(b).high_ns
    assert nc.band_of(a).high_ns >= nc.band_of(b).low_ns
    assert nc.band_of(b).high_ns >= nc.band_of(a).low_ns
    assert not nc.compare(a, b).is_tie
    assert nc.compare(a, b).low == 16 / 15


def test_a_tie_is_where_the_ratio_may_be_one():
    """Judge: so many short links against so many long ones, by the closed forms of both."""
    found = []
    for n, m in ((12, 8), (7, 4), (9, 5), (2, 1)):
        ratios = [n * link_ns(64, c) / (m * link_ns(256, c)) for c in CORNERS]
        found.append(min(ratios) <= 1 <= max(ratios))
        assert nc.compare(chain(n, 64), chain(m, 256)).is_tie == found[-1]
    assert set(found) == {True, False}


GROUPS = sorted({p.group for p in DOUBTFUL.values()})


def _time_at(timeline, ends):
    """Return a makespan with every group at an end."""
    moved = {n: getattr(p, ends[p.group]) for n, p in DOUBTFUL.items()}
    return nc.schedule(
        timeline.program, timeline.placement, parameters=moved, order=timeline.order
    ).makespan_ns


corners = st.fixed_dictionaries({group: st.sampled_from(("fast", "slow")) for group in GROUPS})


@settings(max_examples=8, deadline=None)
@given(programs, programs, st.lists(corners, min_size=20, max_size=20))
def test_no_corner_of_both_together_leaves_the_ratio_by_more_than_a_twentieth(a, b, drawn):
    """Groups are moved in turn, which is exact for sums, and near for what overlaps."""
    one, two = (nc.schedule(p, nc.place(p)) for p in (a, b))
    if not one.makespan_ns or not two.makespan_ns:
        raises(ValueError, "takes no time", nc.compare, one, two)
        return
    ratio = nc.compare(one, two)
    for ends in drawn:
        assert 0.95 * ratio.low <= _time_at(one, ends) / _time_at(two, ends) <= 1.05 * ratio.high
    for low, high in ratio.effects.values():
        assert ratio.low <= low <= ratio.nominal <= high <= ratio.high
    assert ratio.nominal == one.makespan_ns / two.makespan_ns


def test_kernels_that_follow_one_another_are_compared_as_one():
    four, eight = chain(4), chain(8)
    assert (nc.compare((four, four), eight).low, nc.compare((four, four), eight).high) == (1, 1)


@for_rows("wrong", 1, None, (), "run", (1,))
def test_what_is_no_run_is_refused(wrong):
    raises(TypeError, r"takes what nki\.run or measure returned", nc.compare, wrong, chain(1))


def test_bands_and_ratios_print():
    program = stream(4)
    text = str(nc.band(program, nc.place(program)))
    assert text.count("us") == 1
    assert "matters most" in text
    assert str(nc.Band(1000.0, 1000.0, 1000.0, {})) == "1.00 us, between 1.00 and 1.00"
    raises(TypeError, r"compare takes what nki\.run", nc.compare, 1, 2)
    assert str(nc.compare(chain(4), chain(2))) == "2.00 x as fast, between 2.00 and 2.00"
    assert str(nc.compare(chain(2), chain(2))).endswith("between 1.00 and 1.00: a tie")


# -- what published kernels add ------------------------------------------------------------------


def loads(count, columns):
    """Time loads of parts of rows, so that no two are neighbours in HBM."""
    core = nc.NeuronCore(values=False)
    source = core.hbm((128, 2 * columns))
    for _ in range(count):
        core.dma_copy(dst=core.sbuf((128, columns)), src=source.sliced(slice(None), slice(columns)))
    return nc.measure(core.program)


def vector(columns):
    core = nc.NeuronCore(values=False)
    tile = core.sbuf((128, columns))
    for _ in range(8):
        core.tensor_tensor(dst=tile, data1=tile, data2=tile, op="add")
    return nc.measure(core.program)


def test_what_bounds_a_program_is_what_it_was_written_for():
    assert bound_by(loads(512, 64)) == "DMA in short rows"
    assert bound_by(loads(256, 2048)) == "DMA in long rows"
    assert bound_by(vector(512)) == "the Vector Engine"
    assert bound_by(chain(4)) == "several engines"
    assert bound_by(nc.measure(nc.NeuronCore(values=False).program)) == "several engines"


SEEN = {"the Vector Engine": (0.8, 1.3), "DMA in short rows": (0.5, 1.1)}


@pytest.fixture
def seen(monkeypatch):
    monkeypatch.setattr(bands, "spread", lambda kind, left_out="": SEEN.get(kind, (1.0, 1.0)))


@pytest.mark.usefixtures("seen")
def test_a_band_is_as_wide_as_the_wider_of_two_reasons():
    """Judge: the factors themselves; and ends of parameters, which the other tests judge."""
    ns = vector(512).makespan_ns
    found = nc.band_of(vector(512))
    assert (found.low_ns, found.high_ns) == pytest.approx((0.8 * ns, 1.3 * ns))
    group = "published kernels bound by the Vector Engine"
    assert (found.effects[group], found.most) == ((found.low_ns, found.high_ns), group)
    assert found.wider == f"how far predictions of {group} were off"
    line = str(nc.why(vector(512), Times(vector(512)))).splitlines()[-1]
    assert line == (f"  between {found.low_ns:.1f} and {found.high_ns:.1f} ns: {found.wider}")
    assert nc.band_of(chain(4)).wider == "what documents leave open"


@pytest.mark.usefixtures("seen")
def test_kernels_bound_by_the_same_are_off_by_the_same_factor_and_others_are_not():
    same = nc.compare(vector(1024), vector(512))
    assert 1.5 < same.low < same.nominal < same.high < 2.0
    other = nc.compare(vector(1024), loads(512, 64))
    ns, groups = other.nominal, [f"published kernels bound by {kind}" for kind in SEEN]
    assert other.effects[groups[0]] == pytest.approx((0.8 * ns, 1.3 * ns))
    assert other.effects[groups[1]] == pytest.approx((ns / 1.1, ns / 0.5))
    assert other.low <= np.exp(-np.hypot(np.log(0.8), np.log(1.1))) * ns
    assert np.exp(np.hypot(np.log(1.3), np.log(0.5))) * ns <= other.high < 1.3 / 0.5 * ns
