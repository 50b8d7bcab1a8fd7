"""Lesson 00's questions.  Judges: the metre's definition, documents, ml_dtypes and ``train``."""

import math

import ml_dtypes
import numpy as np
import pytest

from tests.for_each import raises
from trainium_edu.exercises import predict
from trainium_edu.specs import TRN1
from trainium_edu.training import train


@pytest.fixture
def found(asked):
    return asked("00")


def test_light_and_a_chip(found):
    """2 cores of 128 x 128 workers at 2.8 GHz; light goes 299 792 458 metres a second."""
    exact = 2 * 128 * 128 * 2.8e9 * 10 / 299_792_458
    assert found["00/light"].function(TRN1, 10).value == pytest.approx(exact, rel=1e-3)


def test_the_next_number_and_each_wrong_one(found):
    q = found["00/after-256"]
    x = np.nextafter(ml_dtypes.bfloat16(256), ml_dtypes.bfloat16(math.inf))
    assert q.function(256.0).value == f"{float(x):g}"
    said = q.bind(x=256.0).wrong
    assert {*said.values(), q.function(256.0).value} == set(q.options)
    half = np.nextafter(np.float16(256), np.float16(math.inf))
    assert said["FP16's step"] == f"{float(half):g}"


def test_what_the_network_reads_and_when_it_reached_a_guess(found):
    run = train("stochastic", learning_rate=0.1, epochs=20, seeds=[0], rounding_seed=0)
    read = np.rint(360 * run.accuracy[:, 0])
    answer = found["00/reads"].function(0.1, 20)
    assert answer.value == read[-1]
    first = int(np.argmax(read >= 300)) + 1
    assert answer.show(300)[-1] == f"your 300: reached by the end of pass {first}"
    assert answer.show(360)[-1] == "your 360: never reached"
    assert "your" not in "".join(map(str, answer.show(None)))


def test_more_images_than_there_are_is_no_answer(found):
    asked = predict.ask("00/reads")
    for value, says in (("361", "there are only 360"), ("12.5", "whole"), ("-1", "not negative")):
        raises(ValueError, says, asked.commit, value)
    asked.commit("0")
    asked.commit("360")
