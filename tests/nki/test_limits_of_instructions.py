"""Limits of single instructions, one case each.  Judge: the sentences of the reference.

A case passes one stated limit by one step and has to raise, naming the limit; what the reference
allows right at the limit stands in ``ALLOWED``.  In the order of the reference's names, from
``activation`` to ``nc_match_replace8``; limits that many instructions share are in test_limits.py.
"""

from contextlib import nullcontext

import numpy as np

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_each, raises
from tests.nki.cases import U16, U32, Later, P, h, hbm, of, psum, refused, t, tile

ADD, INF = nl.add, float("inf")


def rows(table, index=None, many=4):
    """Return rows of an HBM table by an index, 0, 1, 2, ... unless given."""
    if index is None:
        index = nl.ndarray((many, 1), nl.int32)
        nisa.iota(dst=index, pattern=[[0, 1]], channel_multiplier=1)
    return table.ap(pattern=[[8, many], [1, 8]], vector_offset=index, indirect_dim=0)


act = of(nisa.activation, dst=tile, op=nl.copy, data=tile)
act_reduce = of(nisa.activation_reduce, dst=tile, op=nl.copy, data=tile, reduce_op=ADD,
                reduce_res=t(4, 1))  # fmt: skip
affine = of(nisa.affine_select, dst=tile, pattern=[[1, 8]], channel_multiplier=-1,
            on_true_tile=tile, on_false_value=-1.0)  # fmt: skip
stats, aggr = of(nisa.bn_stats, dst=t(4, 6), data=tile), of(nisa.bn_aggr, dst=t(4, 2), data=t(4, 6))
add = of(nisa.dma_compute, dst=tile, srcs=Later(lambda: [tile(), tile()]), reduce_op=ADD)
copy, turn = of(nisa.dma_copy, dst=tile, src=hbm), of(nisa.dma_transpose, dst=t(8, 4), src=hbm)
drop, count = of(nisa.dropout, dst=tile, data=tile, prob=0.5), of(nisa.iota, dst=tile,
                                                                 pattern=[[1, 8]])  # fmt: skip
gather = of(nisa.local_gather, dst=t(16, 16), src_buffer=t(16, 32), index=t(16, 1, **U16))
eight, fill = of(nisa.max8, dst=tile, src=t(4, 16)), of(nisa.memset, dst=tile, value=1.0)
find = of(nisa.nc_find_index8, dst=t(4, 8, **U32), data=t(4, 16), vals=tile)
replace = of(nisa.nc_match_replace8, dst=t(4, 16), data=t(4, 16), vals=tile, imm=-INF)


def read_modify_write(dst, *srcs):
    """Return a kernel that adds, where "i" and "j" are rows of a table by two indices."""

    def kernel():
        table, other = hbm(16, 8), hbm(16, 8)
        for made in (table, other):
            nisa.dma_copy(dst=made, src=tile(16, 8))
        found = {"i": rows(table), "j": rows(table, tile(4, 1, dtype=nl.int32)),
                 "other": rows(other), "tile": tile(), "tile2": tile(),
                 "hbm": table[:4]}  # fmt: skip
        nisa.dma_compute(dst=found[dst], srcs=[found[s] for s in srcs], reduce_op=ADD)

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


