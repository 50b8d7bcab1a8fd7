"""Kernels on Trainium2.  Judges: AWS's Trainium2 guide, NumPy, times published of trn2.3xlarge."""

from functools import cache

import numpy as np
import pytest

from tests.for_each import for_each, for_rows, raises
from tests.nki.cases import stored
from tests.texts import rows_beside
from trainium_edu import nki
from trainium_edu.neuroncore import NeuronCore
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.instruction_set import cycles_of
from trainium_edu.nki import collectives as ncc
from trainium_edu.nki import isa as nisa
from trainium_edu.nki import language as nl
from trainium_edu.nki import published
from trainium_edu.nki.examples import profiled
from trainium_edu.specs import TRN1, TRN2, Kind, NkiValidationError
from trainium_edu.specs.times import TIMES_TRN2

predict = cache(published.compare)
VECTOR_MODES = rows_beside(__file__, "tables.toml")["vector_modes"]


@for_each("row", TIMES_TRN2, ids=str)
def test_published_times_lie_in_their_bands(row):
    """Judge: a course's report, profiles and a study of fused kernels, all on trn2.3xlarge."""
    prediction = predict(row)
    assert prediction.is_inside
    assert abs(prediction.off) < (0.15 if row.source == "course-2025" else 0.35)


def test_half_of_the_published_times_are_met_within_a_quarter():
    """Judge: the same; asked are 25 % in the median of those that chose nothing."""
    off = [abs(predict(row).off) for row in TIMES_TRN2 if row.source == "kernel-fusion-study"]
    assert len(off) == 12
    assert np.median(off) < 0.25
    assert "kernel-fusion-study: 12 rows" in published.summary(map(predict, TIMES_TRN2))


def test_the_studys_kernels_compute_what_theirs_do():
    """Judge: NumPy."""
    draw = np.random.default_rng(3).normal
    q, k, v, x, w, bias = (
        draw(size=(128, n)).astype(np.float32) / 4 for n in (512, 512, 512, 128, 512, 512)
    )
    weights = np.exp(q.T @ k - (q.T @ k).max(axis=1, keepdims=True))
    wanted = weights / weights.sum(axis=1, keepdims=True) @ v.T
    for is_fused in (True, False):
        found = nki.run(profiled.attention, q, k, v, is_fused, spec=TRN2).outputs
        np.testing.assert_allclose(found.reshape(512, 128), wanted, atol=1e-5)
    y = x.T @ w + bias[:1]
    wanted = y / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3)))
    for by_hand in (True, False):
        found = nki.run(profiled.gelu_of_product, x, w, bias[:1], by_hand, spec=TRN2).outputs
        np.testing.assert_allclose(found, wanted, atol=1e-3)


def test_the_record_is_the_one_before_with_what_the_guide_says_is_new():
    """Judge: the Trainium2 guide; tests/specs looks every figure up in it."""
    assert TRN2.hbm_bytes_per_core.value == 12 * 2**30
    assert TRN2.tensor_engine.peak_flops_from_array.value == pytest.approx(78.64e12, rel=1e-3)
    assert TRN2.sbuf.capacity_bytes.value == 28 * 2**20
    assert TRN2.dma.bytes_per_s_derived.value == TRN2.dma.bytes_per_s.value == 368e9
    assert TRN2.cycles.activation.kind is Kind.ASSUMED  # carried over, and says so
    assert TRN2.cycles.activation.note == "as before"
    assert not hasattr(TRN2, "peak_flops_launch")
    assert not hasattr(TRN2.measured, "mamba_v1_ns")
    before, now = dict(TRN1.walk()), dict(TRN2.walk())
    assert {name for name in now if name not in before} == {
        f"cycles.{name}" for name in ("tensor_copy_2x", "tensor_copy_4x", "tensor_scalar_2x",
                                      "tensor_scalar_4x", "tensor_tensor_2x")
    } | {"gpsimd_engine.dma_bytes_per_s", "timing.gpsimd_dma", "timing.dge_ns",
         "timing.dge_ns_range"}  # fmt: skip
    for fact in now.values():
        assert fact.recompute() == fact.value


