"""A kernel written in the older and in the current interface is one program.

Judge: the current interface, whose values NumPy judges elsewhere: the same instructions on the same
engines with the same operands in the same memories, the same outputs bit for bit, the same time.
"""

import numpy as np

import trainium_edu.nki as nki
import trainium_edu.nki.beta1.isa as old_isa
import trainium_edu.nki.beta1.language as old
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_each
from tests.nki.cases import new
from trainium_edu.nki.beta1.kernel import jit

F = np.float32
DRAW = np.random.default_rng(41)
PAIRS: dict = {}


def pair(before, *arrays, loads=True):
    """Make a test of kernels in the older and in the current interface; both may get tiles."""

    def added(now):
        kernels = [before, now]
        if loads:
            kernels = [on_tiles(old, old.load, before), on_tiles(nl, fetched, now)]
        PAIRS[now.__name__] = (*kernels, arrays)
        return now

    return added


def on_tiles(interface, load, function):
    """Return the kernel that loads its arguments and stores what a function of tiles returns."""

    def kernel(*tensors):
        result = function(*map(load, tensors))
        if isinstance(result, tuple):
            return tuple(given_back(interface, tile) for tile in result)
        return given_back(interface, result)

    return kernel


def floats(*shape):
    """Return normally distributed numbers."""
    return DRAW.standard_normal(shape).astype(F)


def made(shape, dtype=nl.float32, buffer=nl.sbuf):
    """Return a new tile of the current interface."""
    return nl.ndarray(shape, dtype, buffer=buffer)


def fetched(x):
    """Load a tensor in the current interface."""
    return new(nisa.dma_copy, x.shape, dtype=x.dtype, src=x)


def given_back(interface, tile, shape=None):
    """Return a new output that a tile is stored to."""
    out = interface.ndarray(shape or tile.shape, tile.dtype, buffer=interface.shared_hbm)
    interface.store(out, tile)
    return out


@pair(lambda a, b: old_isa.tensor_tensor(a, b, np.add), floats(128, 64), floats(128, 64))
def addition(a, b):
    return new(nisa.tensor_tensor, a.shape, data1=a, data2=b, op=nl.add)


def old_softmax(x):
    least = old_isa.tensor_reduce(np.max, x, 1, negate=True)
    total = old.ndarray((64, 1), np.float32, buffer=old.sbuf)
    e = old_isa.activation_reduce(np.exp, x, bias=least, reduce_op=np.add, reduce_res=total)
    return old_isa.tensor_scalar(e, np.multiply, old_isa.reciprocal(total))


@pair(old_softmax, floats(64, 96))
def softmax(x):
    least = new(nisa.tensor_reduce, (64, 1), op=nl.maximum, data=x, axis=1, negate=True)
    total = made((64, 1))
    summed = {"reduce_op": nl.add, "reduce_res": total}
    e = new(nisa.activation_reduce, x.shape, op=nl.exp, data=x, bias=least, **summed)
    inverse = new(nisa.reciprocal, (64, 1), data=total)
    return new(nisa.tensor_scalar, x.shape, data=e, op0=nl.multiply, operand0=inverse)


def old_matmul(a, b):
    total = old.zeros((128, 512), np.float32, buffer=old.psum)
    i, m, n = old.arange(128)[:, None], old.arange(128)[None, :], old.arange(512)[None, :]
    for k in old.affine_range(2):
        total += old_isa.nc_matmul(old.load(a[k * 128 + i, m]), old.load(b[k * 128 + i, n]))
    return given_back(old, old_isa.tensor_copy(total))


@pair(old_matmul, floats(256, 128), floats(256, 512), loads=False)
def matmul(a, b):
    total = made((128, 512), buffer=nl.psum)
    for k in nl.affine_range(2):
        rows = slice(k * 128, k * 128 + 128)
        nisa.nc_matmul(dst=total, stationary=fetched(a[rows]), moving=fetched(b[rows]))
    return given_back(nl, new(nisa.tensor_copy, (128, 512), src=total))


@pair(lambda a: old_isa.tensor_copy(old_isa.nc_transpose(a)), floats(128, 64))
def transpose_on_tensor(a):
    turned = new(nisa.nc_transpose, (64, 128), buffer=nl.psum, data=a)
    return new(nisa.tensor_copy, (64, 128), src=turned)


@pair(lambda a: old_isa.nc_transpose(a, engine=old_isa.vector_engine), floats(32, 16))
def transpose_on_vector(a):
    return new(nisa.nc_transpose, (16, 32), data=a, engine=nisa.vector_engine)


def old_statistics(x):
    found = old.ndarray((128, 12), np.float32, buffer=old.sbuf)
    p, j, six = old.arange(128)[:, None], old.arange(128)[None, :], old.arange(6)[None, :]
    for k in old.affine_range(2):
        found[p, k * 6 + six] = old_isa.bn_stats(x[p, k * 128 + j])
    return old_isa.bn_aggr(found)


