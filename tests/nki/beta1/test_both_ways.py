"""A kernel written in the older and in the current interface is one program.

Judge: the current interface, whose values NumPy judges elsewhere: the same instructions on the same
engines with the same operands in the same memories, the same outputs bit for bit, the same time.
"""

import numpy as np
import pytest

import trainium_edu.nki as nki
import trainium_edu.nki.beta1.isa as old_isa
import trainium_edu.nki.beta1.language as old
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from trainium_edu.nki.beta1.kernel import jit

F = np.float32
DRAW = np.random.default_rng(41)
PAIRS: dict = {}


def pair(*arrays):
    """Make a test of a function that returns (kernel in the older, kernel in the current one)."""

    def added(function):
        PAIRS[function.__name__] = (*function(), arrays)
        return function

    return added


def floats(*shape):
    """Return normally distributed numbers."""
    return DRAW.standard_normal(shape).astype(F)


def made(shape, dtype=nl.float32, buffer=nl.sbuf):
    """Return a new tile of the current interface."""
    return nl.ndarray(shape, dtype, buffer=buffer)


def fetched(x):
    """Load a tensor in the current interface."""
    tile = made(x.shape, x.dtype)
    nisa.dma_copy(dst=tile, src=x)
    return tile


def given_back(interface, tile, shape=None):
    """Return a new output that a tile is stored to."""
    out = interface.ndarray(shape or tile.shape, tile.dtype, buffer=interface.shared_hbm)
    interface.store(out, tile)
    return out


@pair(floats(128, 64), floats(128, 64))
def addition():
    def before(a, b):
        return given_back(old, old_isa.tensor_tensor(old.load(a), old.load(b), np.add))

    def now(a, b):
        one, two = fetched(a), fetched(b)
        total = made(one.shape)
        nisa.tensor_tensor(dst=total, data1=one, data2=two, op=nl.add)
        return given_back(nl, total)

    return before, now


@pair(floats(64, 96))
def softmax():
    def before(x):
        x = old.load(x)
        least = old_isa.tensor_reduce(np.max, x, 1, negate=True)
        total = old.ndarray((64, 1), np.float32, buffer=old.sbuf)
        e = old_isa.activation_reduce(np.exp, x, bias=least, reduce_op=np.add, reduce_res=total)
        return given_back(old, old_isa.tensor_scalar(e, np.multiply, old_isa.reciprocal(total)))

    def now(x):
        x = fetched(x)
        least = made((64, 1))
        nisa.tensor_reduce(dst=least, op=nl.maximum, data=x, axis=1, negate=True)
        total = made((64, 1))
        e = made(x.shape)
        nisa.activation_reduce(dst=e, op=nl.exp, data=x, bias=least, reduce_op=nl.add,
                               reduce_res=total)  # fmt: skip
        inverse = made((64, 1))
        nisa.reciprocal(dst=inverse, data=total)
        y = made(x.shape)
        nisa.tensor_scalar(dst=y, data=e, op0=nl.multiply, operand0=inverse)
        return given_back(nl, y)

    return before, now


@pair(floats(256, 128), floats(256, 512))
def matmul():
    def before(a, b):
        total = old.zeros((128, 512), np.float32, buffer=old.psum)
        i, m, n = old.arange(128)[:, None], old.arange(128)[None, :], old.arange(512)[None, :]
        for k in old.affine_range(2):
            total += old_isa.nc_matmul(old.load(a[k * 128 + i, m]), old.load(b[k * 128 + i, n]))
        return given_back(old, old_isa.tensor_copy(total))

    def now(a, b):
        total = made((128, 512), buffer=nl.psum)
        for k in nl.affine_range(2):
            rows = slice(k * 128, k * 128 + 128)
            nisa.nc_matmul(dst=total, stationary=fetched(a[rows]), moving=fetched(b[rows]))
        out = made((128, 512))
        nisa.tensor_copy(dst=out, src=total)
        return given_back(nl, out)

    return before, now