def _tiles(core, memories, dtype, step=1):
    made = []
    for memory in memories:
        tile = getattr(core, memory)((128, 512 * step), dtype)
        made.append(tile.sliced(slice(None), slice(None, None, step)))
    return made


@for_each("instruction, memories, dtype, step, cycles", VECTOR_MODES)
def test_vectors_performance_modes(instruction, memories, dtype, step, cycles):
    """Judge: "Vector Engine Performance Mode"; of FP32, profiles on trn2.3xlarge."""
    core = NeuronCore(TRN2, values=False)
    dst, *read = _tiles(core, memories, dtype, step)
    operands = {
        "tensor_copy": {"src": read[0]},
        "tensor_scalar": {"data": read[0], "op0": "subtract", "operand0": 2.0},
        "tensor_tensor": {"data1": read[0], "data2": read[-1], "op": "add"},
    }[instruction]
    core.issue(instruction, dst=dst, engine=Engine.VECTOR, **operands)
    made = core.program.instructions[-1]
    assert cycles_of(instruction, made.work, made.engine, TRN2) == cycles


def test_descriptors_are_made_one_transfer_at_a_time(monkeypatch):
    """Judge: the guide to DGE: two a core, of Sync and Scalar, "about 600 ns" an instruction."""

    def timed(*modes, spec=TRN2, dge=None):
        def kernel(x):
            tile = nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf)
            for mode in modes or ({},):
                for k in nl.affine_range(64):
                    nisa.dma_copy(tile[:, nl.ds(2 * k, 1)], x[:, nl.ds(2 * k, 1)], **mode)

        run = nki.run(kernel, np.zeros((128, 128), np.uint8), spec=spec, dge=dge)
        waited = run.why().ns_by(lambda piece: piece.cause)
        return run.timeline.makespan_ns, waited.get("DMA descriptors", 0)

    ns = TRN2.timing.dge_ns.value
    scalar = {"dge_mode": nisa.dge_mode.hwdge, "engine": nisa.engine.scalar}
    assert 0.9 * 600 <= ns <= 600
    assert timed()[1] == timed(scalar)[1] == 63 * ns  # all but the last one's is waited for
    assert timed({}, scalar)[0] < 1.5 * timed()[0]  # side by side
    monkeypatch.setenv("NEURON_CC_FLAGS", "--auto-cast none --disable-dge")
    assert (timed()[1], timed(dge=True)[1]) == (0, 63 * ns)
    for mode in (nisa.dge_mode.none, nisa.dge_mode.swdge):
        assert timed({"dge_mode": mode}, dge=True)[1] == 0
    assert timed(spec=TRN1, dge=True)[1] == 0
    with pytest.raises(NkiValidationError, match="must be sync or scalar"):
        timed(scalar | {"engine": nisa.engine.vector})