LIMITS = {
    # activation, activation_reduce
    "reduce_op is no sum": (act(reduce_op=nl.maximum), "only add"),
    "reduce without reduce_op": (act(reduce_cmd=nisa.reduce_cmd.reset_reduce), "only add"),
    "load_reduce": (act(reduce_op=ADD, reduce_cmd=nisa.reduce_cmd.load_reduce), "reset_reduce"),
    "scale in BF16": (act(scale=t(4, 1, dtype=nl.bfloat16)), "scale is bfloat16"),
    "scale of two columns": (act(scale=t(4, 2)), r"\[4, 1\]"),
    "scale in HBM": (act(scale=h(4, 1)), "HBM"),
    "bias in TF32": (act(bias=t(4, 1, dtype=nl.tfloat32)), "bias is tfloat32"),
    "bias of other partitions": (act(bias=t(8, 1)), r"\[4, 1\]"),
    "data of other partitions": (act(data=t(8, 4)), "same partitions"),
    "data of more elements": (act(data=t(4, 9)), "same number of elements"),
    "no function of the Scalar Engine": (act(op=ADD), "not a function"),
    "prelu": (act(op=nl.prelu), "NeuronCore-v4"),
    "reciprocal with a bias": (act(op=nl.reciprocal, bias=t(4, 1)), "no bias"),
    "reduce_res of two columns": (act(reduce_op=ADD, reduce_res=t(4, 2)), r"\[4, 1\]"),
    "activation_reduce of a maximum": (act_reduce(reduce_op=nl.max), "'maximum'; .* only add"),
    # affine_select, bn_aggr, bn_stats
    "affine_select into PSUM": (affine(dst=P), "PSUM"),
    "affine_select from PSUM": (affine(on_true_tile=P), "PSUM"),
    "affine_select of other partitions": (affine(on_true_tile=t(8, 8)), "same partitions"),
    "affine_select in 5 dimensions": (affine(pattern=[[0, 1]] * 4 + [[1, 8]]), "1 to 4"),
    "affine_select of 7 elements": (affine(pattern=[[1, 7]]), "makes 7"),
    "affine_select by a sum": (affine(cmp_op=ADD), "cmp_op is .*it must be one of"),
    "affine_select from 2**31": (affine(offset=2**31), "32 bits"),
    "bn_stats of 513": (stats(data=t(4, 513)), "at most 512"),
    "bn_stats into 5": (stats(dst=t(4, 5)), r"\[4, 6\]"),
    "bn_aggr of 5": (aggr(data=t(4, 5)), "multiple of 3"),
    "bn_aggr into 3": (aggr(dst=t(4, 3)), r"\[4, 2\]"),
    # dma_compute
    "17 sources": (add(srcs=Later(lambda: [tile()] * 17)), "has 17 .* list of 1 to 16"),
    "a product by DMA": (add(reduce_op=nl.multiply), "only add"),
    "scales of 2": (add(scales=[1.0, 2.0]), "1.0 for each"),
    "scales that are one number": (add(scales=1.0), "1.0 for each"),
    "a source of 7 elements": (add(srcs=Later(lambda: [tile(4, 7)])), "element counts"),
    "a source in PSUM": (add(srcs=Later(lambda: [psum()])), "PSUM"),
    "dma_compute into PSUM": (add(dst=P), "PSUM"),
    "a sum that skips without an index": (add(oob_mode=nisa.oob_mode.skip), "without an index"),
    "three sources with an index": (read_modify_write("i", "i", "tile", "tile2"), "exactly 2"),
    "rows of one index into another's": (read_modify_write("i", "j", "tile"), "dst itself"),
    "rows of another table": (read_modify_write("i", "other", "tile"), "dst itself"),
    "rows plus what is in HBM": (read_modify_write("i", "i", "hbm"), "tile in SBUF"),
    "rows that are only written": (read_modify_write("i", "tile", "tile2"), "dst itself"),
    "rows gathered into another tile": (read_modify_write("tile", "tile2", "i"), "dst itself"),
    "rows gathered into HBM": (read_modify_write("hbm", "hbm", "i"), "tile in SBUF"),
    # dma_copy
    "an element too many": (copy(src=h(4, 9)), "36 elements"),
    "a priority": (copy(priority=0), "NeuronCore-v4"),
    "descriptors by hardware": (copy(dge_mode=nisa.dge_mode.hwdge), "NeuronCore-v3"),
    "an engine without hwdge": (copy(engine=nisa.engine.sync), "dge_mode=hwdge"),
    "rows of an index without descriptors": (
        copy(src=Later(lambda: rows(hbm(16, 8))), dge_mode=nisa.dge_mode.none), "use swdge"
    ),
    "an index of an SBUF tensor": (copy(src=Later(lambda: rows(tile(16, 8)))), "HBM"),
    "an index of two columns": (
        copy(src=Later(lambda: rows(hbm(16, 8), tile(4, 2, dtype=nl.int32)))), r"\(rows, 1\)"
    ),
    "an index in PSUM": (copy(src=Later(lambda: rows(hbm(16, 8), psum(4, 1)))), "in SBUF, shape"),
    "one index in PSUM": (
        copy(src=Later(lambda: hbm(16, 8).ap([[8, 4], [1, 8]], scalar_offset=psum(1, 1)))),
        "number in SBUF",
    ),
    "an index of floats": (
        copy(src=Later(lambda: rows(hbm(16, 8), tile(4, 1)))), "whole numbers"
    ),
    "an index of fewer rows": (
        copy(src=Later(lambda: rows(hbm(16, 8), tile(3, 1, dtype=nl.int32)))), "each row"
    ),
    "an index out of bounds": (
        copy(src=Later(lambda: rows(hbm(16, 8), tile(4, 1, dtype=nl.int32, value=16)))), "0 to 15"
    ),
    "both kinds of index": (
        lambda: hbm().ap([[8, 4], [1, 8]], scalar_offset=nisa.register_alloc(0),
                         vector_offset=tile(4, 1, dtype=nl.int32)), "not both",
    ),
    # dma_transpose
    "other axes": (turn(axes=(0, 1)), r"\(1, 0\)"),
    "axes that are a number": (turn(axes=10), r"\(1, 0\)"),
    "axes that are an array": (turn(axes=Later(np.zeros, (4, 8))), r"\(1, 0\)"),
    "five axes": (turn(src=h(1, 1, 1, 1, 2), dst=h(2, 1, 1, 1, 1)), "2, 3 or 4"),
    "a transpose that casts": (turn(dst=t(8, 4, dtype=nl.bfloat16)), "dtypes must be equal"),
    "dst of the shape of src": (turn(dst=tile), r"becomes \[8, 4\]"),
    "a dst of another rank": (turn(dst=t(8, 1, 4)), "shapes must be equal"),
    "a transpose by hardware": (turn(dge_mode=nisa.dge_mode.hwdge), "NeuronCore-v3"),
    "a transpose by swdge": (turn(dge_mode=nisa.dge_mode.swdge), "NeuronCore-v3"),
    "a transpose that skips": (turn(oob_mode=nisa.oob_mode.skip), "without an index"),
    "a transpose with a priority": (turn(priority=3), "NeuronCore-v4"),
    "a transpose that gathers": (turn(src=Later(lambda: rows(hbm(16, 8)))), "NeuronCore-v3"),
    # dropout, iota, local_gather
    "dropout into BF16": (drop(dst=t(4, 8, dtype=nl.bfloat16)), "same dtype"),
    "a probability of 1.5": (drop(prob=1.5), "between 0 and 1"),
    "a probability that is no number": (drop(prob=float("nan")), "between 0 and 1"),
    "integers dropped by BF16": (
        drop(dst=t(4, 8, **U16), data=t(4, 8, **U16), prob=t(4, 1, dtype=nl.bfloat16)), "float32"
    ),
    "floats dropped by integers": (drop(prob=t(4, 1, **U16)), "prob is uint16"),
    "a probability for other partitions": (drop(prob=t(8, 1)), r"\[4, 1\]"),
    "iota into PSUM": (count(dst=P), "use a tile in SBUF"),
    "iota in 5 dimensions": (count(pattern=[[0, 1]] * 4 + [[1, 8]]), "1 to 4"),
    "iota of 7 elements": (count(pattern=[[1, 7]]), "makes 7"),
    "iota from 2**31": (count(offset=2**31), "32 bits"),
    "iota by 2**31": (count(channel_multiplier=2**31), "32 bits"),
    "local_gather of 8 partitions": (gather(src_buffer=t(8, 32), index=t(8, 1, **U16),
                                            dst=t(8, 8)), "multiple of 16"),
    "local_gather by other partitions": (gather(src_buffer=t(32, 32)), r"must be \[32, 1\]"),
    "local_gather into BF16": (gather(dst=t(16, 16, dtype=nl.bfloat16)), "same dtype"),
    "local_gather by uint32": (gather(index=t(16, 1, **U32)), "uint16"),
    "local_gather of 3 at once": (gather(num_elem_per_idx=3), "one of"),
    "17 valid of 16 indices": (gather(num_valid_indices=17), "hold 1 to 16"),
    "4097 indices": (gather(index=t(16, 257, **U16), num_valid_indices=4097), "4096"),
    # max8, memset, nc_find_index8, nc_match_replace8
    "max8 of 7": (eight(src=t(4, 7)), "8 to 16384"),
    "max8 of 16385": (eight(src=t(4, 16385)), "8 to 16384"),
    "max8 in 4 dimensions": (eight(src=t(4, 2, 2, 4)), "up to 3"),
    "max8 into 3 dimensions": (eight(dst=t(4, 1, 8)), "up to 2"),
    "max8 into 16": (eight(dst=t(4, 16)), r"must be \[4, 8\]"),
    "max8 into other partitions": (eight(dst=t(8, 8)), r"must be \[4, 8\]"),
    "memset by Scalar": (fill(engine=nisa.engine.scalar), "Vector Engine or GpSimd"),
    "memset by GpSimd in PSUM": (fill(dst=P, engine=nisa.engine.gpsimd), "run it on the Vector"),
    "256 into uint8": (fill(dst=t(4, 8, dtype=nl.uint8), value=256), "0 to 255"),
    "1.0 into int32": (fill(dst=t(4, 8, dtype=nl.int32), value=1.0), "cannot hold a float"),
    "nc_find_index8 in 7": (find(data=t(4, 7)), "8 to 16384"),
    "nc_find_index8 in 16385": (find(data=t(4, 16385)), "8 to 16384"),
    "nc_find_index8 in 4 dimensions": (find(data=t(4, 2, 2, 4)), "up to 3"),
    "nc_find_index8 of 7 values": (find(vals=t(4, 7)), r"must be \[4, 8\]"),
    "nc_find_index8 of values in 4 dimensions": (find(vals=t(4, 2, 2, 2)), "up to 3"),
    "nc_find_index8 into int32": (find(dst=t(4, 8, dtype=nl.int32)), "uint16 or uint32"),
    "nc_find_index8 into 3 dimensions": (find(dst=t(4, 1, 8, **U32)), "up to 2"),
    "nc_match_replace8 of 9 values": (replace(vals=t(4, 9)), r"must be \[4, 8\]"),
    "nc_match_replace8 into 15": (replace(dst=t(4, 15)), "same number"),
    "nc_match_replace8 with float indices": (replace(dst_idx=tile), "uint16 or uint32"),
    # registers and handles
    "a register loaded from PSUM": (
        lambda: nisa.register_load(nisa.register_alloc(), psum(1, 1)), "HBM or SBUF"
    ),
    "a register stored to PSUM": (
        lambda: nisa.register_store(psum(1, 1), nisa.register_alloc(1)), "HBM or SBUF"
    ),
    "a wait out of a loop": (waits("a loop", None), "dynamic loop"),
    "a wait between two loops": (waits("a loop", "another"), "dynamic loop"),
    "a dynamic loop held in order": (in_order(True, False), "inside the loop's body"),
}  # fmt: skip