@pair(floats(128, 64))
def transpose_on_tensor():
    def before(a):
        return given_back(old, old_isa.tensor_copy(old_isa.nc_transpose(old.load(a))))

    def now(a):
        a = fetched(a)
        turned = made((64, 128), buffer=nl.psum)
        nisa.nc_transpose(dst=turned, data=a)
        out = made((64, 128))
        nisa.tensor_copy(dst=out, src=turned)
        return given_back(nl, out)

    return before, now


@pair(floats(32, 16))
def transpose_on_vector():
    def before(a):
        return given_back(old, old_isa.nc_transpose(old.load(a), engine=old_isa.vector_engine))

    def now(a):
        a = fetched(a)
        turned = made((16, 32))
        nisa.nc_transpose(dst=turned, data=a, engine=nisa.vector_engine)
        return given_back(nl, turned)

    return before, now


@pair(floats(128, 256))
def statistics():
    def before(x):
        x = old.load(x)
        found = old.ndarray((128, 12), np.float32, buffer=old.sbuf)
        p, j, six = old.arange(128)[:, None], old.arange(128)[None, :], old.arange(6)[None, :]
        for k in old.affine_range(2):
            found[p, k * 6 + six] = old_isa.bn_stats(x[p, k * 128 + j])
        return given_back(old, old_isa.bn_aggr(found))

    def now(x):
        x = fetched(x)
        found = made((128, 12))
        for k in nl.affine_range(2):
            nisa.bn_stats(dst=found[:, k * 6 : k * 6 + 6], data=x[:, k * 128 : k * 128 + 128])
        both = made((128, 2))
        nisa.bn_aggr(dst=both, data=found)
        return given_back(nl, both)

    return before, now


@pair(floats(64, 64))
def causal_mask():
    def before(x):
        i, j = old.mgrid[0:64, 0:64]
        return given_back(old, old_isa.affine_select(j <= i, old.load(x), -1e9))

    def now(x):
        x = fetched(x)
        out = made(x.shape)
        nisa.affine_select(dst=out, pattern=[[-1, 64]], channel_multiplier=1, on_true_tile=x,
                           on_false_value=-1e9, cmp_op=nl.greater_equal)  # fmt: skip
        return given_back(nl, out)

    return before, now


@pair(floats(128, 40))
def gather_of_rows():
    def before(table):
        i, j = 2 * old.arange(64)[:, None], old.arange(40)[None, :]
        index = old_isa.iota(i, np.int32)
        rows = old.ndarray((64, 40), np.float32, buffer=old.sbuf)
        old_isa.dma_copy(dst=rows, src=table[index, j])
        return given_back(old, rows)

    def now(table):
        index = made((64, 1), nl.int32)
        nisa.iota(dst=index, pattern=[[0, 1]], channel_multiplier=2)
        rows = made((64, 40))
        nisa.dma_copy(dst=rows, src=table.vector_select(0, index))
        return given_back(nl, rows)

    return before, now


@pair(floats(32, 40))
def scatter_that_adds():
    def before(rows):
        rows = old.load(rows)
        out = old.ndarray((64, 40), np.float32, buffer=old.shared_hbm)
        old.store(out, old_isa.memset((64, 40), 1.0, np.float32))
        index = old_isa.iota(63 - old.arange(32)[:, None], np.int32)
        old_isa.dma_copy(dst=out[index, old.arange(40)[None, :]], src=rows, dst_rmw_op=np.add)
        return out

    def now(rows):
        rows = fetched(rows)
        out = nl.ndarray((64, 40), nl.float32, buffer=nl.shared_hbm)
        ones = made((64, 40))
        nisa.memset(dst=ones, value=1.0)
        nl.store(out, ones)
        index = made((32, 1), nl.int32)
        nisa.iota(dst=index, pattern=[[0, 1]], offset=63, channel_multiplier=-1)
        there = out.vector_select(0, index)
        nisa.dma_compute(dst=there, srcs=[rows, there], reduce_op=nl.add)
        return out

    return before, now


