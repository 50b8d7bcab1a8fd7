"""Exercises of lesson 05: kernels that are right, that are fast, and one that is neither.

A kernel is asked for its program, which is issued again and timed here (``exercises.request``): its
outputs, time and counts are the check's own.
"""

import numpy as np

from trainium_edu.exercises import asked
from trainium_edu.exercises.exercise import exercise
from trainium_edu.exercises.judge import has_form, reject, reject_if


@exercise("05/tile-add")
def tile_add(answer, numbers):
    """Check values on two heights, and the time against a tiled kernel's."""
    shape = (128 * numbers.tiles, numbers.columns)
    rng = np.random.default_rng(numbers.seed)
    x, y = (rng.standard_normal(shape).astype(np.float32) for _ in range(2))
    run = asked.computed(answer, (x, y), x + y, {})
    from trainium_edu.nki.examples.vector_add import add_tiles

    slower = run.timeline.makespan_ns / asked.timed(add_tiles, x, y, width=512)
    adds = sum(i.name == "tensor_tensor" for i in run.program.instructions)
    if slower <= 1.5:
        return asked.Figures(run)
    reject_if(adds >= shape[0], "a row at a time", slower=slower)
    reject_if(adds > 4 * numbers.tiles, "narrow tiles", slower=slower, adds=adds)
    reject("slow", slower=slower)


@exercise("05/transpose")
def transpose(answer, numbers):
    """Check [128, n] -> [n, 128] for n of several blocks."""
    n = 128 * numbers.blocks
    x = np.random.default_rng(numbers.seed).standard_normal((128, n)).astype(np.float32)
    blocks = x.reshape(128, numbers.blocks, 128).transpose(1, 0, 2)
    wrong = {
        "reshaped": x.reshape(n, 128),
        "blocks not turned": blocks.reshape(n, 128),
        "blocks in reverse": blocks[::-1].transpose(0, 2, 1).reshape(n, 128),
    }
    return asked.Figures(asked.computed(answer, (x,), x.T, wrong))


@exercise("05/matmul-mfu")
def matmul_mfu(answer, numbers):
    """Check lhsT.T @ rhs in BF16 and its MFU."""
    import ml_dtypes

    rng, n = np.random.default_rng(numbers.seed), 2048
    lhs, rhs = (
        rng.integers(-2, 3, (numbers.k, size)).astype(ml_dtypes.bfloat16) for size in (numbers.m, n)
    )

    def product(a, b):  # of whole numbers: exact in any order
        exact = a.astype(np.float32).T @ b.astype(np.float32)
        return exact.astype(ml_dtypes.bfloat16).astype(np.float32)

    wrong = {"last piece only": product(lhs[-128:], rhs[-128:])}
    run = asked.computed(answer, (lhs, rhs), product(lhs, rhs), wrong, dtype="bfloat16")
    mfu, needed = run.timeline.mfu, lhs.nbytes + rhs.nbytes + run.outputs[0].nbytes
    if mfu >= TARGET_MFU:
        return asked.Figures(run)
    times = run.timeline.hbm_bytes / needed
    kind = "loads again and again" if times > 1.5 else "too slow"
    reject(kind, mfu=mfu, target=TARGET_MFU, times=times)


TARGET_MFU = 2 / 3  #: more than any stage of the lesson reaches


@exercise("05/bias-gelu")
def bias_gelu(answer, numbers):
    """Check gelu(x + bias) for x [128, n], bias [128, 1], and the count of instructions."""
    from math import erf, sqrt

    rng = np.random.default_rng(numbers.seed)
    x = rng.standard_normal((128, numbers.columns)).astype(np.float32)
    bias = rng.standard_normal((128, 1)).astype(np.float32)
    run = asked.report(answer, x, bias)
    out = asked.output(run, x.shape)
    phi = np.vectorize(lambda v: v * 0.5 * (1 + erf(v / sqrt(2))))
    wanted = phi(x.astype(np.float64) + bias)
    if np.abs(out - wanted).max() > 1e-2:
        alone = phi(x.astype(np.float64))
        reject_if(np.abs(out - alone).max() < 1e-3, "no bias")
        reject_if(np.abs(out - (alone + bias)).max() < 1e-3, "bias after")
        reject_if(np.abs(out - wanted).max() <= 0.02 * np.abs(wanted).max(), "too coarse")
        reject("wrong values")
    asked.expect_moved(run, x, bias)
    reject_if(asked.passes_of(run) > 1, "not fused", passes=asked.passes_of(run))
    return asked.Figures(run)


def faulty_kernel(numbers) -> str:
    """Return which of the four kernels has the fault, for these numbers."""
    from trainium_edu.nki.examples.suspects import NAMES

    return NAMES[numbers.seed % len(NAMES)]


def suspects(student: str = "") -> str:
    """Return the sources of this student's four kernels; one of them reads what nobody wrote."""
    from trainium_edu.nki.examples.suspects import listing

    return listing(faulty_kernel(unwritten.numbers(student)))


@exercise("05/unwritten")
def unwritten(answer, numbers):
    """Check the name of the faulty kernel and the number of unwritten columns."""
    from trainium_edu.nki.examples.suspects import NAMES

    reject_if(not has_form(answer, str, int), "wrong form")
    name, columns = answer
    true = faulty_kernel(numbers)
    reject_if(name not in NAMES, "no such kernel", kernels=", ".join(NAMES))
    reject_if(name != true, "a sound kernel", name=name)
    count = 32 // numbers.step if true == "row_parts" else numbers.step
    reject_if(columns == 128 * count, "elements, not columns")
    reject_if(columns != count, "wrong count", name=name, columns=columns)