@for_each("name", LIMITS)
def test_one_step_past_a_limit_is_refused_and_says_so(name):
    refused(*LIMITS[name])


ALLOWED = {
    "a bias in uint8": act(bias=t(4, 1, dtype=nl.uint8)),
    "bias and scale in PSUM": act(bias=Later(psum, 4, 1), scale=Later(psum, 4, 1)),
    "activation from PSUM to PSUM": act(dst=P, data=P),
    "another free shape": act(dst=t(4, 2, 4)),
    "a sum left in the registers": act_reduce(reduce_res=None),
    "NumPy's name of an operator": act_reduce(reduce_op=np.add),
    "NumPy's name of a comparison": affine(cmp_op=np.greater),
    "minus infinity elsewhere": affine(on_false_value=-INF),
    "512 elements counted": stats(data=t(4, 512)),
    "16 sources": add(srcs=Later(lambda: [tile()] * 16), scales=(1.0,) * 16),
    "rows added to": read_modify_write("i", "tile", "i"),
    "rows gathered and added": read_modify_write("tile", "i", "tile"),
    "software descriptors": copy(dge_mode=nisa.dge_mode.swdge),
    "skip without an index": copy(oob_mode=nisa.oob_mode.skip),
    "axes as a list": turn(axes=[1, 0]),
    "a transpose that skips what a register names": turn(
        src=Later(lambda: hbm(16, 8).ap([[8, 4], [1, 8]], scalar_offset=nisa.register_alloc(14),
                                        indirect_dim=0)), oob_mode=nisa.oob_mode.skip),
    "a probability of 1": drop(prob=1),
    "floats dropped by FP8": drop(prob=t(4, 1, dtype=nl.float8_e5m2)),
    "iota from -2**31": count(offset=-(2**31)),
    "4096 of 4112 indices": gather(index=t(16, 257, **U16), num_valid_indices=4096,
                                   dst=t(16, 4096)),
    "sizes of NumPy": gather(num_valid_indices=np.int64(8), num_elem_per_idx=np.int64(2)),
    "max8 of 8": eight(src=tile), "max8 of 16384": eight(src=t(4, 2, 8192)),
    "True into a tile of bools": fill(dst=t(4, 8, dtype=nl.bool_), value=True),
    "values in 3 dimensions": find(vals=t(4, 2, 4)), "uint16 indices": find(dst=t(4, 8, **U16)),
    "replacing in 4 elements": replace(dst=t(4, 4), data=t(4, 4), vals=tile),
    "replacing in 4 dimensions": replace(dst=t(4, 2, 2, 4), data=t(4, 2, 2, 4)),
    "a wait for what is in the same loop": waits("the same", "the same"),
    "a wait for what is outside": waits(None, "a loop"),
    "a block of order in a dynamic loop": in_order(False, True),
    "a static loop held in order": in_order(True, True, nl.affine_range),
    "a transpose without descriptors": turn(dge_mode=nisa.dge_mode.none),
}  # fmt: skip


