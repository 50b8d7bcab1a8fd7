"""What lessons say in words.  Judges: the data, the runs and the formats that they speak about."""

import json
import math
import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import trainium_edu.nki as nki
from tests.for_each import for_rows
from trainium_edu.exercises import kernels
from trainium_edu.neuroncore.systolic_array import evidence_table
from trainium_edu.nki import published
from trainium_edu.nki.examples import attention, softmax
from trainium_edu.nki.examples.matmul import STAGES, blocked, fully_blocked
from trainium_edu.nki.examples.vector_add import add_rows, add_tiles
from trainium_edu.numerics import configure, range_of
from trainium_edu.training import train
from trainium_edu.training.data import BATCH, batches, digits
from trainium_edu.training.samples import sample
from trainium_edu.widgets.training import RATES

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


def words(lesson):
    """Return the prose of a lesson, and what its reveals say, on one line."""
    (path,) = NOTEBOOKS.glob(f"{lesson}_*.ipynb")
    parts = []
    for cell in json.loads(path.read_text())["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif re.search(r"predict\.(reveal|gate)\(", source):
            said = [out.get("data", {}).get("text/plain", "") for out in cell["outputs"]]
            parts.extend("".join(text) for text in said)
    return " ".join(" ".join(parts).split())


def test_00_says_how_many_images_a_pass_takes():
    images = len(digits().train_labels)
    passes = [batches(images, seed=0, epoch=epoch) for epoch in (0, 1)]
    assert [np.shape(p) for p in passes] == [(44, BATCH)] * 2
    left_out = [set(range(images)) - set(np.ravel(p).tolist()) for p in passes]
    assert len(left_out[0]) == 29
    assert left_out[0] != left_out[1]
    assert "44 batches of 32 in a new order (so 29 images sit out each pass" in words("00")
    assert "twenty times each" not in words("00")


def test_00_says_of_the_slider_what_the_slider_shows():
    reads = {
        rate: train("stochastic", learning_rate=rate, epochs=20, seeds=[0], rounding_seed=0)
        .final_accuracy[0] * 360
        for rate in (*RATES, 3.0)
    }  # fmt: skip
    offered = [reads[rate] for rate in sorted(RATES)]
    assert offered == sorted(offered)  # the smaller, the less
    assert reads[3.0] == pytest.approx(36, abs=10)  # guessing
    assert "it stumbles" not in words("00")
    assert "at a rate of 3 the network ends up guessing" in words("00")


def test_01_counts_powers_of_two_and_numbers():
    x = np.abs(sample("gradients").astype(float))
    powers = np.floor(np.log2(x[x > 0]))
    e4m3 = range_of("fp8_e4m3")
    held = math.floor(math.log2(e4m3.max)) - math.log2(e4m3.smallest_subnormal) + 1
    said = f"E4M3 covers {held:.0f} powers of two; these gradients cover {np.ptp(powers) + 1:.0f}"
    assert said in words("01")
    counts = [range_of(configure(e, 7 - e)).finite_values for e in range(2, 7)]
    assert f"({min(counts)} to {max(counts)} of them)" in words("01")
    lost = 1 - range_of("bf16").max / range_of("fp32").max
    assert f"all but the last {lost:.1%}".replace("%", " %") in words("01")


@for_rows(
    "lesson, claims",
    ("02", ["small circuit", "a shift register of its own", "as the hardware does"]),
    ("03", ["second register in each PE (*documented"]),
)
def test_no_lesson_calls_documented_what_no_document_says(lesson, claims):
    """Judge: AWS's guides, which are silent on tosses and on what a PE holds."""
    for claim in claims:
        assert claim not in words(lesson)


def test_02_and_03_say_what_the_documents_say():
    """Judges: "Compared to the LFSR-based algorithm used in VectorE", "up to 4x"."""
    assert "Where the chip's tosses come from" in words("02")
    assert '"up to 4x" the speed of the moving operand' in words("03")
    assert "into a second register in each PE (*assumed*)" in words("03")
    assert "fast load               up to 4 " in evidence_table()


def test_05_says_why_tiles_are_not_128_times_faster():
    """Judge: the two runs' own counts of what the Vector Engine does."""
    x = np.ones((512, 2048), np.float32)
    slow, tiles = (nki.run(kernel, x, x, values=False).timeline for kernel in (add_rows, add_tiles))
    work = [line.busy_ns("vector") / 1e3 for line in (slow, tiles)]
    said = f"a hundredfold, from {work[0]:,.0f} µs to {work[1]:.0f};"
    assert said in words("05")
    assert tiles.makespan_ns > 2 * tiles.busy_ns("vector")  # transfers set the pace
    pace = [round(ns / 1e3) for ns in (tiles.busy_ns("dma"), tiles.makespan_ns)]
    assert "transfers set the pace: {} of the {} µs".format(*pace) in words("05")


def test_05_counts_the_bytes_that_fusing_spares():
    q, v = np.ones((64, 512), np.float32), np.ones((512, 64), np.float32)
    first = nki.run(attention.scores, q, q, 0.125)
    second = nki.run(softmax.softmax_fused, first.outputs)
    three = (first, second, nki.run(attention.weighted_sum, second.outputs, v))
    one = nki.run(attention.fused_attention, q, q, v, 0.125)
    assert round(sum(run.timeline.hbm_bytes for run in three) / one.timeline.hbm_bytes) == 9
    assert "9 times fewer bytes" in words("05")


@pytest.mark.slow
def test_05_says_how_far_its_times_were_held_against_the_chip():
    """Judge: the published times below 2 ms, each predicted with its source left out."""
    found = [published.compare(r) for r in published.ROWS if max(r.us) < 2000]
    near = sum(abs(p.off) <= 0.25 for p in found)
    inside = sum(p.is_inside for p in found)
    assert f"of the {len(found)} below 2 ms, {near} are within 25 %" in words("05")
    assert f"and {inside} lie in their band" in words("05")


def _of_zeros(kernel, k, m):
    lhs, rhs = (np.zeros((k, n), ml_dtypes.bfloat16) for n in (m, 2048))
    return nki.run(kernel, lhs, rhs, values=False).timeline


def test_05_says_who_works_more_in_the_fully_blocked_kernel():
    """Judge: the two runs' own counts; and the ratio's band, which contains 1."""
    few, many = (_of_zeros(kernel, 1024, 2048) for kernel in (fully_blocked, blocked))
    dma, vector = ([round(t.busy_ns(n) / 1e3) for t in (few, many)] for n in ("dma", "vector"))
    assert f"at work for {dma[1]} µs, and Vector for {vector[1]}." in words("05")
    assert "work for {}; but".format(*dma) in words("05")
    assert "works for {}, and the Tensor Engine waits".format(*vector) in words("05")
    assert nki.compare(many, few).is_tie
    assert "the two is faster is a tie (their ratio's band contains 1)" in words("05")


@for_rows("k, m", (1024, 1024), (1024, 2048), (1536, 1024), (1536, 2048))
def test_05_asks_for_more_of_the_peak_than_its_own_kernels_reach(k, m):
    """Judge: the lesson's stages that take these sizes, on all that a student may draw."""
    assert _of_zeros(STAGES[2], k, m).mfu < kernels.TARGET_MFU


def test_04_says_the_time_of_the_run_that_it_stores():
    (path,) = NOTEBOOKS.glob("04_*.ipynb")
    stored = path.read_text(encoding="utf-8")
    us = round(float(re.search(r"stream: ([\d.]+) ns on the critical path", stored)[1]) / 1e3)
    assert f"{us} µs: says who?" in words("04")
    assert f"One buffer, {us} µs." in words("04")