def test_sizes_and_generation_are_the_running_chips(monkeypatch):
    def kernel(x):
        tile = nl.load(x)
        tile = nl.add(tile, float(nl.tile_size.sbuf_fmax_bytes // 1024))
        tile = nl.add(tile, 1000.0 * int(nisa.get_nc_version()))
        return stored(tile, x.dtype)

    x = np.zeros((128, 8), np.float32)
    assert np.all(nki.run(kernel, x).outputs == 2192)
    assert np.all(nki.run(kernel, x, spec=TRN2).outputs == 3224)
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn2")
    assert np.all(nki.jit(kernel)(x) == 3224)
    assert nl.tile_size.sbuf_size_bytes == 28 * 2**20
    assert nisa.get_nc_version() == nisa.nc_version.gen3


def test_a_tile_of_224_kib_fits_on_trainium2_alone():
    NeuronCore(TRN2, values=False).sbuf((128, 56 * 1024), "float32", address=0)
    with pytest.raises(NkiValidationError, match="196608"):
        NeuronCore(TRN1, values=False).sbuf((128, 56 * 1024), "float32", address=0)


def test_hbm_is_the_chips_share():
    shape = (13 * 2**30 // 4 // 128, 128)
    NeuronCore(TRN1, values=False).hbm(shape, "float32")
    with pytest.raises(NkiValidationError, match=r"1/8 of the chip's 96 GiB"):
        NeuronCore(TRN2, values=False).hbm(shape, "float32")


def _double(stationary, moving):
    out = nl.ndarray((stationary.shape[2], moving.shape[2]), nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray(out.shape, nl.float32, buffer=nl.psum)
    nisa.nc_matmul(
        tile, nl.load(stationary), nl.load(moving), perf_mode=nisa.matmul_perf_mode.double_row
    )
    nl.store(out, nl.copy(tile))
    return out


def test_a_double_row_multiplies_two_fp8_rows_in_the_time_of_one():
    """Judge: NumPy; the guide: "double the FLOPs" in "the same amount of time"."""
    import ml_dtypes

    rng = np.random.default_rng(0)
    one, two = (rng.normal(size=(128, 2, n)).astype(ml_dtypes.float8_e5m2) for n in (128, 512))
    run = nki.run(_double, one, two, spec=TRN2)
    wanted = np.einsum("kjm,kjn->mn", one.astype(np.float32), two.astype(np.float32))
    np.testing.assert_allclose(run.outputs, wanted, rtol=1e-4, atol=1e-4)
    made = next(i for i in run.program.instructions if i.name == "nc_matmul")
    assert cycles_of("nc_matmul", made.work, made.engine, TRN2) == 512
    assert made.flops == 2 * 256 * 128 * 512
    with pytest.raises(NkiValidationError, match=r"needs NeuronCore-v3 \(Trainium2\)"):
        nki.run(_double, one, two, spec=TRN1)
    with pytest.raises(NkiValidationError, match="FP8 tiles"):
        nki.run(_double, one.astype(np.float32), two.astype(np.float32), spec=TRN2)


def test_a_transpose_keeps_infinities_to_themselves():
    """Judge: NumPy; the guide: "can correctly transpose input tensors with NaN/Inf"."""

    def kernel(x):
        out = nl.ndarray(x.shape[::-1], x.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray(out.shape, x.dtype, buffer=nl.psum)
        nisa.nc_transpose(tile, nl.load(x), engine=nisa.engine.tensor)
        nl.store(out, nl.copy(tile))
        return out

    x = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    x[3, 5], x[7, 9] = np.inf, np.nan
    np.testing.assert_array_equal(nki.run(kernel, x, spec=TRN2).outputs, x.T)
    assert np.isnan(nki.run(kernel, x, spec=TRN1).outputs).sum() > 1


def test_a_bias_may_be_a_number_there():
    """Judge: NumPy."""

    def kernel(x):
        tile = nl.load(x)
        nisa.activation(tile, nl.square, tile, scale=2.0, bias=3.0)
        return stored(tile, x.dtype)

    x = np.arange(128 * 4, dtype=np.float32).reshape(128, 4) / 64
    np.testing.assert_allclose(nki.run(kernel, x, spec=TRN2).outputs, (2 * x + 3) ** 2, rtol=1e-6)
    with pytest.raises(NkiValidationError, match=r"number 3.0, which needs NeuronCore-v3"):
        nki.run(kernel, x, spec=TRN1)


def _filled(fill, *arrays, shape, dtype=nl.float32, spec=TRN2):
    """Return what `fill` writes to a tile, given tiles of the arrays."""

    def kernel(*tensors):
        tile = nl.zeros(shape, dtype, buffer=nl.sbuf)
        fill(tile, *map(nl.load, tensors))
        return stored(tile, dtype)

    return nki.run(kernel, *arrays, spec=spec).outputs


@for_rows("compare", "equal", "less", "less_equal", "greater", "greater_equal")
def test_a_range_is_selected_by_index(compare):
    """Judge: NumPy, as the reference spells it; FP32's least number where nothing is chosen."""
    x = np.random.default_rng(1).normal(size=(128, 40)).astype(np.float32)
    low, high = (np.full((128, 1), n, np.float32) + np.arange(128)[:, None] % 5 for n in (9, 20))

    def fill(tile, x, low, high):
        nisa.range_select(tile[:, 1:], x, getattr(nl, compare), nl.less, low, high,
                          reduce_res=tile[:, :1], range_start=3)  # fmt: skip

    low, high = low.astype(np.float32), high.astype(np.float32)
    found = _filled(fill, x, low, high, shape=(128, 41))
    index = 3 + np.arange(40)
    wanted = np.where(getattr(np, compare)(index, low) & (index < high), x, np.finfo("f4").min)
    np.testing.assert_array_equal(found, np.hstack([wanted.max(1, keepdims=True), wanted]))
    with pytest.raises(NkiValidationError, match=r"needs NeuronCore-v3 \(Trainium2\)"):
        _filled(fill, x, low, high, shape=(128, 41), spec=TRN1)


def test_nonzeros_are_found_in_one_partition_of_sixteen():
    """Judge: NumPy, and the reference's example."""
    x = np.zeros((128, 8), np.int32)
    x[0], x[16] = [0, 1, 1, 0, 0, 1, 0, 0], 7
    x[1] = 1

    def fill(tile, x):
        nisa.nonzero_with_count(tile, x, index_offset=16, padding_val=-1)

    found = _filled(fill, x, shape=(128, 9), dtype=nl.int32)
    assert found[0].tolist() == [17, 18, 21, -1, -1, -1, -1, -1, 3]
    assert found[16].tolist() == [*range(16, 24), 8]
    assert not found[1].any()


def test_gpsimds_random_numbers_are_xorwow():
    """Judge: D's standard library, the unit test of its Xorshift192 (dlang/phobos, std.random).

    It begins with the state that Marsaglia prints (Xorshift RNGs, 2003).
    """
    published = [246875399, 3690007200, 1264581005, 3906711041, 1866187943, 2481925219, 2464530826,
                 1604040631, 3653403911]  # fmt: skip
    state = np.uint32([123456789, 362436069, 521288629, 88675123, 5783321, 6615241])
    seeds = np.tile(state, (2, 1))

    def fill(tile, seeds):
        nisa.rand_set_state(seeds)
        nisa.rng(tile[:, :4], engine=nisa.engine.gpsimd)
        nisa.rand_get_state(tile[:, 9:])
        nisa.rand_set_state(tile[:, 9:])
        nisa.rng(tile[:, 4:9], engine=nisa.engine.gpsimd)

    found = _filled(fill, seeds, shape=(2, 15), dtype=nl.uint32)
    assert (found[:, :9].tolist(), found[1, 14]) == ([published] * 2, 6615241 + 4 * 362437)


def test_a_transpose_gathers_rows():
    """Judge: NumPy, as the reference spells it: the rows of an index, transposed."""
    import ml_dtypes

    def kernel(x, index, wide=128):
        tile = nl.zeros((wide, 32), x.dtype, buffer=nl.sbuf)
        rows = x.ap(pattern=[[128, 32], [1, wide]], vector_offset=nl.load(index), indirect_dim=0)
        nisa.dma_transpose(tile, rows, axes=(1, 0))
        return stored(tile, x.dtype)

    draw = np.random.default_rng(4)
    x = draw.normal(size=(64, 128)).astype(ml_dtypes.bfloat16)
    index = draw.integers(0, 64, (32, 1)).astype(np.uint32)
    np.testing.assert_array_equal(nki.run(kernel, x, index, spec=TRN2).outputs, x[index[:, 0]].T)
    raises(NkiValidationError, "2 bytes", nki.run, kernel, x.astype(np.float32), index, spec=TRN2)
    with pytest.raises(NkiValidationError, match="uint32 index"):
        nki.run(kernel, x, index.astype(np.int32), spec=TRN2)
    with pytest.raises(NkiValidationError, match=r"needs NeuronCore-v3 \(Trainium2\)"):
        nki.run(kernel, x, index, spec=TRN1)


def test_the_scalar_engine_copies_bits():
    """Judge: NumPy; integers that FP32 cannot hold."""
    x = np.full((128, 8), 2**24 + 1, np.int32)

    def fill(tile, x):
        nisa.tensor_copy(tile, x, engine=nisa.engine.scalar)

    assert (_filled(fill, x, shape=(128, 8), dtype=nl.int32) == x).all()
    with pytest.raises(NkiValidationError, match=r"activation with op=nl\.copy"):
        _filled(fill, x, shape=(128, 8), dtype=nl.int32, spec=TRN1)


@nki.jit
def _exchange(x, source=None, mover=nisa.dma_engine.dma):
    core = nl.program_id(0)
    both, out = (nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm) for _ in range(2))
    mine = nl.load(x[core])
    theirs = nl.ndarray(mine.shape, x.dtype, buffer=nl.sbuf)
    nisa.sendrecv(mine, theirs, 1 - core, 1 - core if source is None else source, 0, mover)
    nl.store(both[core], mine)
    nisa.core_barrier(both, (0, 1))
    nl.store(out[core], nl.add(theirs, nl.load(both[1 - core])))
    return out


def test_two_cores_that_are_one_exchange_tiles_and_wait_for_each_other():
    """Judge: NumPy; of the time, a DMA's: what an exchange costs is assumed."""
    x = np.random.default_rng(2).normal(size=(2, 128, 64)).astype(np.float32)
    run = nki.run(_exchange[2], x, spec=TRN2)
    np.testing.assert_array_equal(run.outputs, 2 * x[::-1])
    assert run.timeline.makespan_ns > 4 * TRN2.dma.start_ns.value  # load, exchange, barrier, store
    long = np.zeros((2, 128, 257), np.float32)
    for kernel, arguments, words in (
        (_exchange, (x[:1],), "start it as kernel"),
        (_exchange[2], (x, 0), "which sends to core 1"),
        (_exchange[2], (long, None, nisa.dma_engine.gpsimd_dma), "at most 256"),
    ):
        raises(NkiValidationError, words, nki.run, kernel, *arguments, spec=TRN2)
    raises(NkiValidationError, "this is a NeuronCore-v2", nki.run, _exchange[2], x, spec=TRN1)


def test_chunks_of_any_length_are_gathered(monkeypatch):
    """Judge: the reference's layout: equal slots, a count of what came from each rank."""
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn2")
    group = ncc.ReplicaGroup([[0, 1, 2, 3]])

    def kernel(x, metadata):
        out = nl.ndarray((4, 8), x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.zeros((4, 8), x.dtype, buffer=nl.sbuf))
        ncc.all_gather_v([x], [out], group, metadata)
        return out

    x = 10 * np.arange(1, 5, dtype=np.float32)[:, None] + np.arange(8, dtype=np.float32)
    tables = [np.uint32([[k, 9, 9, 9], [1, 9, 9, 9], [0] * 4]) for k in range(4)]
    wanted = np.zeros((4, 8), np.float32)
    for k in range(4):
        wanted[k, :k] = x[k, 1 : k + 1]
    for run in nki.run_ranks(kernel, list(zip(x, tables, strict=True))):
        np.testing.assert_array_equal(run.outputs, wanted)
    assert tables[2][2].tolist() == [0, 1, 2, 3]
    group = ncc.ReplicaGroup([[0, 1]])
    with pytest.raises(NkiValidationError, match="four ranks"):
        nki.run_ranks(kernel, list(zip(x, tables, strict=True))[:2])


def test_transfers_of_gpsimd_are_timed_like_others_and_the_facts_say_so():
    """An assumption: the guide has their rate, and nobody published what one costs."""

    def kernel(x, mover):
        half = nl.program_id(0)
        tile, other = nl.load(x[half]), nl.ndarray((128, 64), nl.float32, buffer=nl.sbuf)
        nisa.sendrecv(tile, other, 1 - half, 1 - half, 0, dma_engine=mover)
        out = nl.ndarray((2, 128, 64), nl.float32, buffer=nl.shared_hbm)
        nl.store(out[half], other)
        return out

    x = np.arange(2 * 128 * 64, dtype=np.float32).reshape(2, 128, 64)
    runs = [nki.run(nki.jit(kernel)[2], x, mover, spec=TRN2) for mover in
            (nisa.dma_engine.dma, nisa.dma_engine.gpsimd_dma)]  # fmt: skip
    np.testing.assert_array_equal(runs[0].outputs, x[::-1])
    assert runs[0].timeline.makespan_ns == runs[1].timeline.makespan_ns
    assert TRN2.timing.gpsimd_dma.kind == "assumed"
