"""The published programs run, and train as PyTorch does; judge: PyTorch itself, on the CPU."""

import json
import os
import re
import subprocess
import sys
import tarfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.texts import text_beside

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.judge

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "notebooks" / "programs"


def need(*names):
    """Skip a test where a library is not installed; only the command line imports it."""
    for name in names:
        if find_spec(name) is None:
            pytest.skip(f"{name} is not installed")


def sentences(folder):
    """Write sentences to learn from, and others to judge by."""
    words = "awful bad cold dull poor", "fine good great lovely warm"
    for name, count in ("train", 256), ("val", 64):
        rows = [{"text": words[i % 2], "label": i % 2} for i in range(count)]
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))


def accuracies(text):
    """Return what a run says of its evaluations."""
    return [float(one) for one in re.findall(r"Validation Accuracy - epoch 0: (\S+)", text)]


def run(*arguments, cwd):
    """Run the command line; return what a script printed, and the summary of its run."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1",
                                "HF_DATASETS_CACHE": str(cwd / "datasets")}  # fmt: skip
    command = [sys.executable, "-m", "trainium_edu", *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=cwd, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_the_launch_posts_loop_learns_in_two_graphs(tmp_path):
    printed, summary = run("run", PROGRAMS / "launch_post.py", cwd=tmp_path)
    assert float(printed.split()[-1]) < 0.5
    assert "graphs: 2 compiled, 38 found in memory" in summary
    assert "early runs: none; fall-backs: none" in summary


@pytest.mark.soak
def test_both_workers_of_the_mlp_tutorial_print_the_loss_of_one(tmp_path):
    script = PROGRAMS / "mlp_tutorial.py"
    alone, _ = run("run", script, cwd=tmp_path)
    both, summary = run("torchrun", "--nproc_per_node=2", script, cwd=tmp_path)
    (loss,) = re.findall(r"Final loss is (\S+)", alone)
    assert re.findall(r"Final loss is (\S+)", both) == [loss, loss]  # both read the same images
    assert "early runs: none; fall-backs: none" in summary


@pytest.mark.soak
def test_two_ranks_fine_tune_a_text_classifier(tmp_path):
    need("transformers", "datasets")
    sentences(tmp_path)
    printed, summary = run(
        "torchrun", "--nproc_per_node=2", PROGRAMS / "sentiment_bert.py",
        "--train", tmp_path, "--val", tmp_path, "--model-dir", tmp_path, cwd=tmp_path)  # fmt: skip
    assert len(re.findall(r"Epoch 0, rank [01], Loss 0\.\d+", printed)) == 2
    assert accuracies(printed) == [1.0]
    assert "fall-backs: none" in summary
    assert torch.load(tmp_path / "model.pt")["classifier.weight"].shape == (2, 64)


@pytest.mark.soak
def test_resnet18_keeps_to_the_chip_for_its_shapes(tmp_path):
    need("timm")
    printed, summary = run("run", "--values", "none", PROGRAMS / "resnet18.py", cwd=tmp_path)
    assert 0.1 < float(printed.split()[-2]) < 2
    assert "graphs: 2 compiled, 10 found in memory" in summary
    assert "early runs: none; fall-backs: none" in summary


@pytest.mark.soak
@pytest.mark.parametrize("instance", ["trn1.2xlarge", "inf2.xlarge"])
def test_a_small_vits_first_losses_are_pytorchs_and_its_time_is_the_chips(instance, tmp_path):
    need("timm")
    script = tmp_path / "small_vit.py"
    script.write_text(text_beside(__file__, "small_vit.py.txt"))
    plain, _ = run("run", script, "cpu", cwd=tmp_path)
    values = "--values", "3"  # its loader marks a step first
    printed, summary = run(
        "torchrun", "--instance", instance, *values, "--nproc_per_node=2", script, cwd=tmp_path
    )
    wanted = [float(one) for one in re.findall(r"loss (\S+)", plain)]
    found = [float(one) for one in re.findall(r"loss (\S+)", printed)]
    assert found[0] == pytest.approx(wanted[0], rel=0.02)  # both ranks draw the same images
    assert sorted(found) == pytest.approx(sorted(2 * wanted), rel=0.02)
    times = [float(one) for one in re.findall(r"average step time: (\S+)", printed)]
    assert len(times) == 2
    assert 1e-4 < times[0] < 0.1
    assert "fall-backs: none" in summary


@pytest.mark.soak
def test_a_training_job_fine_tunes_the_text_classifier(tmp_path, monkeypatch, capfd):
    need("transformers", "datasets")
    from trainium_edu.torch.jobs import Estimator

    sentences(tmp_path)
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "datasets"))
    estimator = Estimator(
        entry_point="sentiment_bert.py", source_dir=PROGRAMS, role="any",
        instance_type="ml.trn1.2xlarge", hyperparameters={"max-length": 24, "seed": 7},
        distribution={"torch_distributed": {"enabled": True}},
        output_path=tmp_path / "jobs")  # fmt: skip
    estimator.fit({"train": tmp_path, "val": tmp_path})
    log = capfd.readouterr().out
    assert "World Size 2" in log
    assert accuracies(log) == [1.0]
    with tarfile.open(estimator.model_data) as kept:
        assert any(name.endswith("model.pt") for name in kept.getnames())
