"""Stored outcomes stand for a compiler that is not there; judge: the same calls with one."""

import numpy as np
import pytest

from tests.for_each import raises
from tests.neuroncore.gpsimd_cpp.sources import program
from trainium_edu.neuroncore import gpsimd_cpp
from trainium_edu.neuroncore.gpsimd_cpp import stored

KERNEL = program("half.cpp")
SHAPE = program("half_shape.cpp")
X = np.arange(6, dtype=np.float32)


@pytest.fixture
def sources(compiler, tmp_path):
    (tmp_path / "kernel.cpp").write_text(KERNEL)
    (tmp_path / "shape.cpp").write_text(SHAPE)
    (tmp_path / "wrong.cpp").write_text(KERNEL.replace("mul", "sort"))
    return [tmp_path / name for name in ("kernel.cpp", "shape.cpp", "wrong.cpp")]


def _do(place, sources):
    """Return what a lesson would see: values, times, and what goes wrong."""
    kernel, shape, wrong = sources
    half = place.load("half", [kernel], [shape])
    run = half.half.run(X, 3)
    said = []
    for ask in (lambda: half(X, -1.0), lambda: place.load("half", [wrong], [shape])):
        told = raises(gpsimd_cpp.OperatorError, "", ask)
        said.append((type(told), str(told)))
    return half(X, 3).tolist(), run.timeline.makespan_ns, run.works, said


def test_a_lesson_sees_the_same_without_a_compiler(sources, tmp_path, monkeypatch, capsys):
    recorded = _do(stored.Stored(tmp_path / "kept.json.xz", recording=True), sources)
    with_one = capsys.readouterr().out
    monkeypatch.setattr(stored, "find_compiler", _none)
    place = stored.Stored(tmp_path / "kept.json.xz")
    assert (_do(place, sources), capsys.readouterr().out) == (recorded, with_one)
    with pytest.raises(gpsimd_cpp.NoCompilerError, match="and of these sources and arguments no"):
        place.load("half", sources[:1], sources[1:2]).run(X, 4.0)
    raises(gpsimd_cpp.NoCompilerError, "", stored.Stored, tmp_path / "kept.json.xz", recording=True)


def _none():
    raise gpsimd_cpp.NoCompilerError("there is no C++ compiler")


def test_with_another_compiler_a_page_that_is_compared_reads_what_is_stored(
    sources, tmp_path, monkeypatch
):
    """Basic blocks are counted by a compiler; judge: one of another name, which is not asked."""
    recorded = _do(stored.Stored(tmp_path / "kept.json.xz", recording=True), sources)
    other = gpsimd_cpp.find_compiler().__class__(("no-such-compiler",), "another 1.0")
    monkeypatch.setattr(stored, "find_compiler", lambda: other)
    place = stored.Stored(tmp_path / "kept.json.xz", same_compiler=True)
    assert "another 1.0" in str(place.missing)
    assert _do(place, sources) == recorded
    assert stored.Stored(tmp_path / "kept.json.xz").missing is None


def test_a_message_shows_the_line_that_it_names(sources, tmp_path):
    place = stored.Stored(tmp_path / "kept.json.xz")
    with pytest.raises(
        gpsimd_cpp.CompileError, match=r"wrong.cpp:5: .*\n  5 \| return torch::sort"
    ):
        place.load("half", sources[2:], sources[1:2])