@for_each("name", ALLOWED)
def test_what_the_reference_allows_runs(name):
    nki.simulate(ALLOWED[name])()


WRONG = {
    "dge_mode by no member's number": (copy(dge_mode=4), "nki.isa.dge_mode"),
    "oob_mode by no member's number": (add(oob_mode=True), "nki.isa.oob_mode"),
    "oob_mode by name": (copy(oob_mode="skip"), "nki.isa.oob_mode"),
    "reduce_cmd by no member's number": (act(reduce_op=ADD, reduce_cmd=9), "nki.isa.reduce_cmd"),
    "reduce_cmd by another enum": (act(reduce_op=ADD, reduce_cmd=nisa.engine.vector),
                                   "nki.isa.reduce_cmd"),
    "an engine by name": (fill(engine="vector"), "nki.isa.engine"),
    "a DMA engine by name": (copy(engine="sync"), "nki.isa.engine"),
    "a scale that is text": (act(scale="2"), "a number or a tile"),
    "on_false_value as a tile": (affine(on_false_value=tile), "it must be one number"),
    "imm as a tile": (replace(imm=t(4, 1)), "it must be one number"),
    "a value as a tile": (fill(value=tile), "it must be one number"),
    "True into int32": (fill(dst=t(4, 8, dtype=nl.int32), value=True), "it must be one number"),
    "unique_indices of 3": (add(unique_indices=3), "True or False"),
    "dst of dma_compute missing": (add(dst=None), "a tensor"),
    "a name that is a number": (fill(name=3), "name is 3"),
    "an offset that is an array": (count(offset=Later(np.zeros, 8, int)), "an integer"),
    "a register of an array": (lambda: nisa.register_alloc(np.zeros(2, int)), "whole number"),
    "a register of a type": (lambda: nisa.register_alloc(int), "whole number"),
    "a step of 1.5": (count(pattern=[[1.5, 8]]), "an integer"),
}  # fmt: skip


@for_each("name", WRONG)
def test_a_choice_of_the_wrong_kind_is_a_type_error(name):
    kernel, words = WRONG[name]
    raises(TypeError, words, nki.simulate(kernel))
