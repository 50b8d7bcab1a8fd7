"""The compiler that comes as a wheel does what the system's does; judges: NumPy, lines, mistakes.

The programs are those of the other files here; without the wheel these tests are left out, and
``.ci/run``, which installs it, takes that for a failure.
"""

import importlib.util

import numpy as np
import pytest

from tests.for_each import raises
from tests.neuroncore.gpsimd_cpp import test_lines, test_mistakes, test_operators, test_races
from tests.texts import table_beside
from trainium_edu.neuroncore import gpsimd_cpp
from trainium_edu.neuroncore.gpsimd_cpp import OperatorError
from trainium_edu.neuroncore.gpsimd_cpp import compiler as compilers

TRAPPED = "an index or a pointer leaves its array, which a check of the compiler's finds"
CLANGS = {"past an array by a pointer": TRAPPED}
OF_LIBRARY = ("thread", "stream of a file")  # what all of the C++ library is built for
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


PROGRAMS = table_beside(__file__, "ziglang.toml")
USUAL = PROGRAMS["usual"]  # each gives a number
HEADERS = (
    "algorithm array cstring functional map memory numeric stdexcept string tuple "
    "unordered_map vector"
)


def test_containers_strings_and_exceptions_of_the_wheels_library_work(build):
    kernel = "".join(f"#include <{name}>\n" for name in HEADERS.split())
    kernel += "#include <torch/torch.h>\n"
    for name, (body, _) in USUAL.items():
        kernel += f"static float {name}_(const float *in, size_t n) {{ {body} }}\n"
    kernel += test_mistakes.ONE.partition("\n")[2].replace("return torch::abs(x);", (
        "auto y = torch::abs(x); auto a = x.accessor<float, 1>(); auto e = y.accessor<float, 1>();"
        f"float (*all[])(const float *, size_t) = {{ {', '.join(f'{name}_' for name in USUAL)} }};"
        f"for (int i = 0; i < {len(USUAL)}; i++) e[i] = all[i](&a[0], a.size(0)); return y;"
    ))  # fmt: skip
    y = build(kernel, one="torch::Tensor x")(-test_mistakes.X)
    np.testing.assert_array_equal(y[: len(USUAL)], [value for _, value in USUAL.values()])
    np.testing.assert_array_equal(y[len(USUAL) :], test_mistakes.X[len(USUAL) :])
    with pytest.raises(OperatorError, match=r"later\(float\) is declared and used, but none"):
        build(test_mistakes.ONE.replace("return", "float later(float); later(1); return"),
              one="torch::Tensor x")  # fmt: skip


@pytest.mark.soak
def test_streams_and_threads_work_and_a_first_build_of_the_library_is_announced(
    build, monkeypatch, tmp_path, capfd
):
    monkeypatch.setattr(compilers, "LONG_S", 0.0)
    monkeypatch.setattr(compilers, "cache_folder", lambda: tmp_path)
    made = build(
        test_mistakes._kernel(
            "std::ostringstream s; s << n; y.fill_(s.str().size());",
            *(test_mistakes.BODIES[what][0] for what in OF_LIBRARY),
        ).replace("#include <thread>", "#include <sstream>\n#include <thread>"),
        wrong=test_mistakes.WRONG,
    )
    assert made(test_mistakes.X, 0)[0] == 2
    assert "the wheel ziglang builds its C++ library" in capfd.readouterr().err
    for number, what in enumerate(OF_LIBRARY, 1):
        told = raises(OperatorError, "", made, test_mistakes.X, number)
        assert test_mistakes.BODIES[what][1] in str(told)


def test_values_equal_numpys(build):
    test_operators.test_operators_of_several_kinds_give_what_numpy_gives(build)
    relu = build(test_operators.RELU, **test_operators.OPERATORS)
    x = np.random.default_rng(1).standard_normal((33, 130)).astype(np.float32)
    for way in test_operators.WAYS:
        np.testing.assert_array_equal(getattr(relu, way).run(x).outputs, np.maximum(x, 0))
    assert relu.by_element.run(x).works[0].elements == 2 * x.size + (x > 0).sum()


def test_every_mistake_has_its_line(build):
    bodies = {what: of for what, of in test_mistakes.BODIES.items() if what not in OF_LIBRARY}
    made = build(
        test_mistakes._kernel(*(body for body, _ in bodies.values())),
        wrong=test_mistakes.WRONG,
        cpu_seconds=1,
    )
    deep = 1 + next(i for i, t in enumerate(test_mistakes.HEAD.splitlines()) if "room[n" in t)
    for number, what in enumerate(bodies):
        line = deep - 2 if what == "deep recursion" else test_mistakes.FIRST + number  # its entry
        told = raises(OperatorError, "", made, test_mistakes.X, number)
        assert told.line == line, (what, str(told))
        text = CLANGS.get(what, bodies[what][1]).replace("{line}", str(line))
        assert text in str(told), (what, str(told))


def test_what_is_no_mistake_is_none(build):
    test_mistakes.test_what_is_no_mistake_or_harmless_leaves_the_process_as_it_was(build)


@pytest.mark.parametrize("what", test_mistakes.UNSET)
def test_what_nobody_set_or_is_gone_is_told(build, compiler, what):
    test_mistakes.test_what_nobody_set_or_is_gone_is_told_or_is_no_number_of_use(
        build, compiler, what
    )


def test_races_are_found_and_clean_programs_not_accused(build):
    def made(kernel):
        return build(kernel, multicore=True, part="torch::Tensor x, double kind")

    x = np.ones(2048, np.float32)
    np.testing.assert_array_equal(made(test_races.CLEAN)(x, 0), 2 * x)
    for text, kernel in test_races.MISTAKES.items():
        assert f"race: {text}" in str(raises(OperatorError, "", made(kernel), x, 0))


@pytest.mark.parametrize(("old", "new", "text"), PROGRAMS["changes"]["rows"])
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
