"""Every limit that the reference states, by one case each.  Judge: the sentences of the reference.

A case of limits.toml passes a limit by one step; it has to raise, and to say what the limit is.
"""

from contextlib import nullcontext

import ml_dtypes
import numpy as np

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_each, raises
from tests.nki import cases
from tests.nki.cases import U16, U32, Later, hbm, of, refused, stored, t, tile
from tests.texts import table_beside
from trainium_edu.specs import NkiValidationError

CASES = table_beside(__file__, "limits.toml")
ADD, INF, CMD, ENGINE = nl.add, float("inf"), nisa.reduce_cmd, nisa.engine
GPSIMD, SCALAR, TENSOR, VECTOR = ENGINE.gpsimd, ENGINE.scalar, ENGINE.tensor, ENGINE.vector
BF16, FP8, TF32, I8, I16, I32, U8 = (
    {"dtype": d}
    for d in (nl.bfloat16, nl.float8_e4m3, nl.tfloat32, nl.int8, nl.int16, nl.int32, nl.uint8)
)


def p(*shape, **more):
    return Later(tile, *shape, buffer=nl.psum, **more)


def fresh(*shape, dtype=nl.float32):
    """Return an empty tile in PSUM, as a matmul starts with."""
    return Later(nl.ndarray, shape, dtype, buffer=nl.psum)


def part(first, end):
    """Return partitions `first` to `end` of a tile of 128."""
    return Later(lambda: tile(128, 8)[first:end])


def rows(table, index=None, many=4):
    """Return rows of an HBM table by an index, 0, 1, 2, ... unless given."""
    if index is None:
        index = nl.ndarray((many, 1), nl.int32)
        nisa.iota(dst=index, pattern=[[0, 1]], channel_multiplier=1)
    return table.ap(pattern=[[8, many], [1, 8]], vector_offset=index, indirect_dim=0)


act = of(nisa.activation, dst=tile, op=nl.copy, data=tile)
act_reduce = of(
    nisa.activation_reduce, dst=tile, op=nl.copy, data=tile, reduce_op=ADD, reduce_res=t(4, 1)
)
affine = of(nisa.affine_select, dst=tile, pattern=[[1, 8]], channel_multiplier=-1,
            on_true_tile=tile, on_false_value=-1.0)  # fmt: skip
stats, aggr = of(nisa.bn_stats, dst=t(4, 6), data=tile), of(nisa.bn_aggr, dst=t(4, 2), data=t(4, 6))
add = of(nisa.dma_compute, dst=tile, srcs=Later(lambda: [tile(), tile()]), reduce_op=ADD)
send, dma_turn = of(nisa.dma_copy, dst=tile, src=hbm), of(nisa.dma_transpose, dst=t(8, 4), src=hbm)
drop, count = of(nisa.dropout, dst=tile, data=tile, prob=0.5), of(nisa.iota, dst=tile,
                                                                 pattern=[[1, 8]])  # fmt: skip
gather = of(nisa.local_gather, dst=t(16, 16), src_buffer=t(16, 32), index=t(16, 1, **U16))
eight, fill = of(nisa.max8, dst=tile, src=t(4, 16)), of(nisa.memset, dst=tile, value=1.0)
find = of(nisa.nc_find_index8, dst=t(4, 8, **U32), data=t(4, 16), vals=tile)
replace = of(nisa.nc_match_replace8, dst=t(4, 16), data=t(4, 16), vals=tile, imm=-INF)
product = of(
    nisa.nc_matmul, dst=fresh(8, 16), stationary=t(64, 8, **BF16), moving=t(64, 16, **BF16)
)
halves = {"tile_position": (64, 0), "tile_size": (64, 128)}
pick = of(nisa.nc_n_gather, dst=t(4, 3), data=tile, indices=t(4, 3, **U32))
shuffle = of(nisa.nc_stream_shuffle, dst=t(32, 8), src=t(32, 8), shuffle_mask=[0] * 32)
turn = of(nisa.nc_transpose, dst=t(8, 4), data=tile)
flip, dice = of(nisa.reciprocal, dst=tile, data=tile), of(nisa.rng, dst=t(4, 8, **U32))
seed = of(nisa.set_rng_seed, src_seeds=t(1, 1, **U32))
chain = of(nisa.scalar_tensor_tensor, dst=tile, data=tile, op0=nl.multiply, operand0=2.0,
           op1=nl.add, operand1=tile)  # fmt: skip
