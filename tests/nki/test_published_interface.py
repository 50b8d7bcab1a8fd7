"""Files as other people publish them: ``import nki``, switches set at import, scripts with a main.

The texts are ours, written to the interface of the public tutorials; ``tests/published.py`` runs
AWS's own where somebody has a checkout, and its judge is tested here.  Judges: NumPy.
"""

from pathlib import Path

import numpy as np
import pytest

import trainium_edu.nki as nki
from tests import published as runner
from tests.for_each import raises
from tests.texts import rows_beside, text_beside
from trainium_edu.cli.run import run_script

ADD = text_beside(__file__, "add.py.txt")

FIVE_MATMULS = text_beside(__file__, "five_matmuls.py.txt")

SCAN = text_beside(__file__, "scan.py.txt")


@pytest.fixture
def published(tmp_path, monkeypatch):
    """Return a function that writes a file and imports it with ``import nki`` being ours."""
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn1")
    assert nki.activate(replace=True)

    def load(text):
        path = tmp_path / "published_kernel.py"
        path.write_text(text)
        return runner.load(path)

    yield load
    nki.deactivate()


def test_an_addition_imported_from_a_file(published):
    a, b = np.random.default_rng(0).standard_normal((2, 256, 1024)).astype(np.float32)
    np.testing.assert_array_equal(published(ADD).add_tiles(a, b), a + b)


def test_a_failing_assertion_of_a_kernel_comes_through(published):
    with pytest.raises(AssertionError, match="differ"):
        published(ADD).add_tiles(np.zeros((128, 512)), np.zeros((128, 1024)))


def test_a_file_runs_as_a_script(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn1")
    path = tmp_path / "script.py"
    path.write_text(ADD)
    assert run_script(path) == 0
    assert "sum 2.0" in capsys.readouterr().out


@pytest.mark.parametrize(("stage", "shape"), rows_beside(__file__, "tables.toml")["matmul_stages"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float16"])
def test_five_stages_of_a_matmul(published, stage, shape, dtype):
    """Small whole numbers, so that every order of additions gives the same."""
    from trainium_edu.neuroncore.recording.dtypes import get_dtype

    draw, (k, m, n) = np.random.default_rng(1), shape
    w = draw.integers(-1, 2, (k, m)).astype(get_dtype(dtype).storage)
    x = draw.integers(-1, 2, (k, n)).astype(w.dtype)
    kernel = getattr(published(FIVE_MATMULS), f"matmul_{stage}")
    expected = (w.astype(np.float32).T @ x.astype(np.float32)).astype(w.dtype)
    np.testing.assert_array_equal(kernel(w, x), expected)


@pytest.mark.parametrize("piece", [None, 64])
def test_a_selective_scan(published, piece):
    draw = np.random.default_rng(2)
    delta = np.abs(draw.standard_normal((2, 128, 256))) * 0.1
    u, a = draw.standard_normal((2, 128, 256)), -np.abs(draw.standard_normal((128, 3)))
    b, c = draw.standard_normal((2, 2, 3, 256))
    inputs = [v.astype(np.float32) for v in (delta, u, a, b, c)]
    got = published(SCAN).scan(*inputs, piece=piece)
    np.testing.assert_allclose(got, runner.selective_scan(*inputs), rtol=1e-4, atol=1e-4)


def test_time_of_a_published_kernel_has_a_story(published):
    x = np.ones((256, 1024), np.float32)
    run = nki.run(published(ADD).add_tiles, x, x)
    assert run.timeline.makespan_ns > 0
    assert {str(i.line).split(":")[0] for i in run.program.instructions} == {"published_kernel.py"}


# -- the judge of tests/published.py ----------------------------------------------------------


def test_the_runner_tells_right_from_wrong(tmp_path, published):
    (tmp_path / "add.py").write_text(ADD)
    a, b = np.random.default_rng(3).standard_normal((2, 128, 512)).astype(np.float32)
    assert runner.judge(runner.Case("add.py", "add_tiles", (a, b), a + b), tmp_path) == ""
    wrong = runner.Case("add.py", "add_wrongly", (a, b), a + b)
    assert runner.judge(wrong, tmp_path).startswith("off by")
    shape = runner.Case("add.py", "add_tiles", (a, b), a[:5])
    assert runner.judge(shape, tmp_path) == "shape (128, 512) for (5, 512)"
    quiet = runner.Case("add.py", "add_tiles", (a, b), "partition dimension")
    assert "no error" in runner.judge(quiet, tmp_path)


def test_the_runner_needs_a_checkout(tmp_path):
    raises(SystemExit, "no nki/examples", runner.examples_of, tmp_path)
    (tmp_path / "nki" / "examples" / "matrix_multiplication").mkdir(parents=True)
    assert runner.examples_of(tmp_path) == tmp_path / "nki" / "examples"


GUIDE = Path(__file__).with_name("guide.rst").read_text("utf-8")


def test_the_runner_takes_kernels_from_the_code_blocks_of_a_guide(tmp_path):
    """Judge: the two blocks written here, one of which does not double."""
    (tmp_path / "guide.rst").write_text(GUIDE)
    x = np.random.default_rng(4).standard_normal((4, 8)).astype(np.float32)
    assert runner.judge(runner.Case("guide.rst", "double", (x,), 2 * x, block=0), tmp_path) == ""
    wrong = runner.Case("guide.rst", "double", (x,), 2 * x, block=1)
    assert runner.judge(wrong, tmp_path).startswith("off by")
    assert next(iter(runner.code_blocks(GUIDE))) == "x = 1"