@pair(floats(64, 100), floats(64, 100), floats(64, 1))
def scan():
    def before(a, b, start):
        a, b, start = old.load(a), old.load(b), old.load(start)
        return given_back(old, old_isa.tensor_tensor_scan(a, b, start, np.multiply, np.add))

    def now(a, b, start):
        a, b, start = fetched(a), fetched(b), fetched(start)
        out = made(a.shape)
        nisa.tensor_tensor_scan(dst=out, data0=a, data1=b, initial=start, op0=nl.multiply,
                                op1=nl.add)  # fmt: skip
        return given_back(nl, out)

    return before, now


@pair(floats(32, 100))
def eight_largest():
    def before(x):
        x = old.load(x)
        top = old_isa.max8(src=x)
        places = old_isa.nc_find_index8(data=x, vals=top)
        rest = old_isa.nc_match_replace8(data=x, vals=top, imm=-1e9)
        return given_back(old, rest), given_back(old, places)

    def now(x):
        x = fetched(x)
        top = made((32, 8))
        nisa.max8(dst=top, src=x)
        places = made((32, 8), nl.uint32)
        nisa.nc_find_index8(dst=places, data=x, vals=top)
        rest = made(x.shape)
        nisa.nc_match_replace8(dst=rest, data=x, vals=top, imm=-1e9)
        return given_back(nl, rest), given_back(nl, places)

    return before, now


@pair(floats(64, 48), floats(64, 48), DRAW.integers(0, 2, (64, 48)).astype(np.uint8))
def choice_by_predicate():
    def before(a, b, where):
        a, b, where = old.load(a), old.load(b), old.load(where)
        top = old.ndarray((64, 1), np.float32, buffer=old.sbuf)
        old_isa.tensor_copy_predicated(src=a, dst=b, predicate=where)
        old_isa.select_reduce(dst=a, predicate=where, on_true=b, on_false=0.5, reduce_res=top,
                              reduce_cmd=old_isa.reduce_cmd.reset_reduce)  # fmt: skip
        return given_back(old, a), given_back(old, top)

    def now(a, b, where):
        a, b, where = fetched(a), fetched(b), fetched(where)
        top = made((64, 1))
        nisa.tensor_copy_predicated(dst=b, src=a, predicate=where)
        nisa.select_reduce(dst=a, predicate=where, on_true=b, on_false=0.5, reduce_res=top,
                           reduce_cmd=nisa.reduce_cmd.reset_reduce)  # fmt: skip
        return given_back(nl, a), given_back(nl, top)

    return before, now


@pair(floats(64, 32, 4))
def transpose_by_dma():
    def before(x):
        return given_back(old, old_isa.dma_transpose(x))

    def now(x):
        out = made((4, 32, 64))
        nisa.dma_transpose(dst=out, src=x)
        return given_back(nl, out)

    return before, now


@pair(floats(64, 40))
def shuffle():
    mask = [(i + 5) % 32 for i in range(32)]

    def before(x):
        x = old.load(x)
        out = old.ndarray(x.shape, x.dtype, buffer=old.sbuf)
        old_isa.nc_stream_shuffle(x, out, mask)
        return given_back(old, out)

    def now(x):
        x = fetched(x)
        out = made(x.shape)
        nisa.nc_stream_shuffle(dst=out, src=x, shuffle_mask=mask)
        return given_back(nl, out)

    return before, now


@pair(floats(32, 64), DRAW.integers(0, 64, (32, 3)).astype(np.uint16))
def local_gather():
    def before(x, index):
        x, index = old.load(x), old.load(index)
        return given_back(old, old_isa.local_gather(x, index))

    def now(x, index):
        x, index = fetched(x), fetched(index)
        out = made((32, 3, 16, 1))
        nisa.local_gather(dst=out, src_buffer=x, index=index)
        return given_back(nl, out)

    return before, now