choose = of(nisa.select_reduce, dst=tile, predicate=t(4, 8, **U8), on_true=tile, on_false=0.0)
bounds = of(nisa.sequence_bounds, dst=t(1, 2, 8, **I32), segment_ids=t(1, 8, **I32))
copy = of(nisa.tensor_copy, dst=tile, src=tile)
where = of(nisa.tensor_copy_predicated, dst=tile, src=tile, predicate=t(4, 8, **U8))
across = of(nisa.tensor_partition_reduce, dst=t(1, 8), op=nl.add, data=tile)
fold = of(nisa.tensor_reduce, dst=t(4, 1), op=nl.add, data=tile, axis=1)
scalar = of(nisa.tensor_scalar, dst=tile, data=tile, op0=nl.add, operand0=1.0)
whole = of(
    nisa.tensor_scalar, dst=t(4, 8, **I32), data=t(4, 8, **I32), op0=nl.bitwise_and, operand0=1
)
running = of(
    nisa.tensor_scalar_cumulative, dst=tile, src=tile, op0=nl.multiply, op1=nl.add, imm0=1.0
)
summed = of(
    nisa.tensor_scalar_reduce, dst=tile, data=tile, op0=nl.multiply, operand0=1.0, reduce_op=nl.add
)
pair = of(nisa.tensor_tensor, dst=tile, data1=tile, data2=tile, op=nl.add)
scan = of(nisa.tensor_tensor_scan, dst=tile, data0=tile, data1=tile, initial=0.0, op0=nl.multiply,
          op1=nl.add)  # fmt: skip
best = of(nisa.topk, val_dst=t(16, 8, **BF16), idx_dst=t(16, 8, **U32), src=t(16, 3, **BF16), n=42)


def read_modify_write(dst, *srcs, **more):
    """Return a kernel that adds, where "i" and "j" are rows of a table by two indices."""

    def kernel():
        table, other = hbm(16, 8), hbm(16, 8)
        for made in (table, other):
            nisa.dma_copy(dst=made, src=tile(16, 8))
        found = {"i": rows(table), "j": rows(table, tile(4, 1, dtype=nl.int32)),
                 "other": rows(other), "tile": tile(), "tile2": tile(),
                 "hbm": table[:4]}  # fmt: skip
        nisa.dma_compute(dst=found[dst], srcs=[found[s] for s in srcs], reduce_op=ADD, **more)

    return kernel


def waits(inside_first, inside_second):
    """Return a kernel whose second instruction waits for its first, each in a loop or not."""

    def kernel():
        one, two, found = tile(), tile(), []

        def issue(dst):
            found.append(nisa.memset(dst=dst, value=1.0))
            if len(found) == 2:
                found[1].depends_on(found[0])

        def both(i):
            issue(one)
            issue(two)

        if inside_first == inside_second == "the same":
            nl.fori_loop(0, 1, both)
            return
        for inside, dst in ((inside_first, one), (inside_second, two)):
            if inside:
                nl.fori_loop(0, 1, lambda i, dst=dst: issue(dst))
            else:
                issue(dst)

    return kernel


def in_order(outside, inside, loop=nl.dynamic_range):
    """Return a kernel with a loop in a no_reorder block, or with one in its body."""

    def kernel():
        made = tile()
        with nl.no_reorder() if outside else nullcontext():
            for _ in loop(2):
                with nl.no_reorder() if inside else nullcontext():
                    nisa.memset(dst=made, value=1.0)

    return kernel


def kernel_of(call):
    """Return the kernel of a call of limits.toml."""

    def kernel():
        made = eval(call, vars(cases) | globals())
        if callable(made):  # an instruction with other operands
            made()

    return kernel


