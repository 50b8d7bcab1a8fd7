"""Random numbers.  Judges: ``numerics.philox4x32`` called block by block (itself held to the
Random123 vectors), binomial bounds for dropout, replay."""

import numpy as np

from tests.for_each import for_each, for_rows
from trainium_edu.neuroncore import NeuronCore
from trainium_edu.neuroncore.recording.dtypes import DTYPES
from trainium_edu.neuroncore.recording.instruction_set import INSTRUCTIONS, cycles_of
from trainium_edu.numerics.random_bits import philox4x32
from trainium_edu.specs import TRN1


def words_by_hand(n, seed):
    """Element 64 t + 16 w + b is word w of block 16 t + b, in the stream set apart for draws."""
    out = []
    for element in range(n):
        t, w, b = element // 64, element // 16 % 4, element % 16
        block, step = 16 * t + b, 2**63
        counter = [block, 0, step % 2**32, step >> 32]
        out.append(int(philox4x32(counter, [seed % 2**32, seed >> 32])[w]))
    return np.array(out, np.uint32)


def seeded(core, seed):
    value = core.sbuf((1, 1), "uint32")
    core.dma_copy(dst=value, src=core.hbm(np.uint32([[seed]])))
    core.set_rng_seed(src_seeds=value)


def test_rng_gives_philox_words_from_the_seed(core):
    seeded(core, 12345)
    one, two = core.sbuf((4, 16), "uint32"), core.sbuf((3, 5), "uint32")
    core.rng(dst=one)
    core.rng(dst=two)
    got = np.concatenate([core.value(one).reshape(-1), core.value(two).reshape(-1)])
    np.testing.assert_array_equal(got, words_by_hand(79, 12345))


@for_rows("dtype", "int8", "uint8", "int16", "uint16", "int32", "uint32")
@for_rows("memory", "sbuf", "psum")
def test_rng_keeps_the_least_significant_bits(dtype, memory):
    core = NeuronCore(seed=7)
    dst = getattr(core, memory)((2, 9), dtype)
    core.rng(dst=dst)
    low = words_by_hand(18, 7).astype(np.uint64) % 2 ** (8 * DTYPES[dtype].itemsize)
    unsigned = core.value(dst).view(f"u{DTYPES[dtype].itemsize}")
    np.testing.assert_array_equal(unsigned.reshape(-1), low)


def test_the_same_seed_replays():
    results = []
    for seed in (1, 1, 2):
        core = NeuronCore()
        seeded(core, seed)
        dst = core.sbuf((8, 8), "uint32")
        core.rng(dst=dst)
        results.append(core.value(dst))
    np.testing.assert_array_equal(results[0], results[1])
    assert (results[0] != results[2]).any()


@for_each("dtype", DTYPES)
@for_each("prob", [0.0, 0.2, 1.0])
def test_dropout_zeroes_the_stated_share(dtype, prob):
    core = NeuronCore(seed=3)
    values = np.ones((128, 100)).astype(DTYPES[dtype].storage)
    data, dst = core.sbuf((128, 100), dtype), core.sbuf((128, 100), dtype)
    core.dma_copy(dst=data, src=core.hbm(values, dtype))
    core.dropout(dst=dst, data=data, prob=prob)
    dropped = core.value(dst).astype(float) == 0
    spread = 5 * np.sqrt(prob * (1 - prob) * dropped.size)  # five standard deviations
    assert abs(dropped.sum() - prob * dropped.size) <= spread
    np.testing.assert_array_equal(core.value(dst)[~dropped], values[~dropped])


def test_dropout_by_partition(core):
    prob, data = core.sbuf((4, 1)), core.sbuf((4, 2, 32), "bfloat16")
    core.dma_copy(dst=prob, src=core.hbm(np.float32([[0], [1], [0], [1]])))
    core.dma_copy(dst=data, src=core.hbm(np.ones((4, 2, 32), np.float32)))
    core.dropout(dst=data, data=data, prob=prob)
    np.testing.assert_array_equal(core.value(data).astype(float).mean((1, 2)), [1, 0, 1, 0])


def test_draws_are_not_pure():
    """Two equal draws give different bits, so no pass may merge them."""
    assert not any(INSTRUCTIONS[name].pure for name in ("rng", "dropout", "set_rng_seed"))


def test_cycles_are_those_of_dropout(timed):
    timed.dropout(dst=timed.sbuf((4, 100)), data=timed.sbuf((4, 100)), prob=0.5)
    timed.rng(dst=timed.sbuf((4, 30), "uint32"))
    found = [cycles_of(i.name, i.work, i.engine, TRN1) for i in timed.program.instructions]
    assert found == [100, 64]  # max(MIN, N)
