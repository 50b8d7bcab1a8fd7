"""What a warning says that a habit costs.  Judge: the schedule of the kernel with its remedy."""

import linecache

import ml_dtypes
import numpy as np
import pytest

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_each
from tests.nki.cases import stored
from trainium_edu.neuroncore.advice.costs import Cost, Costing, WhatIf
from trainium_edu.neuroncore.timing.causes import without
from trainium_edu.nki.examples import matmul
from trainium_edu.nki.examples.vector_add import add_rows, add_tiles

BF16 = ml_dtypes.bfloat16
WIDE = np.ones((128, 8192), np.float32)
SQUARE = np.ones((256, 512), np.float32)
PRODUCT = np.ones((128, 512), BF16)
BLOCKS = [np.ones((1024, 1024), BF16)] * 2


def load(x, part):
    tile = nl.ndarray((128, part.size), x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[:, part])  # the helper's load
    return tile


@nki.jit
def double(x, columns):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    for start in range(0, x.shape[1], columns):
        part = nl.ds(start, columns)
        tile = load(x, part)
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
        nisa.dma_copy(dst=out[:, part], src=tile)  # the store
    return out


@nki.jit
def add_bias(x, b, where):
    """Load the bias again in every turn, or once."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    bias = load(b, nl.ds(0, 1024)) if where == "outside" else None
    for start in range(0, x.shape[1], 1024):
        part = nl.ds(start, 1024)
        tile = load(x, part)
        here = bias or load(b, nl.ds(0, 1024))  # again and again
        nisa.tensor_tensor(dst=tile, data1=tile, data2=here, op=nl.add)
        nisa.dma_copy(dst=out[:, part], src=tile)
    return out


@nki.jit
def scale_often(x, times):
    tile = nl.load(x)
    for _ in range(times):
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=1.5)  # narrow or not
    return stored(tile, x.dtype)


@nki.jit
def sum_columns(x, is_turned):
    """Add up along an axis of 64 that is walked with a stride of 64 elements, or of one."""
    cube = nl.load(x).reshape((128, 64, 64))
    sums = nl.ndarray((128, 64), nl.float32, buffer=nl.sbuf)
    for _ in range(6):
        data = cube.permute((0, 2, 1)) if is_turned else cube
        nisa.tensor_reduce(dst=sums, op=nl.add, data=data, axis=2)  # strided or not
    return stored(sums, nl.float32)


@nki.jit
def products(x, dtype, times):
    tile = nl.ndarray(x.shape, dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    sums = nl.ndarray((128, 512), nl.float32, buffer=nl.psum)
    for _ in range(times):
        nisa.nc_matmul(dst=sums, stationary=tile[:, 0:128], moving=tile)  # four passes or one
    return stored(nl.copy(sums), nl.float32)


def product_into(sums, tile):
    left = tile[:, 0:128]
    nisa.nc_matmul(dst=sums, stationary=left, moving=tile, accumulate=False)  # the product


@nki.jit
def maxima(x, count, where):
    """Multiply into one bank for all turns, or let banks take turns."""
    tile = nl.load(x)
    most = nl.ndarray((128, count), nl.float32, buffer=nl.sbuf)
    sums = nl.ndarray((128, 512), nl.float32, buffer=nl.psum)
    for k in range(count):
        if where == "inside":
            sums = nl.ndarray((128, 512), nl.float32, buffer=nl.psum)
        product_into(sums, tile)
        nisa.tensor_reduce(dst=most[:, k : k + 1], op=nl.maximum, data=sums, axis=1)
    return stored(most, nl.float32)


@nki.jit
def add_up(x, where, times=1):
    """Load every piece into one tile, into tiles of their own, or into two addresses."""
    total = nl.zeros((128, 1024), nl.float32, buffer=nl.sbuf)
    tile = nl.ndarray((128, 1024), x.dtype, buffer=nl.sbuf)
    for k, start in enumerate(range(0, x.shape[1], 1024)):
        if where == "inside":
            tile = nl.ndarray((128, 1024), x.dtype, buffer=nl.sbuf)
        elif where != "outside":
            place = (0, 32768 + 4096 * (k % where))
            tile = nl.ndarray((128, 1024), x.dtype, buffer=nl.sbuf, address=place)
        nisa.dma_copy(dst=tile, src=x[:, nl.ds(start, 1024)])  # into its place
        for _ in range(times):
            nisa.tensor_tensor(dst=total, data1=total, data2=tile, op=nl.add)
    out = nl.ndarray(total.shape, nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=total)
    return out


def run(kernel, *given, **options):
    return lambda: nki.run(kernel, *given, **options)


# kind, the kernel with the habit, with the remedy, and what stands on the warnings' lines
HABITS = [
    ("small transfers", run(double, WIDE, 64), run(double, WIDE, 1024), "the helper", "the store"),
    ("small transfers", run(double, WIDE, 128), run(double, WIDE, 1024), "the helper", "the store"),
    ("repeated loads", run(add_bias, WIDE, WIDE[:, :1024], "inside"),
     run(add_bias, WIDE, WIDE[:, :1024], "outside"), "the helper"),
    ("few partitions", run(add_rows, SQUARE, SQUARE), run(add_tiles, SQUARE, SQUARE),
     "tensor_tensor"),
    ("few partitions", run(scale_often, WIDE[:16], 20), run(scale_often, WIDE[:, :1024], 20),
     "narrow or not"),
    ("long stride", run(sum_columns, WIDE[:, :4096], True), run(sum_columns, WIDE[:, :4096], False),
     "strided or not"),
    ("FP32 matmul", run(products, WIDE[:, :512], nl.float32, 40),
     run(products, WIDE[:, :512], nl.bfloat16, 40), "four passes or one"),
    ("bank conflict", run(maxima, PRODUCT, 16, "outside"), run(maxima, PRODUCT, 16, "inside"),
     "the product"),
    ("serialising buffers", run(add_up, WIDE, "outside"), run(add_up, WIDE, "inside"),
     "into its place"),
    ("serialising buffers", run(add_up, WIDE, 1, 4), run(add_up, WIDE, 4, 4), "into its place"),
    ("serialising buffers", run(double, WIDE, 1024, buffers=1), run(double, WIDE, 1024),
     "the helper"),
    ("starved engine", run(add_up, WIDE, "outside"), run(add_up, WIDE, "inside"),
     "into its place"),
]  # fmt: skip


@for_each("kind, habit, remedied, lines", [(*h[:3], h[3:]) for h in HABITS])
def test_following_the_remedy_saves_what_was_said_within_the_band(kind, habit, remedied, lines):
    habit, remedied = habit(), remedied()
    found = [w for w in habit.advice if w.kind == kind]
    sources = [linecache.getline(w.line.file, w.line.line) for w in found]
    assert len(found) == len(lines)
    assert all(any(line in source for source in sources) for line in lines)
    saved = habit.timeline.makespan_ns - remedied.timeline.makespan_ns
    assert sum(w.cost.low_ns for w in found) <= saved * 1.001
    if lines != ("tensor_tensor",):  # rows one at a time also crowd the queue of their partition
        assert saved <= sum(w.cost.high_ns for w in found) * 1.001
    assert not any(w.is_hidden for w in found)
    if kind != "starved engine":  # the loads still have to come
        assert not any(w.is_most for w in found)
        assert kind not in {w.kind for w in remedied.advice if not w.is_hidden}


def test_a_bound_is_said_to_be_one_and_holds():
    """Judge: the fully blocked matmul, which loads everything once and in long rows."""
    tiled = nki.run(matmul.tiled, *BLOCKS)
    blocked = nki.run(matmul.fully_blocked, *BLOCKS, block_m=8)
    [warning] = [w for w in tiled.advice if w.kind == "starved engine"]
    saved = tiled.timeline.makespan_ns - blocked.timeline.makespan_ns
    assert "Costs at most" in str(warning)
    assert 0.5 * warning.cost.nominal_ns < saved < warning.cost.nominal_ns


def test_the_remedy_of_a_starved_engine_depends_on_why_it_starves():
    def remedy(kernel, *given, **options):
        found = nki.run(kernel, *given, **options).advice
        return next(w.remedy for w in found if w.kind == "starved engine")

    assert "run ahead" in remedy(double, WIDE, 1024, buffers=1)
    assert "load less" in remedy(double, WIDE, 1024)
    assert "first tile" in remedy(scale_often, WIDE, 2)
    assert "starved engine" not in {w.kind for w in nki.run(scale_often, WIDE, 100).advice}


def test_what_passes_beside_other_work_is_said_to_cost_nothing_yet():
    """Judge: short rows behind long work; the same kernel with long ones ends no sooner."""
    short, long = (nki.run(add_up_in(columns), WIDE) for columns in (128, 1024))
    [warning] = [w for w in short.advice if w.kind == "small transfers"]
    saved = short.timeline.makespan_ns - long.timeline.makespan_ns
    assert warning.is_hidden
    assert abs(saved) < 0.05 * short.timeline.makespan_ns < warning.held.nominal_ns
    assert "alone it costs the run next to nothing" in str(warning)
    assert short.advice.index(warning) >= sum(not w.is_hidden for w in short.advice)


def add_up_in(columns):
    @nki.jit
    def kernel(x):
        total = nl.zeros((128, 1024), nl.float32, buffer=nl.sbuf)
        for start in range(0, x.shape[1], columns):
            tile = load(x, nl.ds(start, columns))
            for _ in range(columns // 32):
                nisa.tensor_tensor(dst=total, data1=total, data2=total, op=nl.add)
            part = total[:, 0:columns]
            nisa.tensor_tensor(dst=part, data1=part, data2=tile, op=nl.add)
        return stored(total, nl.float32)

    return kernel


@nki.jit
def two_engines(x, engine):
    a, b = nl.load(x), nl.zeros(x.shape, x.dtype, buffer=nl.sbuf)
    for _ in range(10):
        nisa.tensor_scalar(dst=a, data=a, op0=nl.multiply, operand0=1.5)
        nisa.tensor_tensor(dst=b, data1=b, data2=b, op=nl.add, engine=engine)
    out = nl.ndarray((2, *x.shape), x.dtype, buffer=nl.shared_hbm)
    nl.store(out[0], a)
    nl.store(out[1], b)
    return out


def test_a_port_conflict_costs_what_free_ports_save():
    """Judge: ``without("ports")``; one engine alone has nobody to share with."""
    conflict = nki.run(two_engines, WIDE[:, :1024], nisa.engine.gpsimd)
    saved = conflict.timeline.makespan_ns - without(conflict.timeline, "ports").makespan_ns
    found = [w for w in conflict.advice if w.kind == "port conflict"]
    assert found
    assert all(w.cost.nominal_ns == saved for w in found)
    free = nki.run(two_engines, WIDE[:, :1024], nisa.engine.vector)
    assert "port conflict" not in {w.kind for w in free.advice}


def test_without_a_change_nothing_is_saved_and_without_work_everything():
    timeline = nki.run(double, WIDE, 1024).timeline
    costing = Costing(timeline)
    assert costing.saved(WhatIf()) == Cost(0, 0, 0)
    nothing = WhatIf(lambda values: np.zeros((timeline.rows, 3)), np.ones(timeline.rows, bool))
    results = timeline.makespan_ns - costing.saved(nothing).nominal_ns
    assert results == timeline.pieces.result.max()  # what is left: one result's way out


def test_of_long_programs_the_range_is_scaled(monkeypatch):
    """Judge: the three schedules of the same program; the nominal cost is the same."""
    timeline = nki.run(double, WIDE, 1024, buffers=1).timeline
    change = WhatIf(placeless=np.ones(timeline.rows, bool))
    three = Costing(timeline).saved(change)
    monkeypatch.setattr("trainium_edu.neuroncore.advice.costs.ENDS_UP_TO", 10)
    one = Costing(timeline).saved(change)
    assert one.nominal_ns == three.nominal_ns
    assert one.low_ns == pytest.approx(three.low_ns, rel=0.2)
    assert one.low_ns < one.nominal_ns < one.high_ns
