"""The doctor: says what is wrong and what to do.

Judge: installations made wrong on purpose.
"""

import importlib.metadata
import subprocess
import sys
import types

import psutil
import pytest

from tests.for_each import raises
from trainium_edu import __main__, doctor
from trainium_edu.exercises import lessons


def wrong(**options):
    return {f.subject: f for f in doctor.examine(**options) if not f.good}


def test_this_installation_is_ready(capsys):
    doctor.check()
    assert capsys.readouterr().out == "ready\n"


@pytest.mark.slow
def test_the_command_prints_a_line_for_each_thing(capsys):
    assert __main__.main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 9
    assert all(line.startswith("[ok] ") for line in lines)


def test_an_old_python_is_named(monkeypatch, capsys):
    monkeypatch.setattr(doctor.sys, "version_info", (3, 10, 2, "final", 0))
    found = wrong(quick=True)["Python"]
    assert found.seen == "3.10"
    assert "3.11 or later" in found.advice
    doctor.check()
    assert capsys.readouterr().out.startswith("Python: 3.10. The lessons need Python 3.11")


def test_an_old_python_stops_the_command_with_one_sentence(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 9, 1, "final", 0))
    stop = raises(SystemExit, "", __main__.main, ["lab"])
    assert stop.code == "trainium_edu needs Python 3.11 or later, and this is 3.9"


def test_missing_and_old_packages_are_named(monkeypatch):
    real = importlib.metadata.version

    def version(name):
        if name == "numba":
            raise importlib.metadata.PackageNotFoundError
        return "1.26.4" if name == "numpy" else real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    found = wrong(quick=True)["packages"]
    assert "numba is missing" in found.seen
    assert "numpy 1.26.4 is not" in found.seen


def test_a_kernel_of_another_python_is_named(monkeypatch, tmp_path):
    from jupyter_client import kernelspec

    spec = types.SimpleNamespace(argv=[str(tmp_path / "python")])
    monkeypatch.setattr(kernelspec.KernelSpecManager, "get_kernel_spec", lambda s, n: spec)
    assert "another Python" in wrong()["Jupyter kernel"].seen

    def none(self, name):
        raise kernelspec.NoSuchKernel(name)

    monkeypatch.setattr(kernelspec.KernelSpecManager, "get_kernel_spec", none)
    assert "ipykernel install" in wrong()["Jupyter kernel"].advice


def test_missing_lab_extensions_are_named(monkeypatch):
    import jupyter_core.paths

    monkeypatch.setattr(jupyter_core.paths, "jupyter_path", lambda *a: ["/nowhere"])
    assert "anywidget, jupyterlab_widgets" in wrong(quick=True)["widgets in JupyterLab"].seen


def test_unwritable_progress_little_memory_and_no_lessons_are_named(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRAINIUM_EDU_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(psutil, "virtual_memory", lambda: types.SimpleNamespace(available=1 << 30))

    def gone():
        raise FileNotFoundError("no lessons are installed beside trainium_edu")

    monkeypatch.setattr(lessons, "folder", gone)
    found = wrong(quick=True)
    assert set(found) == {"progress", "memory", "lessons"}
    assert found["memory"].seen == "1.0 GiB free"


def test_what_a_look_trips_over_is_a_finding(monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: 1 / 0)
    assert "ZeroDivisionError" in wrong(quick=True)["memory"].seen


def test_importing_it_is_light():
    heavy = "{'numba', 'matplotlib', 'ipywidgets'}"
    code = f"import sys, trainium_edu.doctor; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
