"""What `pip install trainium_edu` brings; judge: an empty environment that is then cut off."""

import json
import os
import socket
import subprocess
import sys
import tarfile
import time
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest

from tests.texts import text_beside

ROOT = Path(__file__).parents[1]
WHEEL_BYTES = 4_000_000  # the issue asks for 8 MB
# Loaded at the start of every process of the environment, kernels and server included.
OFFLINE = text_beside(__file__, "offline.py.txt")


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The sdist, and the wheel that is built from it alone."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", out, cwd=ROOT)
    (sdist,) = out.glob("*.tar.gz")
    quiet = "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", out, sdist
    run(sys.executable, "-m", "pip", *quiet, cwd=out)
    (wheel,) = out.glob("*.whl")
    return sdist, wheel


def test_the_wheel_is_small_and_holds_every_lesson_without_outputs(built):
    sdist, wheel = built
    assert sdist.stat().st_size < WHEEL_BYTES
    assert wheel.stat().st_size < WHEEL_BYTES
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert {name.split("/")[0].split("-")[0] for name in names} == {"trainium_edu"}
        for lesson in (ROOT / "notebooks").rglob("*.ipynb"):
            name = f"trainium_edu/{lesson.relative_to(ROOT).as_posix()}"
            cells = json.loads(archive.read(name))["cells"]
            assert cells
            assert not any(cell.get("outputs") for cell in cells), name
        for script in (ROOT / "notebooks").rglob("*.py"):
            assert f"trainium_edu/{script.relative_to(ROOT).as_posix()}" in names
        (metadata,) = (archive.read(n).decode() for n in names if n.endswith("/METADATA"))
    assert "](https://" in metadata
    assert "](notebooks/" not in metadata  # the package index has no files beside the page
    with tarfile.open(sdist) as archive:
        assert not [name for name in archive.getnames() if "/tests/" in name]


@pytest.mark.slow
def test_the_first_lesson_runs_offline_from_a_wheel_in_an_empty_environment(built, tmp_path):
    """From one typed line to the first lesson; the seconds of each step are printed."""
    begin = time.monotonic()
    venv.create(tmp_path / "new", with_pip=True)
    scripts = tmp_path / "new" / ("Scripts" if os.name == "nt" else "bin")
    pins = f"--constraint={ROOT / '.ci/constraints.txt'}"
    run(scripts / "python", "-m", "pip", "install", "--quiet", pins, built[1])
    installed = time.monotonic()
    site = run(scripts / "python", "-c", "import site; print(site.getsitepackages()[-1])").strip()
    Path(site, "offline.py").write_text(OFFLINE)
    Path(site, "offline.pth").write_text("import offline\n")
    unset = ("PYTHONPATH", "TRAINIUM_EDU_COMMITTED", "VIRTUAL_ENV")
    home = {name: str(tmp_path / name) for name in ("HOME", "TRAINIUM_EDU_HOME", "IPYTHONDIR")}
    options = {
        "cwd": tmp_path,
        "env": {k: v for k, v in os.environ.items() if k not in unset} | home,
    }
    refused = "import urllib.request as r; r.urlopen('http://example.com')"
    asked = subprocess.run([scripts / "python", "-c", refused], capture_output=True, **options)
    assert b"no network here, and example.com was asked for" in asked.stderr
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = "lab", "--no-browser", f"--port={port}", "--IdentityProvider.token=t"
    lab = subprocess.Popen([scripts / "trainium_edu", *words], **options)
    try:
        page = f"http://127.0.0.1:{port}/api/contents/00_start_here.ipynb?token=t"
        while True:
            try:
                with urllib.request.urlopen(page, timeout=5) as answer:
                    lesson = json.load(answer)["content"]
                break
            except OSError:
                assert lab.poll() is None
                assert time.monotonic() - installed < 120
                time.sleep(0.2)
    finally:
        import psutil

        for process in [*psutil.Process(lab.pid).children(recursive=True), lab]:
            process.terminate()
        lab.wait(20)
    opened = time.monotonic()
    assert len(lesson["cells"]) > 10
    run(scripts / "jupyter-execute", "--inplace", "work/00_start_here.ipynb", **options)
    ran = time.monotonic()
    cells = json.loads((tmp_path / "work/00_start_here.ipynb").read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] for cell in code)
    shown = [kind for cell in code for out in cell["outputs"] for kind in out.get("data", ())]
    assert shown.count("application/vnd.jupyter.widget-view+json") >= 6
    print(
        f"installed in {installed - begin:.0f} s, lesson served after {opened - installed:.0f} s, "
        f"all of it run in {ran - opened:.0f} s"
    )
