"""Executables as bytes.  Judge: the executable that was saved."""

import numpy as np
import pytest
from safetensors.numpy import load, save

from tests.for_each import raises
from tests.xla.executable.graphs import training_step
from trainium_edu.sealed import sealed
from trainium_edu.xla.executable import Executable, describe, saved
from trainium_edu.xla.flags import Flags


@pytest.fixture(scope="module")
def executable():
    made = Executable(training_step(), Flags(auto_cast="matmult"))
    _ = made.advice, made.band
    return made


@pytest.fixture(scope="module")
def data(executable):
    return executable.to_bytes()


def test_what_is_loaded_has_the_same_graphs_sections_and_times(executable, data):
    found = Executable.from_bytes(data)
    assert found.makespan_ns == executable.makespan_ns
    assert found.band == executable.band
    assert found.hbm_bytes == executable.hbm_bytes
    assert describe(found) == describe(executable)
    assert str(found.why()) == str(executable.why())
    assert found.graph.outputs == executable.graph.outputs
    assert found.final.outputs == executable.final.outputs
    assert found.flags == executable.flags
    for mine, theirs in zip(found.sections, executable.sections, strict=True):
        assert mine.nodes == theirs.nodes
        assert mine.body.run.timeline.makespan_ns == theirs.body.run.timeline.makespan_ns


def test_what_was_not_asked_for_is_worked_out_after_loading(executable):
    fresh = Executable(executable.graph, executable.flags)
    found = Executable.from_bytes(fresh.to_bytes())
    assert found.band == executable.band
    assert [str(one) for one in found.advice] == [str(one) for one in executable.advice]


def test_to_ask_a_loaded_one_for_its_makespan_lowers_nothing(data, monkeypatch):
    from trainium_edu.xla.executable import sections

    monkeypatch.setattr(sections, "lower_all", None)
    assert Executable.from_bytes(data).makespan_ns > 0


def test_another_version_and_another_kind_of_file_are_refused():
    """Judge: safetensors itself, which reads either."""
    for data in (sealed(saved.KIND, 2, None, {}), save({"w": np.ones(3)})):
        load(data)
        with pytest.raises(
            ValueError, match=r"version 2 of the format|not a trainium_edu executable"
        ):
            Executable.from_bytes(data)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"", lambda data: b"PK\x03\x04", lambda data: data[:-1],
        lambda data: data[: len(data) // 2], lambda data: data + b"x",
        lambda data: data.replace(b"executable", b"checkpoint", 1),
        lambda data: data[:60] + bytes([data[60] ^ 1]) + data[61:],
    ],
)  # fmt: skip
def test_damaged_bytes_get_one_sentence(data, damage):
    assert "\n" not in str(raises(ValueError, "compile again", Executable.from_bytes, damage(data)))
