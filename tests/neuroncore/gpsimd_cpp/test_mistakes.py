"""Bad C++ and bad programs: one sentence with the line; judge: the line where it was put."""

import errno
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import psutil
import pytest

from tests.for_each import for_each, raises
from tests.neuroncore.gpsimd_cpp.sources import program
from tests.texts import table_beside
from trainium_edu.neuroncore import NeuronCore, gpsimd_cpp
from trainium_edu.neuroncore.gpsimd_cpp import CompileError, OperatorError, worker
from trainium_edu.neuroncore.gpsimd_cpp import compiler as compilers
from trainium_edu.specs.errors import NkiValidationError

X = np.arange(64, dtype=np.float32)
HEAD = program("head_of_mistakes.cpp")
SLOW = "it ran for 1 s without an end"
WAITED = "it waited for 2 s without an end (it ran for 0."
MISTAKES = table_beside(__file__, "mistakes.toml")
BODIES, NO_LINE, UNSET, FINE = (MISTAKES[k] for k in ("line", "no_line", "unset", "fine"))
ENDLESS = [what for what, (_, says) in BODIES.items() if says in (SLOW, WAITED)]


ALL = {what: body for what, (body, _) in {**BODIES, **NO_LINE}.items()}
FIRST = 1 + HEAD.count("\n")
FUNCTION = (
    "static __attribute__((noinline)) void body{i}(const torch::Tensor& x, torch::Tensor& y, "
    "size_t n) {{ {body} }}\n"
)


def _kernel(*bodies):
    """Return a kernel that runs one of some bodies; each stands on one line, from FIRST on."""
    functions = "".join(FUNCTION.format(i=i, body=body) for i, body in enumerate(bodies))
    cases = "".join(f"  if (which == {i}) body{i}(x, y, x.numel());\n" for i in range(len(bodies)))
    return (
        f"{HEAD}{functions}torch::Tensor wrong(const torch::Tensor& x, double which) {{\n"
        "  torch::Tensor y = torch::zeros(x.sizes(), torch::kFloat);\n"
        f"{cases}  return y;\n}}\n"
    )


WRONG = "torch::Tensor x, double which"


@pytest.fixture
def wrong(build):
    return build(_kernel(*ALL.values()), wrong=WRONG, cpu_seconds=1)


def hold(wrong, what):
    number = list(ALL).index(what)
    deep = next(i for i, text in enumerate(HEAD.splitlines()) if "room[n" in text)
    lines = (deep, deep + 1) if what == "deep recursion" else (FIRST + number,)
    told = raises(OperatorError, "", wrong, X, number)
    said = str(told).replace("float [", "float[")  # as clang has it
    line = told.line
    assert line in lines, said
    assert said.startswith(f"kernel.cpp:{line}: "), said
    assert BODIES[what][1].replace("{line}", str(line)) in said, said
    assert "\n" not in said


@for_each("what", [what for what in BODIES if what not in ENDLESS])
def test_a_mistake_is_one_sentence_with_its_line_and_python_lives_on(wrong, what):
    for _ in range(2):
        hold(wrong, what)


def test_what_never_ends_is_one_sentence_with_its_line(build):
    """They wait side by side, each in a process of its own."""
    wrong = [build(_kernel(*ALL.values()), wrong=WRONG, cpu_seconds=1) for _ in ENDLESS]
    with ThreadPoolExecutor(len(ENDLESS)) as pool:
        assert list(pool.map(hold, wrong, ENDLESS)) == [None] * len(ENDLESS)


@pytest.mark.parametrize("what", UNSET)
def test_what_nobody_set_or_is_gone_is_told_or_is_no_number_of_use(build, compiler, what):
    """What compilers are not sure of runs: an index is far outside, a float NaN or -1.7e38."""
    body, text = UNSET[what]
    if what in ("index", "array") and not any("var-init" in flag for flag in compiler.counting):
        pytest.skip("this compiler does not fill variables that nobody set")
    try:
        first = build(_kernel(body), wrong=WRONG)(X, 0)[0]
    except OperatorError as told:
        said = str(told).replace("‘", "'").replace("’", "'")
        said = said.replace("the C++ compiler says: ", "").replace("variable '", "'", 1)
        assert re.match(rf"kernel\.cpp:{FIRST}: ({text})", said), said
    else:
        assert what == "array"
        assert np.isnan(first) or first < -1e38


