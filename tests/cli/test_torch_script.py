"""``run`` and ``torchrun`` of PyTorch scripts.

Judges: what each script imports, as Python parses it; Python's exit codes; the same script by
``run_script``; a machine without PyTorch.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.texts import text_beside
from trainium_edu.__main__ import main as dispatch
from trainium_edu.cli import torch_script

TRAIN = text_beside(__file__, "training.py.txt")


def command(*arguments, **more):
    return subprocess.run(
        [sys.executable, "-m", "trainium_edu", *map(str, arguments)],
        capture_output=True, text=True, check=False, env={**os.environ, **more},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "is_torch"),
    [
        ("import torch", True), ("from torch.nn import Linear", True),
        ("def f():\n    import torch_xla.core.xla_model as xm", True),
        ("from timm.models import create_model", True), ("import nki", False),
        ("import nki, torch", True), ("import numpy", False),
        ("from trainium_edu.xla import xm", False),
        ("from trainium_edu.xla import xm\nimport torch", False),
        ("import trainium_edu\nimport torch_neuronx", True),
        ("import beside", True), ("import torchvision_of_mine", False), ("import (", False),
    ],
)  # fmt: skip
def test_a_script_s_world_is_told_by_its_imports(text, is_torch, script):
    script("import torch\nimport train\n", "beside.py")
    assert torch_script.is_for_torch(script(text)) == is_torch


def test_without_pytorch_the_extra_and_two_ways_are_named(script, capsys, monkeypatch):
    monkeypatch.setattr(torch_script.importlib.util, "find_spec", lambda name: None)
    assert dispatch(["run", str(script(TRAIN))]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    for named in ("trainium-edu[torch]", "conda install -c conda-forge pytorch-cpu", "index named"):
        assert named in err


@pytest.mark.parametrize("given", ["some", "-1", "1.5"])
def test_values_that_make_no_sense_are_refused(given, script, capsys):
    with pytest.raises(SystemExit) as stop:
        dispatch(["run", f"--values={given}", str(script(TRAIN))])
    assert stop.value.code == 2
    assert "neither all nor none" in capsys.readouterr().err


class TestWithPyTorch:
    pytestmark = pytest.mark.judge

    @pytest.fixture(autouse=True)
    def there(self):
        pytest.importorskip("torch")

    def test_the_first_and_the_last_lines_tell_of_the_run(self, script, tmp_path):
        found = command("run", "--values", "none", "--report", tmp_path / "out", script(TRAIN))
        assert found.returncode == 0, found.stderr
        assert found.stdout == "done 1\n"
        first, *_, last = found.stderr.strip().splitlines()
        assert first.startswith("trainium_edu: emulated, 1 rank of trn1.2xlarge; shapes only")
        assert "train.py: 4 steps on 1 rank of trn1.2xlarge" in found.stderr
        assert last == f"report: {tmp_path / 'out' / 'index.html'}"
        told = json.loads((tmp_path / "out" / "report.json").read_text())
        assert (told["instance"], told["command"]) == ("trn1.2xlarge", "train.py")

    def test_torchrun_starts_as_many_ranks_as_asked(self, script):
        found = command(
            "torchrun", "--nproc_per_node=2", "--instance", "trn1.2xlarge", script(TRAIN)
        )
        assert found.returncode == 0, found.stderr
        assert found.stdout == "done 2\n" * 2
        assert "train.py: 4 steps on 2 ranks of trn1.2xlarge" in found.stderr

    @pytest.mark.parametrize("way", ["together", "apart"])
    def test_the_choice_that_is_gone_gets_a_sentence(self, way, script):
        found = command("torchrun", "--nproc_per_node=2", "--ranks", way, script(TRAIN))
        assert found.returncode == 2
        assert found.stderr.strip().endswith(
            "--ranks is not here: each rank is a process of its own; leave the option out"
        )

    def test_torchrun_takes_a_module(self, script, tmp_path):
        script(TRAIN, "train_by_name.py")
        found = subprocess.run(
            [sys.executable, "-m", "trainium_edu", "torchrun", "-m", "train_by_name"],
            capture_output=True, text=True, check=False, cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path(torch_script.__file__).parents[2])},
        )  # fmt: skip
        assert (found.stdout, found.returncode) == ("done 1\n", 0), found.stderr

    @pytest.mark.parametrize("start", [("run",), ("torchrun", "--nproc_per_node=2")])
    def test_kernels_run_in_the_same_script(self, start, script):
        found = command(*start, script(text_beside(__file__, "kernel_in_torch.py.txt")))
        assert found.returncode == 0, found.stderr
        assert found.stdout.startswith("8.0 tensor(2., device='xla:")

    def test_xmp_spawn_starts_ranks_by_itself(self, script):
        found = command("run", script(text_beside(__file__, "spawns.py.txt")))
        assert found.returncode == 0, found.stderr
        *lines, end = found.stdout.splitlines()
        assert sorted(lines) == ["0 2 more 3.0", "1 2 more 3.0"]
        assert end == "end"

    def test_graphs_are_collected_and_compiled_ahead(self, script, tmp_path):
        cache = {"NEURON_COMPILE_CACHE_URL": str(tmp_path / "cache")}
        ours = (sys.executable, "-m", "trainium_edu", "run", script(TRAIN))
        found = command("neuron_parallel_compile", *ours, **cache)
        assert found.returncode == 0, found.stderr
        assert "Total successful compilations: 1" in found.stdout + found.stderr
        found = command("run", script(TRAIN), **cache)
        assert "graphs: 0 compiled, 3 found in memory, 1 on disk" in found.stderr

    def test_aws_tools_are_on_the_script_s_path(self, script):
        path = script("import shutil, torch\nprint(*map(bool, map(shutil.which, "
                      "('neuron-ls', 'neuron-top', 'neuron-monitor'))))\n")  # fmt: skip
        before = os.environ["PATH"]
        assert command("run", path).stdout == "True True True\n"
        assert os.environ["PATH"] == before
