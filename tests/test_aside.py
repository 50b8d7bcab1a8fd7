"""Judges: Python's own KeyboardInterrupt and imports; what was interrupted, done again."""

import _imp
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.for_each import raises
from trainium_edu import aside

SCRIPT = Path(__file__).with_name("interrupted.py")
WORKS = ("kernel", "cast", "ranks", "array", "training")
forks = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")


@pytest.fixture
def at_once(monkeypatch):
    """Let the caller look around as soon as it waits, with Ctrl-C on (a job may ignore it)."""
    monkeypatch.setattr(aside, "LONG_S", 0.0)
    monkeypatch.setattr(aside, "LOOK_EVERY_S", 0.001)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_what_is_called_aside_returns_and_raises_here():
    assert aside.aside(divmod, 7, 2) == (3, 1)
    assert aside.aside(threading.current_thread) is not threading.current_thread()
    raises(ZeroDivisionError, "", aside.aside, divmod, 7, 0)


def test_ctrl_c_ends_the_waiting_and_not_the_call(at_once):
    go, ended = threading.Event(), threading.Event()

    def work():
        assert go.wait(60)
        ended.set()

    with pytest.raises(KeyboardInterrupt):
        aside.aside(work, meanwhile=lambda: signal.raise_signal(signal.SIGINT))
    assert not ended.is_set()
    go.set()
    assert ended.wait(60)


def test_a_module_whose_import_is_interrupted_is_whole_for_the_next_call(
    at_once, tmp_path, monkeypatch
):
    """The module sends the signal from its own body, so there is no race."""
    name = "interrupted_in_its_import"
    (tmp_path / f"{name}.py").write_text(
        "import signal\nhalf = 1\nsignal.raise_signal(signal.SIGINT)\nwhole = 2\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    def until_interrupted():  # the handler runs in this thread, at one of its next lines
        while aside.load(name):
            pass

    raises(KeyboardInterrupt, "", until_interrupted)
    first = aside.load(name)
    assert (first.half, first.whole) == (1, 2)
    assert sys.modules.pop(name) is first  # not imported a second time


def test_inside_an_import_a_module_is_imported_in_place(tmp_path, monkeypatch):
    """Two modules that need each other would wait for ever for each other's locks."""
    (tmp_path / "circle_a.py").write_text(
        "from trainium_edu.aside import load\none = 1\ntwo = load('circle_b').two\n"
    )
    (tmp_path / "circle_b.py").write_text("import circle_a\ntwo = circle_a.one + 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import circle_a; print(circle_a.two)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["2"]


def test_a_lock_that_an_interrupted_import_left_taken_is_released(tmp_path, monkeypatch):
    (tmp_path / "after_a_left_lock.py").write_text("there = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    _imp.acquire_lock()  # what an interrupt within importlib leaves behind
    try:
        assert aside.load("after_a_left_lock").there
        assert not _imp.lock_held()
    finally:
        while _imp.lock_held():
            _imp.release_lock()


def test_every_file_of_loops_lets_numba_be_loaded_aside_first():
    for path in Path(aside.__file__).parent.rglob("_loops.py"):
        text = path.read_text(encoding="utf-8")
        assert text.index("import trainium_edu.numerics.launch") < text.index("from numba"), path


def interrupted(name, how, count):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", SCRIPT, name, how, str(count)],
        capture_output=True, text=True, timeout=1100,
    )  # fmt: skip
    assert done.stdout == f"{count} interrupts\n", done.stdout + done.stderr[-2000:]


@pytest.mark.compiled
@pytest.mark.parametrize(("name", "count"), [(n, 12 if n == "kernel" else 4) for n in WORKS])
def test_after_ctrl_c_at_any_step_the_next_call_is_right(name, count):
    interrupted(name, "warm", count)


@forks
@pytest.mark.compiled
@pytest.mark.parametrize(("name", "count"), [("kernel", 4), ("cast", 1)])
def test_after_ctrl_c_in_the_first_call_of_a_session_the_next_is_right(name, count):
    interrupted(name, "cold", count)


@forks
@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize(
    ("name", "how", "count"),
    [
        *(
            pytest.param(
                name, "cold", 20,
                marks=[pytest.mark.soak, pytest.mark.xfail(
                    strict=False,
                    reason="on a busy machine one of some hundred interrupts of the first call"
                    " leaves a RecursionError for the next; where it arises is not found yet",
                )],
            )
            for name in WORKS
        ),
        pytest.param("kernel", "warm", 100, marks=pytest.mark.soak), ("kernel", "bare", 9),
    ],
)  # fmt: skip
def test_after_ctrl_c_at_many_steps_the_next_call_is_right(name, how, count):
    interrupted(name, how, count)


@forks
@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize(  # in a soak 80 and more, each part at other instants
    "count", [7, *(pytest.param(n, marks=pytest.mark.soak) for n in (18, 19, 21, 22))]
)
def test_a_timer_interrupts_the_first_kernel_call_of_a_session(count):
    """The trial that failed in 18 of 80: real signals, nothing loaded before."""
    interrupted("kernel", "real", count)