def test_the_line_of_a_failed_check_is_not_that_of_a_later_one(build):
    made = build(
        ONE.replace("#include", "#include <vector>\n#include", 1).replace(
            "  return torch::abs(x);",
            "  torch::Tensor y = torch::zeros(x.sizes(), torch::kFloat);\n"
            "  std::vector<float> v(x.numel());\n  v[x.numel()] = 1;\n  y.fill_(v[0]);\n"
            "  return y;",
        ),
        one="torch::Tensor x",
    )
    raises(OperatorError, r"^kernel\.cpp:6: it aborts: an assertion of the C\+\+", made, X)


@pytest.mark.parametrize("what", NO_LINE)
def test_a_mistake_that_has_no_line_is_said_all_the_same(wrong, what):
    told = raises(OperatorError, "", wrong, X, list(ALL).index(what))
    assert NO_LINE[what][1] in str(told), str(told)


def test_what_is_no_mistake_or_harmless_leaves_the_process_as_it_was(build):
    made = build(_kernel(*(body for body, _ in FINE.values())), cpu_seconds=10, wrong=WRONG)
    for number, (what, (_, first)) in enumerate(FINE.items()):
        for _ in range(2):
            np.testing.assert_equal(made(X, number)[0], np.float32(first), err_msg=what)


@pytest.mark.parametrize(
    "body", ["static int once = [] { exit(1); return 1; }();",
             "static int once = [] { for (volatile int i = 1; i;) {} return 1; }();"]
)  # fmt: skip
def test_a_program_that_never_begins(build, monkeypatch, body):
    monkeypatch.setattr(worker, "START_S", 1.0)
    with pytest.raises(
        OperatorError, match="does not get as far as its functions; look at what the"
    ):
        build(ONE.replace("torch::Tensor one", f"{body}\ntorch::Tensor one"), one="torch::Tensor x")


def test_what_a_program_prints_before_it_begins_is_no_answer(build):
    said = 'static int once = printf("9\\n");\n'
    kernel = ONE.replace("torch::Tensor one", f"{said}torch::Tensor one")
    np.testing.assert_array_equal(build(kernel, one="torch::Tensor x")(-X), X)


def test_policies_of_coherence_warn_or_say_nothing(build, capsys):
    body = (
        "y.set_accessor_coherence_policy(torch::CoherencyEnforcer::Policy::{});"
        "auto a = y.write_stream_accessor<float>(); a.write(5); auto e = y.accessor<float, 1>();"
        "float stale = e[0]; a.close(); e[1] = stale; e[2] = e[0];"
    )
    for policy, warned in (("INCOHERENT_VERBOSE", True), ("INCOHERENT_QUIET", False)):
        y = build(_kernel(body.format(policy)), wrong=WRONG)(X, 0)
        assert y[:3].tolist() == [5, 0, 5]  # what the stream wrote was in TCM until it closed
        assert (f"warning: kernel.cpp:{FIRST}: an element" in capsys.readouterr().out) is warned


def test_a_larger_stack_is_granted_up_to_400_kb(build):
    body = (
        "volatile char all[30000]; for (size_t i = 0; i < 30000; i++) all[i] = 1; y.fill_(all[9]);"
    )
    run = build(_kernel(body), wrong=WRONG, flags=["-DSTACK_SIZE=40000"]).run(X, 0)
    assert (run.outputs == 1).all()
    assert "slow stack" in [advice.kind for advice in run.advice]
    with pytest.raises(OperatorError, match="the largest stack has 400000 bytes"):
        build(_kernel(body), wrong=WRONG, flags=["-DSTACK_SIZE=500000"])


ONE = program("one.cpp")