@pair(floats(100, 64))
def running_sum():
    def before(x):
        x = old.load(x)
        out = old.ndarray(x.shape, x.dtype, buffer=old.sbuf)
        old_isa.tensor_scalar_cumulative(src=x, dst=out, op0=np.multiply, op1=np.add, imm0=0.5)
        return given_back(old, old_isa.tensor_partition_reduce(np.add, out))

    def now(x):
        x = fetched(x)
        out = made(x.shape)
        nisa.tensor_scalar_cumulative(dst=out, src=x, op0=nl.multiply, op1=nl.add, imm0=0.5)
        total = made((1, 64))
        nisa.tensor_partition_reduce(dst=total, op=nl.add, data=out)
        return given_back(nl, total)

    return before, now


@pair(floats(64, 80), floats(64, 80))
def two_in_one_pass():
    def before(a, b):
        a, b = old.load(a), old.load(b)
        top = old.ndarray((64, 1), np.float32, buffer=old.sbuf)
        y = old_isa.tensor_scalar_reduce(data=a, op0=np.multiply, operand0=2.0, reduce_op=np.max,
                                         reduce_res=top)  # fmt: skip
        y = old_isa.scalar_tensor_tensor(data=y, op0=np.subtract, operand0=top, op1=np.multiply,
                                         operand1=b, dtype="bfloat16")  # fmt: skip
        return given_back(old, old_isa.dropout(y, 0.25))

    def now(a, b):
        a, b = fetched(a), fetched(b)
        top = made((64, 1))
        y = made(a.shape)
        nisa.tensor_scalar_reduce(dst=y, data=a, op0=nl.multiply, operand0=2.0,
                                  reduce_op=nl.maximum, reduce_res=top)  # fmt: skip
        z = made(a.shape, nl.bfloat16)
        nisa.scalar_tensor_tensor(dst=z, data=y, op0=nl.subtract, operand0=top, op1=nl.multiply,
                                  operand1=b)  # fmt: skip
        kept = made(a.shape, nl.bfloat16)
        nisa.dropout(dst=kept, data=z, prob=0.25)
        return given_back(nl, kept)

    return before, now


@pair(floats(200, 50))
def edges_by_mask():
    def before(x):
        out = old.ndarray(x.shape, x.dtype, buffer=old.shared_hbm)
        i, j = old.mgrid[0:128, 0:50]
        for k in old.affine_range(2):
            inside = k * 128 + i < 200
            t = old.load(x[k * 128 + i, j], mask=inside)
            y = old_isa.activation(np.tanh, t, mask=inside)
            old.store(out[k * 128 + i, j], y, mask=inside)
        return out

    def now(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        for k in nl.affine_range(2):
            here, rows = slice(k * 128, min(200, k * 128 + 128)), min(128, 200 - k * 128)
            t = made((128, 50))
            nisa.dma_copy(dst=t[:rows], src=x[here])
            y = made((128, 50))
            nisa.activation(dst=y[:rows], op=nl.tanh, data=t[:rows])
            nisa.dma_copy(dst=out[here], src=y[:rows])
        return out

    return before, now


@pair(floats(2, 64, 40))
def blocks():
    def before(x):
        tiles = old.ndarray((2, old.par_dim(64), 40), np.float32, buffer=old.sbuf)
        for b in old.affine_range(2):
            tiles[b] = old.load(x[b])
        return given_back(old, old_isa.tensor_tensor(tiles[0], tiles[1], np.maximum))

    def now(x):
        tiles = [fetched(x[b]) for b in nl.affine_range(2)]
        out = made((64, 40))
        nisa.tensor_tensor(dst=out, data1=tiles[0], data2=tiles[1], op=nl.maximum)
        return given_back(nl, out)

    return before, now


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


@pytest.mark.parametrize("name", PAIRS)
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