@pair(old_statistics, floats(128, 256))
def statistics(x):
    found = made((128, 12))
    for k in nl.affine_range(2):
        nisa.bn_stats(dst=found[:, k * 6 : k * 6 + 6], data=x[:, k * 128 : k * 128 + 128])
    return new(nisa.bn_aggr, (128, 2), data=found)


def old_causal_mask(x):
    i, j = old.mgrid[0:64, 0:64]
    return old_isa.affine_select(j <= i, x, -1e9)


@pair(old_causal_mask, floats(64, 64))
def causal_mask(x):
    options = {"pattern": [[-1, 64]], "channel_multiplier": 1, "cmp_op": nl.greater_equal}
    return new(nisa.affine_select, x.shape, on_true_tile=x, on_false_value=-1e9, **options)


def old_gather_of_rows(table):
    i, j = 2 * old.arange(64)[:, None], old.arange(40)[None, :]
    index = old_isa.iota(i, np.int32)
    rows = old.ndarray((64, 40), np.float32, buffer=old.sbuf)
    old_isa.dma_copy(dst=rows, src=table[index, j])
    return given_back(old, rows)


@pair(old_gather_of_rows, floats(128, 40), loads=False)
def gather_of_rows(table):
    index = new(nisa.iota, (64, 1), dtype=nl.int32, pattern=[[0, 1]], channel_multiplier=2)
    return given_back(nl, new(nisa.dma_copy, (64, 40), src=table.vector_select(0, index)))


def old_scatter_that_adds(rows):
    rows = old.load(rows)
    out = old.ndarray((64, 40), np.float32, buffer=old.shared_hbm)
    old.store(out, old_isa.memset((64, 40), 1.0, np.float32))
    index = old_isa.iota(63 - old.arange(32)[:, None], np.int32)
    old_isa.dma_copy(dst=out[index, old.arange(40)[None, :]], src=rows, dst_rmw_op=np.add)
    return out


@pair(old_scatter_that_adds, floats(32, 40), loads=False)
def scatter_that_adds(rows):
    rows = fetched(rows)
    out = given_back(nl, new(nisa.memset, (64, 40), value=1.0))
    downwards = {"pattern": [[0, 1]], "offset": 63, "channel_multiplier": -1}
    there = out.vector_select(0, new(nisa.iota, (32, 1), dtype=nl.int32, **downwards))
    nisa.dma_compute(dst=there, srcs=[rows, there], reduce_op=nl.add)
    return out


def old_scan(a, b, start):
    return old_isa.tensor_tensor_scan(a, b, start, np.multiply, np.add)


@pair(old_scan, floats(64, 100), floats(64, 100), floats(64, 1))
def scan(a, b, start):
    operators = {"initial": start, "op0": nl.multiply, "op1": nl.add}
    return new(nisa.tensor_tensor_scan, a.shape, data0=a, data1=b, **operators)


def old_eight_largest(x):
    top = old_isa.max8(src=x)
    places = old_isa.nc_find_index8(data=x, vals=top)
    return old_isa.nc_match_replace8(data=x, vals=top, imm=-1e9), places


@pair(old_eight_largest, floats(32, 100))
def eight_largest(x):
    top = new(nisa.max8, (32, 8), src=x)
    places = new(nisa.nc_find_index8, (32, 8), dtype=nl.uint32, data=x, vals=top)
    return new(nisa.nc_match_replace8, x.shape, data=x, vals=top, imm=-1e9), places


def old_choice_by_predicate(a, b, where):
    top = old.ndarray((64, 1), np.float32, buffer=old.sbuf)
    old_isa.tensor_copy_predicated(src=a, dst=b, predicate=where)
    kept = {"reduce_res": top, "reduce_cmd": old_isa.reduce_cmd.reset_reduce}
    old_isa.select_reduce(dst=a, predicate=where, on_true=b, on_false=0.5, **kept)
    return a, top


@pair(old_choice_by_predicate, floats(64, 48), floats(64, 48),
      DRAW.integers(0, 2, (64, 48)).astype(np.uint8))  # fmt: skip
def choice_by_predicate(a, b, where):
    top = made((64, 1))
    nisa.tensor_copy_predicated(dst=b, src=a, predicate=where)
    kept = {"reduce_res": top, "reduce_cmd": nisa.reduce_cmd.reset_reduce}
    nisa.select_reduce(dst=a, predicate=where, on_true=b, on_false=0.5, **kept)
    return a, top


@pair(lambda x: given_back(old, old_isa.dma_transpose(x)), floats(64, 32, 4), loads=False)
def transpose_by_dma(x):
    return given_back(nl, new(nisa.dma_transpose, (4, 32, 64), src=x))


MASK = [(i + 5) % 32 for i in range(32)]


def old_shuffle(x):
    out = old.ndarray(x.shape, x.dtype, buffer=old.sbuf)
    old_isa.nc_stream_shuffle(x, out, MASK)
    return out


@pair(old_shuffle, floats(64, 40))
def shuffle(x):
    return new(nisa.nc_stream_shuffle, x.shape, src=x, shuffle_mask=MASK)