@pytest.mark.parametrize(("old", "new", "text"), MISTAKES["changes"])
def test_cpp_that_does_not_fit_is_one_sentence(build, compiler, old, new, text):
    told = raises(OperatorError, "", build, ONE.replace(old, new), one="torch::Tensor x")
    if compiler.is_gcc:
        said = str(told).replace("‘", "'").replace("’", "'")
        assert text in said, said
    assert "\n" not in str(told)


def test_a_function_that_nobody_defines(build):
    kernel = ONE.replace("torch::Tensor one", "float later(float);\ntorch::Tensor one")
    with pytest.raises(CompileError, match=r"later\(float\) is declared and used, but none"):
        build(kernel.replace("return", "later(1); return"), one="torch::Tensor x")


SHAPE = program("one_shape.cpp")
ONCE = 'NEURON_LIBRARY(ops, m) { m.def("one", &shape, "one"); }'


@pytest.mark.parametrize(
    ("body", "register", "text"),
    [
        ("return x;", "", "registers no operator; write NEURON_LIBRARY"),
        ("return x;", f"{ONCE} {ONCE.replace('ops', 'more').replace('one', 'two', 1)}",
         "the libraries ops and more; a model can have one"),
        ("return x;", "NEURON_LIBRARY(ops, m) {" + "".join(
            f'm.def("f{i}", &shape, "one");' for i in range(11)) + "}",
         "the library ops of shape.cpp registers 11 functions; it can have 10"),
        ("return x;", ONCE.replace("}", 'm.def("one", &shape, "one"); }'), "registers one twice"),
        ("return 3;", ONCE, "shape.cpp:4: the C++ compiler says: "),
    ],
)  # fmt: skip
def test_libraries_that_do_not_register_what_they_should(build, body, register, text):
    told = raises(OperatorError, "", build, ONE, shape=SHAPE.format(body=body, register=register))
    assert text in str(told)


@pytest.mark.parametrize(("body", "text"), MISTAKES["shapes"])
def test_shape_functions_that_do_not_give_a_shape(build, body, text):
    told = raises(OperatorError, "", build(ONE, shape=SHAPE.format(body=body, register=ONCE)), X)
    assert text in str(told), str(told)


def test_arguments_that_an_operator_does_not_take(build):
    one = build(ONE, one="torch::Tensor x")
    raises(TypeError, "one takes a tensor, and was given 2 arguments", one, X, X)
    with pytest.raises(OperatorError, match="of dtype float64, which operators do not know; cast"):
        one(X.astype(np.float64))
    raises(TypeError, r"argument 0 of one is 'x'; it must be an array", one, "x")
    raises(OperatorError, "up to 8 dimensions", one, np.zeros((1,) * 9, np.float32))
    with pytest.raises(OperatorError, match="one is called in a kernel, with a tile"):
        one(NeuronCore().sbuf((128, 4)))
    assert issubclass(OperatorError, NkiValidationError)