@for_each("name", CASES["refused"])
def test_one_step_past_a_limit_is_refused_and_says_so(name):
    call, words = CASES["refused"][name]
    refused(kernel_of(call), words)


@for_each("name", CASES["allowed"])
def test_what_the_reference_allows_runs(name):
    nki.simulate(kernel_of(CASES["allowed"][name]))()


@for_each("name", CASES["wrong"])
def test_what_is_of_the_wrong_kind_is_a_type_error(name):
    call, words = CASES["wrong"][name]
    raises(TypeError, words, nki.simulate(kernel_of(call)))


def test_integers_fall_back_to_vector_where_psum_is_in_the_way():
    """As the reference says of the automatic dispatch to GpSimd."""
    ints = {"data1": t(4, 8, **I32), "data2": t(4, 8, **I32), "dst": t(4, 8, **I32)}
    in_psum = p(4, 8, **I32)
    for change, engine in (
        ({}, "gpsimd"), ({"data1": in_psum}, "vector"), ({"dst": in_psum}, "vector"),
        ({"data2": tile}, "vector"),
    ):  # fmt: skip
        assert nki.run(pair(**(ints | change))).program.instructions[-1].engine == engine


def test_accumulators_pass_from_one_kind_of_instruction_to_another():
    """The Vector Engine's registers are shared: a scan starts them, two others go on."""
    values = np.float32([[3, 1], [-5, 2]])

    def kernel(x):
        tile_, most = nl.load(x), nl.ndarray((2, 1), nl.float32)
        other, ones = nl.ndarray((2, 2), nl.float32), tile(2, 2, dtype=nl.uint8, value=1)
        nisa.tensor_scalar_cumulative(other, tile_, nl.add, nl.max, 0.0)
        nisa.tensor_scalar_reduce(
            other, tile_, nl.multiply, -1.0, nl.max, reduce_cmd=CMD.reduce, reduce_res_negate=True
        )
        nisa.select_reduce(other, ones, tile_, 0.0, most, CMD.reduce)
        return stored(most, nl.float32)

    np.testing.assert_array_equal(nki.simulate(kernel)(values), [[3], [5]])


def test_too_much_in_sbuf_at_once_raises_with_what_was_there():
    def kernel(x):
        tiles = [nl.load(x) for _ in range(4)]  # 4 x 64 KiB per partition
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        for held in tiles:
            nl.store(out, held)
        return out

    data = np.zeros((128, 16384), np.float32)
    assert nki.simulate(kernel)(data).shape == data.shape  # values need no place
    caught = raises(NkiValidationError, "196608", nki.run, kernel, data)
    assert "float32[128, 16384]" in str(caught)
    assert "spilling" in str(caught)


def test_what_was_never_written_reads_nan_and_4():
    def kernel():
        floats, whole = (nl.ndarray((2, 2), d) for d in (nl.bfloat16, nl.int32))
        outs = []
        for fresh in (floats, whole):
            out = nl.ndarray((2, 2), fresh.dtype, buffer=nl.shared_hbm)
            nl.store(out, fresh)
            outs.append(out)
        return (*outs, nl.ndarray((2, 2), nl.float32, buffer=nl.shared_hbm))

    floats, whole, never = nki.simulate(kernel)()
    assert floats.dtype == ml_dtypes.bfloat16
    assert np.isnan(floats.astype(np.float32)).all()
    assert (whole == 4).all()
    assert np.isnan(never).all()
    assert {w.kind for w in nki.run(kernel).advice} >= {"uninitialised"}


def test_two_tiles_at_one_address_overwrite_each_other():
    def kernel():
        first = nl.ndarray((32, 8), nl.float32, address=(0, 0))
        second = nl.ndarray((32, 8), nl.float32, address=(0, 16))
        nisa.memset(dst=first, value=1.0)
        nisa.memset(dst=second, value=2.0)
        return stored(first, nl.float32)

    assert np.array_equal(nki.simulate(kernel)()[0], [1, 1, 1, 1, 2, 2, 2, 2])
