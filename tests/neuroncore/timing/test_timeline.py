"""What a timeline says of a program.  Judges: sums by hand, and the arrays it was made from."""

from itertools import pairwise

import pytest
from hypothesis import given

from tests.for_each import raises
from tests.neuroncore.streams import programs, stream
from trainium_edu.neuroncore import Engine, Memory, NeuronCore, measure, place, schedule


def matmul(dtype="bfloat16", count=8):
    core = NeuronCore(values=False)
    x = core.hbm((128, 512), dtype, name="x")
    y = core.hbm((128, 512), name="y")
    w, moving = core.sbuf((128, 128), dtype), core.sbuf((128, 512), dtype)
    out = core.sbuf((128, 512))
    core.dma_copy(dst=w, src=x.sliced(slice(0, 128), slice(0, 128)))
    core.dma_copy(dst=moving, src=x)
    bank = core.psum((128, 512))
    for _ in range(count):
        core.nc_matmul(dst=bank, stationary=w, moving=moving)
    core.activation(dst=out, op="copy", data=bank)
    core.dma_copy(dst=y, src=out)
    return measure(core.program, optimise=False)


@given(programs)
def test_busy_and_waiting_add_up_to_the_makespan_exactly(program):
    tl = schedule(program, place(program))
    for engine in Engine:
        assert sum(tl.waiting(engine).values()) == tl.idle_ns(engine) or engine is Engine.DMA
        assert tl.busy_ns(engine) + tl.idle_ns(engine) == tl.makespan_ns


@given(programs)
def test_spans_are_the_arrays_and_never_overlap_on_a_track(program):
    tl = schedule(program, place(program))
    spans = tl.timeline.spans
    for track in tl.timeline.tracks:
        for a, b in pairwise(tl.timeline.on(track)):
            assert a.end_ns <= b.start_ns
    for engine in Engine:
        if engine is not Engine.DMA:
            mine = tl.timeline.on(engine.title)
            assert [s.start_ns for s in mine] == tl.start_ns[tl.rows_on(engine)].tolist()
            assert sum(s.duration_ns for s in mine) == tl.busy_ns(engine)
    moved = sum(s.duration_ns for s in spans if s.track.startswith("DMA queue"))
    share = tl.queue_start_ns >= 0
    assert moved == (tl.queue_end_ns - tl.queue_start_ns)[share].sum()


def test_an_engine_shows_busy_until_its_result_is_there_or_its_next_instruction(timed):
    a, b = timed.sbuf((128, 512)), timed.sbuf((128, 512))
    timed.tensor_copy(dst=a, src=a)
    timed.tensor_copy(dst=b, src=b)
    tl = schedule(timed.program, place(timed.program))
    assert tl.end_ns[0] == tl.start_ns[1] == tl.release_ns[0]
    assert tl.end_ns[1] == tl.done_ns[1] == tl.makespan_ns


def test_bytes_flops_and_intensity_by_hand():
    tl = matmul(count=8)
    loaded, stored = 128 * 128 * 2 + 128 * 512 * 2, 128 * 512 * 4
    assert (tl.bytes[Memory.HBM].read, tl.bytes[Memory.HBM].written) == (loaded, stored)
    assert tl.bytes[Memory.PSUM].written == 8 * 128 * 512 * 4
    assert tl.flops == 8 * 2 * 128 * 128 * 512
    assert tl.roofline().intensity == tl.flops / (loaded + stored)
    peak = 128 * 128 * 2 * 2.8e9
    assert tl.mfu == pytest.approx(tl.flops / (tl.makespan_ns * 1e-9) / peak)


def test_roofline_has_the_published_ridge_and_names_the_bound():
    few, many = matmul(count=1).roofline(), matmul(count=200).roofline()
    assert few.ridge == pytest.approx(222, rel=0.01)  # the matmul tutorial's figure
    assert (few.bound, many.bound) == ("memory", "compute")
    for r in (few, many):
        assert r.achieved_flops < r.attainable_flops <= r.peak_flops
        assert r.makespan_ns > max(r.compute_ns, r.memory_ns)
    assert few.dma_ns > few.memory_ns  # 16 queues sustain less than half of HBM's 820 GB/s


def test_without_matmuls_or_transfers_nothing_divides_by_zero(timed):
    timed.memset(dst=timed.sbuf((128, 64)), value=0.0)
    tl = measure(timed.program)
    assert (tl.flops, tl.mfu, tl.roofline().intensity, tl.hbm_bytes) == (0, 0.0, 0.0, 0)
    assert tl.roofline().achieved_flops == 0


def test_loops_count_as_often_as_they_run():
    written, looped = (measure(stream(12, looped=looped)) for looped in (False, True))
    assert written.bytes[Memory.HBM] == looped.bytes[Memory.HBM]
    assert written.rows == looped.rows == 12 * 5
    assert len(looped.program) == 5


def test_a_timeline_prints_as_readable_text():
    tl = matmul()
    text = str(tl)
    for words in ("12 instructions in", "Tensor Engine", "busy", "DMA", "HBM", "MFU", "-bound",
                  "not counted: 18 to 19 us (measured) to start and stop a kernel"):  # fmt: skip
        assert words in text
    assert repr(tl).startswith("CoreTimeline('program', 12 instructions")


def test_spans_tell_line_instruction_bytes_and_what_was_waited_for():
    tl = matmul()
    span = tl.timeline.on("Scalar Engine")[0]
    assert span.label == "activation"
    assert span.info["line"].startswith("test_timeline.py:")
    assert span.info["waits"] == "operands from the Tensor Engine"
    queue = tl.timeline.on("DMA queue 0")[0]
    assert (queue.info["bytes"], queue.info["issued_ns"]) == (128 * 128 * 2, 0)
    assert "port: Vector/Scalar on PSUM" not in tl.timeline.tracks  # Vector never asked for it


def test_waiting_names_reasons_the_longest_first():
    tl = matmul()
    waits = tl.waiting("tensor")
    assert next(iter(waits)) in ("operands from a transfer", "nothing left to do")
    assert list(waits.values()) == sorted(waits.values(), reverse=True)
    assert tl.waiting("gpsimd") == {"nothing to do": tl.makespan_ns}


def test_measure_takes_passes_by_name_and_runs_them_by_default(timed):
    a, b, c = (timed.sbuf((128, 64)) for _ in range(3))
    timed.memset(dst=a, value=1.0)
    timed.tensor_tensor(dst=b, data1=a, data2=a, op="add")
    timed.tensor_tensor(dst=c, data1=a, data2=a, op="add")
    assert measure(timed.program).rows == 2
    assert measure(timed.program, optimise=False).rows == 3
    assert (measure(timed.program, optimise=("algebra",)).rows, len(timed.program)) == (2, 3)


def test_unknown_engine_raises():
    raises(ValueError, "fpga", matmul().busy_ns, "fpga")