def test_files_and_names(compiler, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file none.cpp \(compute_srcs\)"):
        gpsimd_cpp.load("x", ["none.cpp"], ["none.cpp"])
    with pytest.raises(TypeError, match=r"compute_srcs is 'relu.cpp'; it must be a list"):
        gpsimd_cpp.load("x", "relu.cpp", ["shape.cpp"])
    with pytest.raises(OperatorError, match="cannot be named builtin"):
        gpsimd_cpp.load("builtin", ["a.cpp"], ["b.cpp"])
    with pytest.raises(FileNotFoundError, match=r"there is no library libx\.so"):
        gpsimd_cpp.load_library(tmp_path / "libx.so")
    (tmp_path / "libx.so").write_bytes(b"\x7fELF")
    with pytest.raises(ValueError, match=r"libx.so is no library of custom operators that this"):
        gpsimd_cpp.load_library(tmp_path / "libx.so")


def test_accessors_that_several_processors_cannot_use(build):
    for line, text in (
        ("x.accessor<float, 1>();", "an element accessor on several processors"),
        ("x.read_stream_accessor<float>();", "a streaming accessor on several processors"),
        ("", "wrong runs on several processors and never calls get_dst_tensor()"),
    ):
        told = raises(OperatorError, "", build(_kernel(line), wrong=WRONG, multicore=True), X, 0)
        assert text in str(told)


def test_without_a_compiler_the_sentence_says_what_to_install(monkeypatch):
    from trainium_edu.neuroncore.gpsimd_cpp import compiler

    monkeypatch.setattr(compiler.shutil, "which", lambda name: None)
    monkeypatch.setattr(compiler.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(gpsimd_cpp.NoCompilerError, match="pip install 'trainium_edu"):
        compiler.find_compiler.__wrapped__()


# -- limits of the compiler, of killed sessions and of full memory ------------------------------

#: 2^24 different types, which C++ says are instantiated one by one
BOMB = program("bomb.h")


@pytest.mark.parametrize(
    ("limit", "value", "told"),
    [("MOST_S", 2, "more than 2 s for kernel.cpp"),
     ("MOST_BYTES", 1 << 29, "more than 0.5 GiB for kernel.cpp")],
)  # fmt: skip
def test_template_without_end_stops_compiling_in_a_sentence(build, monkeypatch, limit, value, told):
    build(ONE, one="torch::Tensor x")  # the runtime is compiled once, without these limits
    monkeypatch.setattr(compilers, limit, value)
    assert "\n" not in str(raises(CompileError, told, build, BOMB + ONE, one="torch::Tensor x"))


def _session(tmp_path, then=""):
    """Start Python that builds what `build` wrote last."""
    script = (
        "import numpy as np; from trainium_edu.neuroncore import gpsimd_cpp\n"
        f"made = gpsimd_cpp.load('made', [r'{tmp_path}/kernel.cpp'], [r'{tmp_path}/shape.cpp'])\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", script + then], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip


def _started(child, name):
    """Return the child's processes, once one of them has a name."""
    end, below = time.monotonic() + 60, []
    while not any(name in process.name() for process in below):
        assert time.monotonic() < end
        time.sleep(0.05)
        below = psutil.Process(child.pid).children(recursive=True)
    return below


def test_ctrl_c_ends_compiling_with_all_that_the_compiler_started(build, tmp_path):
    build(ONE, one="torch::Tensor x")
    (tmp_path / "kernel.cpp").write_text(BOMB + ONE)
    with _session(tmp_path) as child:
        below = _started(child, "cc1plus" if compilers.find_compiler().is_gcc else "zig")
        child.send_signal(signal.SIGINT)
        sent = time.monotonic()
        _, told = child.communicate(timeout=30)
    assert time.monotonic() - sent < 10
    assert "KeyboardInterrupt" in told
    assert not psutil.wait_procs(below, timeout=5)[1]


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="a file system that is memory")
def test_killed_session_leaves_nothing_in_shared_memory(build, tmp_path):
    build(ONE, one="torch::Tensor x")
    before = set(os.listdir("/dev/shm"))
    call = "print(made(np.ones(1 << 20, np.float32))[:2], flush=True); input()"
    with _session(tmp_path, call) as child:
        assert child.stdout.readline() == "[1. 1.]\n"
        below = _started(child, "kernel")
        child.kill()
    assert not psutil.wait_procs(below, timeout=5)[1]
    assert set(os.listdir("/dev/shm")) <= before


def test_full_shared_memory_is_an_error_that_names_it_and_the_next_call_works(build, monkeypatch):
    made = build(ONE, one="torch::Tensor x")

    def full(file, offset, length):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", full, raising=False)
        raises(OSError, r"No space left on device: '/.+'", made, -X)
    np.testing.assert_array_equal(made(-X), X)


def test_operator_that_stops_the_process_which_waits_for_it(build, monkeypatch):
    monkeypatch.setattr(worker, "_SLACK_S", 1.0)
    made = build(_kernel("kill(getppid(), SIGSTOP); sleep(9);"), wrong=WRONG, cpu_seconds=1)
    raises(OperatorError, "it stopped the process that waits for it", made, X, 0)
