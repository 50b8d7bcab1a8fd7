"""The lesson's programs: what is stored is what runs.

Judge: PyTorch, with which each program runs again; plain PyTorch on the CPU for the losses.
"""

import difflib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.for_each import for_each
from trainium_edu.exercises.lessons import folder
from trainium_edu.exercises.questions.your_own_script import rows_of
from trainium_edu.specs import PRICES
from trainium_edu.torch import programs
from trainium_edu.torch.jobs import Estimator
from trainium_edu.training.run_numbers import summary_lines

FOLDER = folder() / "programs"
STORED = ("digits_three_lines", "digits_prints", "digits_short_batch", "digits_falls_back",
          "digits_starved", "mlp_tutorial")  # fmt: skip


def steps_of(outcome):
    """Return all that a record says of its executions."""
    return [(one.number, one.kind, one.begin_ns, one.end_ns, one.why, one.operation,
             one.line and (Path(one.line.file).name, one.line.line), one.executable.graph.to_json())
            for one in outcome.record.steps]  # fmt: skip


@for_each("name", STORED)
def test_a_stored_program_is_timed_as_it_was(name):
    record = programs.stored(name).record
    for one in record.steps:
        assert one.end_ns - one.begin_ns == pytest.approx(one.executable.makespan_ns, rel=1e-9)


@pytest.mark.judge
@pytest.mark.parametrize("name", STORED)
def test_what_is_stored_is_what_runs(name):
    pytest.importorskip("torch")
    live, stored = programs.run(FOLDER / f"{name}.py"), programs.stored(name)
    assert (live.is_live, stored.is_live) == (True, False)
    parts = [re.split(r"(\d+\.\d+)", one.printed) for one in (live, stored)]
    assert parts[0][::2] == parts[1][::2]
    numbers = [[float(text) for text in found[1::2]] for found in parts]  # went through BLAS
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-3)
    assert summary_lines(live.record) == summary_lines(stored.record)
    without_paths = [[(*row[:7], re.sub(r'"[^"]*/', '"', row[7])) for row in steps_of(one)]
                     for one in (live, stored)]  # fmt: skip
    assert without_paths[0] == without_paths[1]
    assert live.record.waits == stored.record.waits
    counters = [dict(one.record.counters) for one in (live, stored)]
    gone = [one.pop("DestroyXlaTensor") for one in counters]  # when Python collects is Python's
    assert counters[0] == counters[1]
    assert all(0 < n <= one["CreateXlaTensor"] for n, one in zip(gone, counters, strict=True))


@pytest.mark.judge
def test_of_the_operations_that_the_lesson_names_the_same_have_a_row_as_stored():
    pytest.importorskip("torch")
    told = [rows_of(programs.operations(live=live)) for live in (True, False)]
    assert told[0] == told[1]


@pytest.mark.judge
def test_the_chip_ends_with_the_loss_of_plain_pytorch():
    pytest.importorskip("torch")
    printed = subprocess.check_output([sys.executable, FOLDER / "digits_plain.py"], text=True)
    assert printed == programs.stored("digits_three_lines").printed


def test_the_script_on_the_chip_differs_by_three_lines():
    texts = [(FOLDER / f"digits_{name}.py").read_text().splitlines()[1:]
             for name in ("plain", "three_lines")]  # fmt: skip
    new = [line for line in difflib.ndiff(*texts) if line.startswith("+ ")]
    assert len(new) == 3


@pytest.mark.judge
def test_a_job_is_billed_alike_where_it_runs_and_where_it_is_stored(tmp_path):
    """Judge: the price of an hour over 3600, for the second that was begun."""
    job = Estimator(
        "digits_three_lines.py", FOLDER, instance_type="ml.trn1.2xlarge", output_path=tmp_path
    )
    stored = programs.fit(job, live=False)
    assert programs.fit(job, live=True) == stored
    price = float(PRICES["trn1.2xlarge"].on_demand_usd_per_hour) / 3600
    assert stored.startswith("Billable seconds: 1 (")
    assert f"{price:.4f} USD at" in stored


def test_a_job_or_program_that_is_not_stored_needs_pytorch(tmp_path):
    job = Estimator("digits_three_lines.py", FOLDER, output_path=tmp_path,
                    distribution={"torch_distributed": {"enabled": True}})  # fmt: skip
    with pytest.raises(ModuleNotFoundError, match="on several ranks or with arguments needs Py"):
        programs.fit(job, live=False)
    with pytest.raises(TypeError, match=r"estimator is 'train.py'; it must be an Estimator of "):
        programs.fit("train.py")
    with pytest.raises(ModuleNotFoundError, match="mine needs PyTorch"):
        programs.run(tmp_path / "mine.py", live=False)


def test_the_vits_step_is_stored_for_all_sizes_with_its_range():
    rows = programs.vit_on_instances()
    assert {"trn1.2xlarge", "inf2.xlarge"} <= {one.instance for one in rows}
    assert all(one.step_ns in one.band for one in rows)
