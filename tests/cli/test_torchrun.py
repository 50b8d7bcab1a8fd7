"""``python -m trainium_edu torchrun``.  Judges: what torchrun documents for a process per rank; the
script run by Python alone; ``launch`` of the same function.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from tests.texts import text_beside
from trainium_edu.__main__ import main as dispatch

TRAIN = Path(__file__).parents[2] / "notebooks" / "train_digits.py"


def torchrun(*arguments):
    return dispatch(["torchrun", *map(str, arguments)])


def test_each_rank_runs_the_script_as_main_with_its_arguments(script, tmp_path, capsys):
    (tmp_path / "beside.py").write_text("NAME = 'beside'\n")
    path = script(text_beside(__file__, "main_on_ranks.py.txt"))
    before = sys.argv, sys.path[:], sys.modules["__main__"]
    options = ("--nproc-per-node", 2, "--master_port", 1234, "--standalone")
    assert torchrun(*options, path, "--lr", "0.1", "--nnodes=3") == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        f"{rank} 2 ['--lr', '0.1', '--nnodes=3'] beside 1 1 1234" for rank in range(2)
    ]
    assert err.startswith("torchrun: 2 ranks of trn1.32xlarge, 0 steps, 0 graphs compiled")
    assert before == (sys.argv, sys.path, sys.modules["__main__"])


def test_several_instances_take_all_their_cores(script, capsys):
    path = script("import os\nprint(os.environ['LOCAL_RANK'], os.environ['LOCAL_WORLD_SIZE'])\n")
    assert torchrun("--nproc_per_node=32", "--nnodes=2", path) == 0
    assert capsys.readouterr().out.splitlines()[33] == "1 32"
    assert torchrun("--nproc_per_node=8", "--nnodes=2", path) == 1
    assert "all their 32 NeuronCores" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--nproc_per_node=33",), "33 ranks on each trn1.32xlarge, which has 32 NeuronCores"),
        (("--nproc_per_node=0",), "nproc_per_node is 0"),
        (("--instance=p4d.24xlarge",), "instance is 'p4d.24xlarge'"),
        (("--nproc_per_node=2", "--algorithm=star"), "star"),
    ],
)
def test_what_cannot_be_is_one_sentence(options, told, script, capsys):
    assert torchrun(*options, script("print(1)")) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert told in err
    assert len(err.strip().splitlines()) == 1


def test_a_missing_script_is_told(tmp_path, capsys):
    assert torchrun(tmp_path / "none.py") == 2
    assert "there is no such script" in capsys.readouterr().err


def test_an_error_is_shown_with_rank_and_line(script, capsys):
    path = script("import os\ndef f():\n    1 / int(os.environ['RANK'] != '1')\nf()\n")
    assert torchrun("--nproc_per_node=2", path) == 1
    lines = capsys.readouterr().err.strip().splitlines()
    assert lines[0].startswith("Traceback")
    assert "train.py" in lines[1]
    assert lines[-1] == (
        "train.py exits with 1: ZeroDivisionError: division by zero at train.py:3, "
        "raised on rank 1 of 2"
    )


def test_ranks_that_disagree_are_told_at_a_line_of_the_script(script, capsys):
    path = script(
        "import os\nfrom trainium_edu.xla import as_tensor, xm\n"
        "x = as_tensor([1.0] * (2 + int(os.environ['RANK'])), xm.xla_device()) + 1\n"
        "xm.mark_step()\n"
    )
    assert torchrun("--nproc_per_node=2", path) == 1
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("train.py exits with 1: RanksDisagree: rank 1 at train.py:4 ")
    assert last.endswith(", raised on rank 1 of 2")
    assert "drop_last" in last


@pytest.mark.parametrize(("leave", "code"), [("0", 0), ("", 0), ("5", 5), ("'words'", 1)])
def test_exit_codes_are_those_of_the_script(leave, code, script, capsys):
    assert torchrun("--nproc_per_node=2", script(f"import sys\nsys.exit({leave})\n")) == code
    assert ("raised on rank 0 of 2" in capsys.readouterr().err) == bool(code)


@pytest.mark.parametrize("ranks", [2, 8, pytest.param(32, marks=pytest.mark.slow)])
def test_the_published_script_trains_on_any_number_of_ranks(ranks, tmp_path, capsys):
    saved = tmp_path / "digits.npz"
    options = ("--epochs", 3, "--batch", max(1, 256 // ranks), "--save", saved)
    assert torchrun(f"--nproc_per_node={ranks}", TRAIN, *options) == 0
    out, err = capsys.readouterr()
    losses = [float(line.rpartition(" ")[2]) for line in out.splitlines()]
    assert len(losses) == 3
    assert losses[-1] < losses[0]
    assert f"torchrun: {ranks} ranks" in err
    assert "2 graphs compiled" in err
    assert "on the chip" in err
    assert load_file(saved)["0.weight"].shape == (256, 64)


def test_the_published_script_runs_alone(tmp_path):
    saved = tmp_path / "digits.npz"
    done = subprocess.run(
        [sys.executable, str(TRAIN), "--epochs=1", "--batch=256", f"--save={saved}"],
        capture_output=True, text=True, check=False, cwd=TRAIN.parents[1],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("epoch 0: loss")
    assert load_file(saved)["2.weight"].shape == (256, 256)
    assert len(TRAIN.read_text().splitlines()) <= 60


def test_parallel_compile_before_a_run_leaves_nothing_to_compile(script, tmp_path):
    path = script(text_beside(__file__, "sums.py.txt"))
    environment = {**os.environ, "NEURON_COMPILE_CACHE_URL": str(tmp_path / "cache")}
    run = [sys.executable, "-m", "trainium_edu"]
    torchrun = [*run, "torchrun", "--nproc_per_node=2", str(path)]

    def done(command):
        found = subprocess.run(command, capture_output=True, text=True, env=environment,
                               check=False, cwd=TRAIN.parents[1])  # fmt: skip
        assert found.returncode == 0, found.stdout + found.stderr
        return found

    first = done([*run, "neuron_parallel_compile", *torchrun])
    assert "Total successful compilations: 1" in first.stdout
    second = done(torchrun)
    assert second.stdout.splitlines()[-2:] == ["[2.0, 4.0]"] * 2
    assert "0 graphs compiled, 1 found in the cache" in second.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_ends_all_ranks_at_once(script, tmp_path):
    path = script(text_beside(__file__, "sleeps.py.txt"))
    command = [sys.executable, "-m", "trainium_edu", "torchrun", "--nproc_per_node=2", str(path)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=TRAIN.parents[1]
    )
    assert process.stdout.readline() == "ready\n"
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert sorted(out.split("\n")) == ["", "left 0", "left 1"]
    assert err.strip().splitlines()[-1] == "Stopped."
    assert time.monotonic() - started < 20
