"""Plans: rounding once per operation, lifetimes, memory that is used again, replicas.

Judges: ml_dtypes' cast to BF16; ``numerics.round_to``; NumPy; a count by hand; the kernel's count
of page faults.
"""

import weakref

import ml_dtypes
import numpy as np
import pytest

from tests.for_each import for_rows
from trainium_edu.numerics import cast_to_bits, rounding
from trainium_edu.xla.executable import Executable
from trainium_edu.xla.executor import Plan, Setting, as_held
from trainium_edu.xla.graph import Graph, as_type
from trainium_edu.xla.operations import apply, constant, parameter

RNG = np.random.default_rng(0)


def of(shape, dtype="float32", number=0):
    return parameter(number, as_type(shape, dtype), "")


def through_bf16(x):
    return x.astype(ml_dtypes.bfloat16).astype(np.float32)


@for_rows("shape", (), (1,), (255,), (256,), (257,), (3, 1000))
@for_rows("kind", "nearest", "stochastic")
def test_floats_are_rounded_as_codes_are(kind, shape):
    x = RNG.standard_normal(shape).astype(np.float32)
    special = np.float32([np.nan, np.inf, -np.inf, -0.0, 1e-40, 3.4e38])
    x = np.concatenate([x.ravel(), special]) if x.ndim == 1 else x
    found = rounding.round_floats(x, "bf16", kind, seed=3, step=5)
    codes = cast_to_bits(x, "bf16", kind, seed=3, step=5).astype(np.uint32) << 16
    np.testing.assert_array_equal(np.asarray(found).view(np.uint32), codes)
    turned = np.asfortranarray(x).T if x.ndim == 2 else x
    again = rounding.round_floats(turned, "bf16", kind, seed=3, step=5)
    np.testing.assert_array_equal(again, rounding.round_to(turned, "bf16", kind, seed=3, step=5))


@for_rows("kind", "nearest", "stochastic")
def test_rounding_in_place_spares_what_others_hold(kind):
    x = of((300,))
    narrow = apply("cast", x, dtype="bfloat16")  # gives back the very array that it gets
    plan = Plan(Graph("g", (x,), (narrow, apply("exp", narrow))))
    values = RNG.standard_normal(300).astype(np.float32)
    before = values.copy()
    first, second = plan.run([values], Setting(kind))
    np.testing.assert_array_equal(values, before)
    kept = first.copy()
    wanted = rounding.round_floats(np.exp(kept), "bf16", kind, step=1)
    np.testing.assert_array_equal(second, wanted)
    np.testing.assert_array_equal(first, kept)


def test_each_result_is_rounded_once_and_a_constant_too():
    x = of((50, 40), "bfloat16")
    third = constant([[1 / 3]], "bfloat16")
    graph = Graph("g", (x,), (apply("add", apply("multiply", x, third), x),))
    values = through_bf16(RNG.standard_normal((50, 40)).astype(np.float32))
    (found,) = Plan(graph).run([values])
    product = through_bf16(values * through_bf16(np.float32(1 / 3)))
    np.testing.assert_array_equal(found, through_bf16(product + values))


def test_numbers_that_move_stay_and_a_number_that_a_pad_brings_is_rounded():
    x = of((4, 6), "bfloat16")
    turned = apply("transpose", x, perm=(-1, -2))
    padded = apply("pad", turned, low=(1, 0), high=(0, 0), value=1 / 3)
    plan = Plan(Graph("g", (x,), (turned, padded)))
    values = through_bf16(RNG.standard_normal((4, 6)).astype(np.float32))
    first, second = plan.run([values], Setting("stochastic", seed=1))
    np.testing.assert_array_equal(first, values.T)
    np.testing.assert_array_equal(second[1:], values.T)
    assert set(np.unique(second[0])) <= {np.float32(0.33203125), np.float32(0.333984375)}


def test_random_bits_follow_seed_and_step_and_are_shared_by_replicas():
    x = of((300,), "bfloat16")
    plan = Plan(Graph("g", (x,), (apply("exp", x),)))
    values = through_bf16(RNG.standard_normal(300).astype(np.float32))

    def run(**setting):
        return plan.run([values], Setting("stochastic", **setting))[0]

    np.testing.assert_array_equal(run(seed=1, step=2), run(seed=1, step=2))
    assert not np.array_equal(run(seed=1, step=2), run(seed=2, step=2))
    assert not np.array_equal(run(seed=1, step=2), run(seed=1, step=3))
    values = through_bf16(RNG.standard_normal((2, 300)).astype(np.float32))
    same = np.stack([values[0], values[1], values[0]])
    (found,) = plan.run([same], Setting("stochastic", replicas=3))
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(found[0], plan.run([values[0]], Setting("stochastic"))[0])


def test_an_operation_for_single_replicas_is_called_for_each():
    table, rows = of((5, 3)), of((4,), "int32", 1)
    plan = Plan(Graph("g", (table, rows), (apply("gather", table, rows),)))
    tables = RNG.standard_normal((2, 5, 3)).astype(np.float32)
    chosen = np.array([4, 0, 0, 2], np.int32)
    (found,) = plan.run([tables, chosen], Setting(replicas=2))
    np.testing.assert_array_equal(found, tables[:, chosen])


@for_rows("keeps, alive", (False, [0, 1, 0]), (True, [0, 1, 1]))
def test_values_are_let_go_at_their_last_use(keeps, alive):
    x = of((8,))
    y = apply("exp", x)
    z = apply("add", apply("negate", y), y)
    found, earlier = [], []

    def look(node, value):
        found.append(sum(one() is not None for one in earlier))
        earlier.append(weakref.ref(value))

    Plan(Graph("g", (x,), (z, y) if keeps else (z,))).run([np.ones(8, np.float32)], look=look)
    assert found == alive


def test_the_high_water_mark_is_what_lives_at_once_by_hand():
    x = of((1000,), "bfloat16")  # 2 000 bytes, there throughout
    wide = apply("cast", x, dtype="float32")  # 4 000, to the end
    raised = apply("exp", wide)  # 4 000, until they are added up
    total = apply("reduce_sum", raised, axes=(-1,), keep=True)  # 4
    out = apply("multiply", wide, total)  # 4 000: the place of `raised`
    executable = Executable(Graph("g", (x,), (out,)), is_fused=False)
    assert executable.hbm_bytes == 2000 + 4000 + 4000 + 4


def test_a_run_uses_the_pages_of_the_one_before():
    resource = pytest.importorskip("resource")
    x = of((512, 512))
    y = x
    for _ in range(20):
        y = apply("add", apply("multiply", y, x), x)
    plan = Plan(Graph("g", (x,), (apply("reduce_sum", y, axes=(-1, -2), keep=False),)))
    values = [as_held(np.ones((512, 512)), x.type)]

    def faults():
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(5):
            plan.run(values)
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    faults()
    pages = 5 * 40 * 512 * 512 * 4 // 4096  # if each result were new memory
    assert faults() < pages / 20
