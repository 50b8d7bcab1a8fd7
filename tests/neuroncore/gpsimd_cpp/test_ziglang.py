"""The compiler that comes as a wheel does what the system's does; judges: NumPy, lines, mistakes.

The programs are those of the other files here; without the wheel these tests are left out, and
``.ci/run``, which installs it, takes that for a failure.
"""

import importlib.util

import numpy as np
import pytest

from tests.neuroncore.gpsimd_cpp import test_lines, test_mistakes, test_operators, test_races
from trainium_edu.neuroncore import gpsimd_cpp
from trainium_edu.neuroncore.gpsimd_cpp import OperatorError
from trainium_edu.neuroncore.gpsimd_cpp import compiler as compilers

TRAPPED = "an index or a pointer leaves its array, which a check of the compiler's finds"
CLANGS = {"past an array by a pointer": TRAPPED}
pytestmark = pytest.mark.judge


@pytest.fixture(autouse=True)
def compiler(monkeypatch):
    """Let the wheel's compiler be the only one, and no other tool be there."""
    if not importlib.util.find_spec("ziglang"):
        pytest.skip("the wheel ziglang is not installed")
    monkeypatch.setattr(compilers.shutil, "which", lambda name: None)
    compilers.find_compiler.cache_clear()
    yield compilers.find_compiler()
    compilers.find_compiler.cache_clear()


def test_it_is_the_wheels(compiler):
    assert compiler.command[1:] == ("-m", "ziglang", "c++")
    assert not compiler.is_gcc


def test_an_operator_that_throws_nothing_needs_none_of_the_wheels_library(
    build, monkeypatch, tmp_path, capfd
):
    """Building it takes a minute; judge: the wheel's own cache, which is empty before."""
    for cache in ("GLOBAL", "LOCAL"):
        monkeypatch.setenv(f"ZIG_{cache}_CACHE_DIR", str(tmp_path / "zig"))
    monkeypatch.setattr(compilers, "cache_folder", lambda: tmp_path)
    kernel = test_mistakes.ONE.replace("return", "static float one = x.numel(); return")
    x = test_mistakes.X
    np.testing.assert_array_equal(build(kernel, one="torch::Tensor x")(-x), x)
    with pytest.raises(OperatorError, match=r"later\(float\) is declared and used, but none"):
        build(kernel.replace("x.numel()", "[] { float later(float); return later(1); }()"),
              one="torch::Tensor x")  # fmt: skip
    assert not list((tmp_path / "zig").rglob("libc++*"))
    assert "C++ library" not in capfd.readouterr().err


def test_an_operator_that_uses_the_library_gets_it_and_is_told_while_it_waits(
    build, monkeypatch, tmp_path, capfd
):
    monkeypatch.setattr(compilers, "LONG_S", 0.0)
    monkeypatch.setattr(compilers, "cache_folder", lambda: tmp_path)
    kernel = "#include <vector>\n#include <algorithm>\n" + test_mistakes.ONE.replace(
        "return torch::abs(x);", "auto in = x.accessor<float, 1>(); std::vector<float> v; "
        "for (int i = 0; i < x.numel(); i++) v.push_back(in[i]); std::sort(v.begin(), v.end());"
        "auto y = torch::zeros(x.sizes(), torch::kFloat); y.fill_(v[5]); return y;",
    )  # fmt: skip
    assert build(kernel, one="torch::Tensor x")(-test_mistakes.X)[0] == np.sort(-test_mistakes.X)[5]
    assert "this operator uses the C++ library (containers, sort" in capfd.readouterr().err


def test_values_equal_numpys(build):
    test_operators.test_operators_of_several_kinds_give_what_numpy_gives(build)
    relu = build(test_operators.RELU, **test_operators.OPERATORS)
    x = np.random.default_rng(1).standard_normal((33, 130)).astype(np.float32)
    for way in test_operators.WAYS:
        run = getattr(relu, way).run(x)
        np.testing.assert_array_equal(run.outputs, np.maximum(x, 0))
    assert relu.by_element.run(x).works[0].elements == 2 * x.size + (x > 0).sum()


def test_every_mistake_has_its_line(build):
    bodies = test_mistakes.BODIES
    made = build(
        test_mistakes._kernel(*test_mistakes.ALL.values()), wrong=test_mistakes.WRONG, cpu_seconds=1
    )
    deep = 1 + next(i for i, t in enumerate(test_mistakes.HEAD.splitlines()) if "room[n" in t)
    for number, what in enumerate(bodies):
        line = deep - 2 if what == "deep recursion" else test_mistakes.FIRST + number  # its entry
        with pytest.raises(OperatorError) as told:
            made(test_mistakes.X, number)
        assert told.value.line == line, (what, str(told.value))
        text = CLANGS.get(what, bodies[what][1]).replace("{line}", str(line))
        assert text in str(told.value), (what, str(told.value))


def test_what_is_no_mistake_is_none(build):
    test_mistakes.test_what_is_no_mistake_or_harmless_leaves_the_process_as_it_was(build)


def test_races_are_found_and_clean_programs_not_accused(build):
    def made(kernel):
        return build(kernel, multicore=True, part="torch::Tensor x, double kind")

    x = np.ones(2048, np.float32)
    np.testing.assert_array_equal(made(test_races.CLEAN)(x, 0), 2 * x)
    for text, kernel in test_races.MISTAKES.items():
        with pytest.raises(OperatorError) as told:
            made(kernel)(x, 0)
        assert f"race: {text}" in str(told.value)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("abs(x);", "abs(x)", "kernel.cpp:3: the C++ compiler says: expected ';'"),
        ("abs", "sort", "kernel.cpp:3: the C++ compiler says: no member named 'sort'"),
        ("abs", "relu", "namespace 'torch'; the processors' tensor library has empty"),
        ("torch::abs(x)", "*x.data_ptr<float>()", "'at::Tensor'; a tensor's data are reached by"),
        ("return", "x.accessor<double, 1>(); return",
         "kernel.cpp:3: the C++ compiler says: accessors are of float"),
        ("torch::Tensor one(", "torch::Tensor two(", "kernel.cpp has no kernel function one"),
        ("torch::Tensor& x", "torch::Tensor& x, int n",
         "the kernel function one of kernel.cpp: an operator takes torch::Tensor, torch::Scalar"),
        ("return", "x.accessor<float, 1>()[0] = 1; return",
         "a tensor that is const is only read: write to one that the kernel makes"),
        ("return", "auto w = x.write_stream_accessor<float>(); return",
         "a tensor that is const is only read: write to one that the kernel makes"),
        ("return", "} torch::Tensor one(torch::Tensor x, double b) { return",
         "there are several functions of this name; give each a name of its own"),
    ],
)  # fmt: skip
def test_cpp_that_does_not_fit_is_one_sentence(build, old, new, text):
    with pytest.raises(OperatorError) as told:
        build(test_mistakes.ONE.replace(old, new), one="torch::Tensor x")
    assert text in str(told.value)
    assert "\n" not in str(told.value)


def test_its_line_table_is_read_as_addr2line_reads_it(monkeypatch, compiler, tmp_path):
    monkeypatch.undo()
    test_lines.test_every_address_has_the_line_that_addr2line_gives_it(compiler, tmp_path)


def test_shape_functions_have_lines_too(build):
    made = build(
        test_mistakes.ONE,
        shape=test_mistakes.SHAPE.format(body="for (;;) x = x;", register=test_mistakes.ONCE),
        cpu_seconds=1,
    )
    with pytest.raises(gpsimd_cpp.OperatorError, match=r"shape.cpp:4: it ran for 1 s without an"):
        made(test_mistakes.X)