@pair(old_isa.local_gather, floats(32, 64), DRAW.integers(0, 64, (32, 3)).astype(np.uint16))
def local_gather(x, index):
    return new(nisa.local_gather, (32, 3, 16, 1), src_buffer=x, index=index)


def old_running_sum(x):
    out = old.ndarray(x.shape, x.dtype, buffer=old.sbuf)
    old_isa.tensor_scalar_cumulative(src=x, dst=out, op0=np.multiply, op1=np.add, imm0=0.5)
    return old_isa.tensor_partition_reduce(np.add, out)


@pair(old_running_sum, floats(100, 64))
def running_sum(x):
    operators = {"op0": nl.multiply, "op1": nl.add, "imm0": 0.5}
    out = new(nisa.tensor_scalar_cumulative, x.shape, src=x, **operators)
    return new(nisa.tensor_partition_reduce, (1, 64), op=nl.add, data=out)


def old_two_in_one_pass(a, b):
    top = old.ndarray((64, 1), np.float32, buffer=old.sbuf)
    first = {"op0": np.multiply, "operand0": 2.0, "reduce_op": np.max, "reduce_res": top}
    y = old_isa.tensor_scalar_reduce(data=a, **first)
    then = {"op0": np.subtract, "operand0": top, "op1": np.multiply, "operand1": b}
    y = old_isa.scalar_tensor_tensor(data=y, **then, dtype="bfloat16")
    return old_isa.dropout(y, 0.25)


@pair(old_two_in_one_pass, floats(64, 80), floats(64, 80))
def two_in_one_pass(a, b):
    top = made((64, 1))
    first = {"op0": nl.multiply, "operand0": 2.0, "reduce_op": nl.maximum, "reduce_res": top}
    y = new(nisa.tensor_scalar_reduce, a.shape, data=a, **first)
    then = {"op0": nl.subtract, "operand0": top, "op1": nl.multiply, "operand1": b}
    z = new(nisa.scalar_tensor_tensor, a.shape, dtype=nl.bfloat16, data=y, **then)
    return new(nisa.dropout, a.shape, dtype=nl.bfloat16, data=z, prob=0.25)


def old_edges_by_mask(x):
    out = old.ndarray(x.shape, x.dtype, buffer=old.shared_hbm)
    i, j = old.mgrid[0:128, 0:50]
    for k in old.affine_range(2):
        inside = k * 128 + i < 200
        t = old.load(x[k * 128 + i, j], mask=inside)
        y = old_isa.activation(np.tanh, t, mask=inside)
        old.store(out[k * 128 + i, j], y, mask=inside)
    return out


@pair(old_edges_by_mask, floats(200, 50), loads=False)
def edges_by_mask(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    for k in nl.affine_range(2):
        here, rows = slice(k * 128, min(200, k * 128 + 128)), min(128, 200 - k * 128)
        t = made((128, 50))
        nisa.dma_copy(dst=t[:rows], src=x[here])
        y = made((128, 50))
        nisa.activation(dst=y[:rows], op=nl.tanh, data=t[:rows])
        nisa.dma_copy(dst=out[here], src=y[:rows])
    return out


def old_blocks(x):
    tiles = old.ndarray((2, old.par_dim(64), 40), np.float32, buffer=old.sbuf)
    for b in old.affine_range(2):
        tiles[b] = old.load(x[b])
    return given_back(old, old_isa.tensor_tensor(tiles[0], tiles[1], np.maximum))


@pair(old_blocks, floats(2, 64, 40), loads=False)
def blocks(x):
    one, two = [fetched(x[b]) for b in nl.affine_range(2)]
    return given_back(nl, new(nisa.tensor_tensor, (64, 40), data1=one, data2=two, op=nl.maximum))


def _recorded(program):
    """Return what a program holds, its tiles and tensors numbered as they are first used."""
    numbers, found = {}, []
    for i in program.instructions:
        accesses = []
        for access in sorted(i.accesses, key=lambda a: (a.role, a.is_write)):
            number = numbers.setdefault(access.allocation, len(numbers))
            accesses.append(access._replace(allocation=number))
        found.append((i.name, i.engine, i.is_free, i.work, sorted(i.options), i.flops, accesses))
    used = [program.allocations[index] for index in numbers]
    return found, [(a.memory, a.shape, a.dtype.name, a.address) for a in used]


def _arrays(outputs):
    return outputs if isinstance(outputs, tuple | list) else (outputs,)


@for_each("name", PAIRS)
def test_program_values_and_time_are_the_same(name):
    before, now, arrays = PAIRS[name]
    first = nki.run(jit(before), *arrays, passes=())
    second = nki.run(nki.jit(now), *arrays, optimise=False)
    assert _recorded(first.program) == _recorded(second.program)
    for one, two in zip(_arrays(first.outputs), _arrays(second.outputs), strict=True):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(first.timeline.end_ns, second.timeline.end_ns)


def test_there_are_enough_pairs():
    assert len(PAIRS) >= 15
