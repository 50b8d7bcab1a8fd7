"""What the model chooses and a compiler may do otherwise.

Judges: closed forms of hand-made programs on two engines; small random programs recompiled by the
passes, engines and buffers themselves, one combination after the other.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.neuroncore.streams import programs, stream
from trainium_edu.neuroncore import (
    Engine,
    NeuronCore,
    band_of,
    choices,
    compare,
    measure,
    optimise,
    parameters,
    place,
    schedule,
    why,
)
from trainium_edu.neuroncore.recording import program_io
from trainium_edu.neuroncore.recording.program import copy_of
from trainium_edu.neuroncore.timing import bands
from trainium_edu.specs import TRN1, Kind, NkiValidationError

ENGINES, MERGES, BUFFERS = (choices(TRN1)[name].group for name in ("engines", "merges", "buffers"))
DOUBTFUL = {n: p for n, p in parameters(TRN1).items() if p.fast != p.slow}
PASSES = [
    (numbering, invariants)
    for numbering in ("value_numbering", "value_numbering_but_tensor")
    for invariants in ("loop_invariants", "loop_invariants_but_tensor")
]
ELSEWHERE = {"tensor_copy": Engine.SCALAR, "tensor_scalar": Engine.SCALAR}


def held(cycles, clock_hz):
    """Return the ns for which an instruction holds its engine: the fixed cycles and its own."""
    return (float(TRN1.cycles.fixed_overhead_cycles) + cycles) / clock_hz * 1e9


VECTOR_HZ, SCALAR_HZ = float(TRN1.vector_engine.clock_hz), float(TRN1.scalar_engine.clock_hz)
RESULT_NS = float(TRN1.timing.vector_result_cycles) / VECTOR_HZ * 1e9


def copies_beside_sums(copies, sums, engine=None, columns=512):
    """Record additions on Vector and copies that name an engine, or none; nothing waits."""
    core = NeuronCore(values=False)
    x = core.sbuf((128, columns))
    for _ in range(sums):
        core.tensor_tensor(dst=core.sbuf((128, columns)), data1=x, data2=x, op="add")
    for _ in range(copies):
        core.tensor_copy(dst=core.sbuf((128, columns)), src=x, engine=engine)
    return measure(core.program, buffers=8, optimise=False)


def test_copies_that_name_no_engine_may_go_to_another_and_the_band_knows_by_how_much():
    """Judge: all on Vector one after the other, or the copies on Scalar beside the sums."""
    timeline = copies_beside_sums(6, 4)
    sums, copies = 4 * held(2 * 512, VECTOR_HZ), 6 * held(512, VECTOR_HZ)
    assert timeline.makespan_ns == pytest.approx(sums + copies + RESULT_NS, abs=0.01)
    low, high = band_of(timeline).effects[ENGINES]
    assert low == pytest.approx(sums + RESULT_NS, abs=0.01)
    assert high == timeline.makespan_ns
    assert band_of(timeline).most == ENGINES
    share = copies / timeline.makespan_ns
    reasons = why(timeline)
    assert reasons.share_by_choice()[ENGINES] == pytest.approx(share, abs=1e-4)
    assert reasons.share_by_kind()[Kind.ASSUMED] == pytest.approx(share, abs=1e-4)
    assert sum(reasons.share_by_kind().values()) == pytest.approx(1)
    assert ENGINES in str(reasons)


def test_an_engine_that_the_kernel_names_is_certain():
    stated = copies_beside_sums(6, 4, "vector")
    assert stated.makespan_ns == copies_beside_sums(6, 4).makespan_ns
    assert ENGINES not in band_of(stated).effects
    assert why(stated).share_by_kind()[Kind.ASSUMED] == 0
    assert why(stated).share_by_kind()[Kind.DOCUMENTED] > 0.9


def test_products_with_numbers_and_clearing_may_go_elsewhere_and_other_operators_may_not():
    """Judge: the engines that the instruction set has for each: three at once, or one by one."""
    core = NeuronCore(values=False)
    x, bank = core.sbuf((128, 512)), core.psum((128, 512))
    core.tensor_tensor(dst=core.sbuf((128, 512)), data1=x, data2=x, op="add")
    for op0, op1 in (("multiply", "add"), ("add", None), ("max", None), ("add", "multiply")):
        core.tensor_scalar(dst=core.sbuf((128, 512)), data=x, op0=op0, operand0=2.0, op1=op1,
                           operand1=op1 and 1.0)  # fmt: skip
    core.memset(dst=core.sbuf((128, 512)), value=0.0)
    core.memset(dst=bank, value=0.0)
    timeline = measure(core.program, buffers=8, optimise=False)
    everything = timeline.makespan_ns - RESULT_NS
    left = everything - 2 * held(512, VECTOR_HZ) - held(512, VECTOR_HZ)
    low, high = band_of(timeline).effects[ENGINES]
    assert everything == pytest.approx(held(1024, VECTOR_HZ) + 6 * held(512, VECTOR_HZ), abs=0.1)
    assert (low, high) == pytest.approx((left + RESULT_NS, timeline.makespan_ns), abs=0.1)


def repeated(times, count=1):
    """Record the same product `times` times, in a loop of `count` turns."""
    core = NeuronCore(values=False)
    x = core.sbuf((128, 512), "bfloat16")
    with core.repeat(count):
        for _ in range(times):
            core.nc_matmul(dst=core.psum((128, 512)), moving=x,
                           stationary=x.sliced(slice(0, 128), slice(0, 128)))  # fmt: skip
    return core.program


@pytest.mark.parametrize(("times", "count", "most"), [(5, 1, 5), (1, 7, 7), (2, 4, 8)])
def test_what_the_compiler_may_merge_moves_the_band(times, count, most):
    """Judge: one product if all are merged, all of them back to back if none is."""
    timeline = measure(repeated(times, count), buffers=8)
    low, high = band_of(timeline).effects[MERGES]
    assert low == timeline.makespan_ns
    each = 512 / float(TRN1.tensor_engine.clock_hz) * 1e9
    assert high - low == pytest.approx((most - 1) * each, abs=0.01)
    for passes in PASSES:
        stated = measure(repeated(times, count), optimise=passes, buffers=8)
        assert stated.makespan_ns in band_of(timeline)
        assert MERGES not in band_of(stated).effects


def test_repeated_arithmetic_is_merged_for_certain():
    """Judge: AWS's times of Mamba's v2 and v3, which repeat one product for each of 16 states."""
    core = NeuronCore(values=False)
    x = core.sbuf((128, 512))
    for _ in range(5):
        core.tensor_tensor(dst=core.sbuf((128, 512)), data1=x, data2=x, op="multiply")
    timeline = measure(core.program)
    assert timeline.makespan_ns == pytest.approx(held(1024, VECTOR_HZ) + RESULT_NS, abs=0.01)
    assert MERGES not in band_of(timeline).effects


def test_who_got_buffers_moves_the_band_unless_they_were_stated():
    """Judge: ``place`` with two and with eight buffers."""
    program = stream(16, 1024, 1)
    timeline = schedule(program, place(program))
    others = [schedule(program, place(program, buffers=n)).makespan_ns for n in (2, 4, 8)]
    assert band_of(timeline).effects[BUFFERS] == (min(others), max(others))
    assert others[0] > timeline.makespan_ns
    share = others[0] / timeline.makespan_ns - 1
    assert why(timeline).share_by_choice()[BUFFERS] == pytest.approx(share)
    stated = schedule(program, place(program, buffers=4))
    assert BUFFERS not in band_of(stated).effects
    assert why(stated).share_by_choice() == {}


def test_where_sbuf_is_full_the_largest_may_give_way_to_those_without_a_second_buffer():
    """Judge: ``place`` asked for one buffer of the largest site and four of the others."""
    core = NeuronCore(values=False)
    x = core.hbm((128, 12 * 10240))
    for k in range(12):
        part = slice(10240 * k, 10240 * (k + 1))
        loaded = core.sbuf((128, 10240), name="loaded")
        other = core.sbuf((128, 10240), name="other")
        small = core.sbuf((128, 5120), name="small")
        core.dma_copy(dst=loaded, src=x.sliced(slice(0, 128), part))
        core.activation(dst=other, data=loaded, op="exp")
        core.tensor_scalar(dst=small, data=other.sliced(slice(0, 128), slice(0, 5120)),
                           op0="multiply", operand0=2.0)  # fmt: skip
        core.dma_copy(dst=x.sliced(slice(0, 128), slice(part.start, part.start + 5120)), src=small)
    timeline = schedule(core.program, place(core.program))
    sites = timeline.placement.sites
    assert any(site.slots < min(2 * site.alive, site.tiles) for site in sites)
    name = max(sites, key=lambda site: (site.slots - site.alive) * site.row_bytes).name
    turned = schedule(core.program, place(core.program, buffers={name: 1})).makespan_ns
    low, high = band_of(timeline).effects[BUFFERS]
    assert low <= turned <= high
    assert low < high


def test_what_does_not_fit_is_no_alternative():
    """Judge: without merging, nine sums of one bank each would have to live in eight banks."""
    core = NeuronCore(values=False)
    x, out = core.sbuf((128, 512), "bfloat16"), core.sbuf((128, 8))
    sums = [core.psum((128, 512)) for _ in range(9)]
    for y in sums:
        core.nc_matmul(dst=y, moving=x, stationary=x.sliced(slice(0, 128), slice(0, 128)))
    for y in sums:
        core.tensor_tensor(dst=out, data1=out, op="add",
                           data2=y.sliced(slice(0, 128), slice(0, 8)))  # fmt: skip
    timeline = measure(core.program)
    assert band_of(timeline).effects[MERGES] == (timeline.makespan_ns, timeline.makespan_ns)
    with pytest.raises(NkiValidationError):
        measure(core.program, optimise=False)


def _recompiled(recorded):
    """Yield the program under every combination of passes, engines and buffers that fits."""
    for passes, where, buffers in product(PASSES, ("as is", "elsewhere", "in turns"), (None, 2, 8)):
        program = copy_of(optimise(recorded, passes).program)
        turn = dict.fromkeys(ELSEWHERE, where == "elsewhere")
        for i in program.instructions:
            options = dict(i.options)
            if where == "as is" or i.name not in ELSEWHERE or not i.is_free:
                continue
            if i.name == "tensor_scalar" and not {options["op0"], options["op1"]} <= {
                "multiply", "add", None,
            }:  # fmt: skip
                continue
            if turn[i.name]:
                program.instructions[i.index] = replace(i, engine=ELSEWHERE[i.name])
            turn[i.name] ^= where == "in turns"
        yield schedule(program, place(program, buffers=buffers))


@settings(max_examples=25, deadline=None)
@given(programs, st.lists(st.floats(0, 1), min_size=len(DOUBTFUL), max_size=len(DOUBTFUL)))
def test_every_combination_of_choices_and_numbers_lies_in_the_band(recorded, shares):
    timeline = measure(recorded)
    found = band_of(timeline)
    assert found.is_exhaustive
    assert found.low_ns <= found.nominal_ns <= found.high_ns
    drawn = {n: p.fast + s * (p.slow - p.fast)
             for (n, p), s in zip(DOUBTFUL.items(), shares, strict=True)}  # fmt: skip
    for other in _recompiled(recorded):
        timed = schedule(other.program, other.placement, parameters=drawn, order=other.order)
        assert timed.makespan_ns in found
        assert other.makespan_ns in found


@settings(max_examples=10, deadline=None)
@given(programs)
def test_one_choice_after_the_other_stays_inside_and_says_so(recorded):
    whole = band_of(measure(recorded))
    before, bands._MOST_ROWS = bands._MOST_ROWS, 0
    try:
        found = band_of(measure(recorded))
    finally:
        bands._MOST_ROWS = before
    assert whole.low_ns <= found.low_ns <= found.nominal_ns <= found.high_ns <= whole.high_ns
    for low, high in found.effects.values():
        assert found.low_ns <= low <= high <= found.high_ns


def test_choices_move_together_in_both_versions():
    """Judge: whatever engine copies, six of them take three times as long as two (and a result)."""
    six, two = copies_beside_sums(6000, 0), copies_beside_sums(2000, 0)
    assert band_of(six).high_ns > 1.2 * band_of(six).low_ns
    ratio = compare(six, two)
    assert (ratio.low, ratio.high) == pytest.approx((3, 3), rel=1e-3)


def test_a_program_that_grew_after_it_was_timed_keeps_its_band():
    for time in (measure, lambda p: schedule(p, place(p))):
        core = NeuronCore(values=False)
        x, y = core.sbuf((128, 512)), core.sbuf((128, 512))
        for _ in range(2):
            core.tensor_copy(dst=y, src=x)
            core.tensor_tensor(dst=y, data1=x, data2=y, op="add")
        alone, timeline = band_of(time(copy_of(core.program))), time(core.program)
        with core.repeat(50):
            core.tensor_copy(dst=core.sbuf((128, 512)), src=x)
        assert band_of(timeline) == alone


def test_a_saved_program_keeps_what_was_left_to_the_model():
    for engine in (None, "vector"):
        core = NeuronCore(values=False)
        core.tensor_copy(dst=core.sbuf((128, 64)), src=core.sbuf((128, 64)), engine=engine)
        core.activation(dst=core.sbuf((128, 64)), data=core.sbuf((128, 64)), op="exp")
        again = program_io.from_bytes(program_io.to_bytes(core.program), "saved")
        assert [i.is_free for i in again.instructions] == [engine is None, True]
        assert band_of(measure(again)) == band_of(measure(core.program))


def test_one_placement_is_recompiled_once_for_all_timings():
    program = stream(8)
    placement = place(program)
    first, second = (
        schedule(program, placement, parameters={"dma_start_ns": ns}) for ns in (1300.0, 2000.0)
    )
    times = bands.Times(first)
    again = bands.Times(second, variants=times.variants)
    assert again.variants is times.variants
    assert again.band == band_of(second)
    assert np.array_equal(first.placement.address, second.placement.address)


def test_choices_print():
    assert str(choices(TRN1)["engines"]) == (
        "engines = 'as recorded', or 'vector', 'elsewhere', 'in turns'"
    )
