"""Manners of the whole suite.

Every test says in its docstring or its name who judges it.  Property tests draw the same examples
on every run.  Tests marked ``judge`` need an optional outside judge; with ``--judges`` (which
``.ci/run`` gives, having installed them) a missing judge is a failure instead of a skip.
Tests of NKIBench's own kernels are collected where ``--nkibench`` names a clone of them.
"""

import gc
import re
import signal
from itertools import count
from pathlib import Path

import hypothesis
import pytest

hypothesis.settings.register_profile(
    "repeatable", derandomize=True, deadline=None, database=None, max_examples=60
)
hypothesis.settings.load_profile("repeatable")

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # started in the background, as by nohup:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # programs that tests start inherit it


def pytest_addoption(parser):
    parser.addoption(
        "--judges", action="store_true", help="a skipped test of an outside judge is a failure"
    )
    parser.addoption(
        "--nkibench", type=Path, help="a clone of zhang677/AccelOpt: run its profiled kernels too"
    )


def pytest_ignore_collect(collection_path, config):
    """Do not even read a file whose mark ``-m`` leaves out; pytest does not ask for named files."""
    marks = config.option.markexpr
    if collection_path.suffix != ".py" or re.search(r"\bor\b|[()]", marks):
        return None
    own = re.search(r"^pytestmark = (\[[^]]*|.*)", collection_path.read_text("utf-8"), re.MULTILINE)
    left_out = set(re.findall(r"\bnot (\w+)", marks))
    return bool(own and left_out & set(re.findall(r"mark\.(\w+)", own[1]))) or None


def pytest_collection_modifyitems(config, items):
    """Leave out what needs a clone that nobody named; pytest counts it as deselected."""
    if config.getoption("--nkibench", None) is None:
        without = [item for item in items if "nkibench" in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=without)
        items[:] = [item for item in items if item not in without]


def pytest_collection_finish():
    """Keep the garbage collector from what was imported: going over it took a sixth of all time."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


@pytest.fixture
def nkibench(request):
    """Return the folder of the clone."""
    return request.config.getoption("--nkibench")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.skipped and item.config.getoption("--judges") and item.get_closest_marker("judge"):
        report.outcome = "failed"
        report.longrepr = f"an outside judge is missing: {report.longrepr}"


_homes = count()  # pytest's own numbering looks through all folders there are, for each test


@pytest.fixture(autouse=True)
def _own_progress_folder(tmp_path_factory, monkeypatch):
    """Keep the tests' progress out of the user's, and AWS's switches out of the tests."""
    home = tmp_path_factory.getbasetemp() / f"home-of-test-{next(_homes)}"
    home.mkdir()
    monkeypatch.setenv("TRAINIUM_EDU_HOME", str(home))
    for name in (
        "TRAINIUM_EDU_COMMITTED",
        "NEURON_RT_STOCHASTIC_ROUNDING_EN",
        "NEURON_RT_STOCHASTIC_ROUNDING_SEED",
        "NEURON_CC_FLAGS", "NEURON_COMPILE_CACHE_URL", "NEURON_EXTRACT_GRAPHS_ONLY",
        "NEURON_NUM_RECENT_MODELS_TO_KEEP", "NEURON_USE_EAGER_DEBUG_MODE", "XLA_DOWNCAST_BF16",
        "XLA_USE_BF16",
    ):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
