"""Trainings that solutions, wrong answers and checks ask for again and again run once."""

import json

import pytest

from trainium_edu import settings, training
from trainium_edu.exercises import learner, predict


@pytest.fixture(autouse=True, scope="session")
def _each_training_runs_once():
    train, runs = training.train, {}

    def remembered(arm="bf16", **options):
        seed = settings.rounding().seed
        try:
            key = json.dumps([arm, {"rounding_seed": seed} | options], sort_keys=True)
        except TypeError:  # an Arm, an array
            return train(arm, **options)
        if arm == "bf16" or key not in runs:  # a switch chooses what "bf16" is
            runs[key] = train(arm, **options)
        return runs[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "train", remembered)
        yield


@pytest.fixture(autouse=True)
def _each_test_is_a_session_of_its_own():
    learner.THIS_SESSION.clear()


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Return a function that gives a lesson's questions by key, none of them asked yet."""
    monkeypatch.setenv("TRAINIUM_EDU_HOME", str(tmp_path))
    monkeypatch.delenv("TRAINIUM_EDU_COMMITTED", raising=False)
    monkeypatch.setattr(predict, "ASKED", {})
    return lambda lesson: {q.key: q for q in predict.of_lesson(lesson)}
