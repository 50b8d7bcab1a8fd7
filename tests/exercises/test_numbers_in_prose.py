"""Numbers that a lesson's prose states are those that its code gives.

Judges: arithmetic by hand, ml_dtypes' spacing of BF16, Megatron-LM's table of weak scaling.
"""

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from trainium_edu import fabric
from trainium_edu.exercises import predict
from trainium_edu.exercises.questions import neuroncore, recommend_and_fine_tune
from trainium_edu.exercises.questions.when_training_breaks import feed
from trainium_edu.specs import CLAIMS
from trainium_edu.training import lookup_paces, nn
from trainium_edu.viz.lookups import describe_paces
from trainium_edu.widgets.payload import PayloadCurve

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def prose(lesson, cell):
    """Return the text of a lesson's cell, in one line."""
    (path,) = NOTEBOOKS.glob(f"{lesson}_*.ipynb")
    (found,) = (c for c in json.loads(path.read_text())["cells"] if c["id"] == cell)
    return " ".join("".join(found["source"]).split())


def question(key):
    (found,) = (q for q in predict.of_lesson(key.partition("/")[0]) if q.key == key)
    return found


def test_04_a_guess_below_the_knee_hears_its_share_of_the_best_rate():
    """As a long stream gives: 119 GB/s at 1 KiB, 238 at 2 KiB, 274 at 4 KiB."""
    rates = (59.6, 119.1, 238.2, 273.7, 272.8)
    curve = PayloadCurve((512, 1024, 2048, 4096, 8192), rates, rates, rates, rates)
    here = question("04/knee").bind(curve=curve)
    at = here.wrong["half of the best"]
    assert at == 2048
    assert 0.5 < rates[2] / max(rates) < 0.9
    assert curve.knee(0.9) == 4096
    assert here.recognise(at)[1].startswith("There it has 87% of its best rate: one step further")
    assert "22% of its best rate" in here.recognise(512)[1]  # 59.6 / 273.7


def test_04_buffers_count_the_bytes_of_each_partition(monkeypatch):
    class Measured:
        makespan_ns, placement = 1e3, type("Placed", (), {"high_water_bytes": {"sbuf": 8192}})

        def busy_ns(self, engine):
            return 450.0

    monkeypatch.setattr(neuroncore, "measure", lambda program, buffers: Measured())
    told, parts = neuroncore._with_buffers(type("Run", (), {"program": None}), 1)
    assert told.endswith("8,192 bytes of each partition")
    assert parts == {"Vector works": 0.45, "Vector waits": 0.55}


def test_07_ladder_names_both_ratios_of_its_last_step():
    cable = fabric.trn1_32xlarge().bandwidth_bytes_per_s[0]
    efa = 8 * fabric.ultracluster(32).bandwidth_bytes_per_s.min() / 16
    text = prose("07", "ladder-explain")
    assert f"one cable carries {cable / efa:.1f} times" in text
    assert f"its four cables together **{4 * cable / efa:.0f} times**" in text


def test_08_names_the_errors_of_the_largest_messages_and_of_the_fit():
    rows = fabric.compare()
    largest = sorted(r.error_percent for r in {r.table: r for r in rows}.values())
    text = prose("08", "nccom-explain")
    assert f"still {-largest[-1]:.0f} to {-largest[0]:.0f} % short" in text
    two = [r for r in rows if r.table.startswith("all_reduce, 2 ranks, fp32")]
    worst = max(abs(fabric.calibrate().at(r.nbytes) / r.published_us - 1) for r in two)
    assert f"follows the table to {100 * worst:.1f} %" in text


def test_09_names_how_far_a_bf16_weights_neighbours_are():
    """A fraction of 7 bits: 2^-7 of a power of two, and 2^-8 just below the next one."""
    weights = np.array([1.0, 1.9921875], ml_dtypes.bfloat16)
    far = np.abs(np.spacing(weights).astype(float) / weights.astype(float))
    assert far.tolist() == pytest.approx([2**-7, 2**-8], rel=5e-3)
    assert f"neighbours {100 * far[1]:.2f} to {100 * far[0]:.2f} % away" in prose(
        "09", "rounding-text"
    )


def test_09b_names_the_time_to_read_a_batch():
    """A worker's turn is decoding and reading; what one alone is too slow by, the table shows."""
    decode_ms, read_ms = 32 * 5, 32 * 110e3 / 4e9 * 1e3
    assert feed(60, 1).steady_wait_ns / 1e6 == pytest.approx(decode_ms + read_ms - 60, abs=0.01)
    explain = question("09b/workers").bind(step_ms=60, decode_ms=5, batch=32).explain
    assert f"{decode_ms} ms to decode and {read_ms:.1f} ms to read" in explain
    assert f"Storage reads a batch in {read_ms:.1f} ms" in prose("09b", "loader-text")


def test_09c_tells_a_burst_from_a_long_stream():
    paces, narrow = lookup_paces([8, 512]), recommend_and_fine_tune.step_of(width=8).lookups
    assert narrow.rows_ns == pytest.approx(2304 * 147 / 16)  # a packet's time, 16 queues
    assert paces[0].ns_per_row > 1.3 * narrow.dma_ns / narrow.rows
    assert recommend_and_fine_tune.lookups_text(narrow).endswith("in one burst")
    shown = question("09c/lookups").bind(narrow=narrow, wide=narrow, paces=paces).show(None)
    assert describe_paces(paces) in map(repr, shown)
    assert f"a long stream, {paces[0].ns_per_row:.1f} ns a short row" in str(shown[-1])


def test_09c_names_both_tables_of_the_encoder():
    encoder = nn.Encoder(8, 4, 2, width=8, depth=1, heads=1)
    tables = [name for name, part in vars(encoder).items() if isinstance(part, nn.Embedding)]
    assert tables == ["tokens", "places"]
    assert "one of places" in prose("09c", "few-text")


def test_11_names_the_range_of_the_published_shares():
    """Narayanan et al. 2021, table 1: TFLOP/s of each GPU, from 1.7 to 1 008 billion parameters."""
    shares = np.array([137, 138, 142, 135, 138, 140, 148, 155, 163, 163]) / 312
    assert "reach {low:.0%} to {high:.0%} of its peak" in question("11/break-even").explain
    ends = CLAIMS.a100_share_of_peak.value, CLAIMS.a100_share_of_peak_best.value
    assert ends == (round(shares.min(), 2), round(shares.max(), 2))
