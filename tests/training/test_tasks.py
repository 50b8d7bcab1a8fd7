"""Tasks are trained with real samples.  Judges: scikit-learn's labels, and the accuracies asked."""

import tomllib
from pathlib import Path

import pytest

from trainium_edu.training import tasks
from trainium_edu.training.tasks import TASKS
from trainium_edu.training.trainer import Job, Trainer


@pytest.mark.parametrize("name", sorted(TASKS))
class TestEveryTask:
    def test_has_a_label_for_each_sample_and_tests_apart(self, name):
        inputs, labels, test_inputs, test_labels = TASKS[name].data()
        assert (len(inputs), len(test_inputs)) == (len(labels), len(test_labels))
        assert inputs.shape[1:] == test_inputs.shape[1:]
        assert labels.min() >= 0
        assert len(inputs) >= 512  # 512 ranks have one each
        inputs, _, test_inputs, _ = TASKS[name].data()
        seen = {sample.tobytes() for sample in inputs}
        assert not any(sample.tobytes() in seen for sample in test_inputs)


def test_notes_are_the_files_and_tasks_can_be_keys():
    """``scaling`` keeps a task's compiled program by it."""
    notes = tomllib.loads(Path(tasks.__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    assert notes == {name: task.note for name, task in TASKS.items() if task.note}
    assert "not supported" in TASKS["digits-cnn"].note
    assert len({*TASKS.values()}) == len(TASKS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("digits-cnn", "float32"),
        ("digits-cnn", "bfloat16"),
        ("digits-vit", "float32"),
        pytest.param("digits-vit", "bfloat16", marks=pytest.mark.soak),
    ],
)
def test_digits_are_read_right_at_97_percent_after_the_steps_of_the_tasks_schedule(name, dtype):
    job = Job(task=name, dtype=dtype, rounding="stochastic", **TASKS[name].settings)
    trainer = Trainer(job)
    for _ in range(job.schedule_steps):
        trainer.step()
    assert trainer.evaluate() >= 0.97
