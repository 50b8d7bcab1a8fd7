"""Set up the device, and run scripts.

Judges: PyTorch on the CPU with the same script (losses), Python with the same script (arguments,
names, exit codes, tracebacks), the run's own record (times that a script sees).
"""

import os
import subprocess
import sys
import time

import pytest

from tests.for_each import for_each, raises
from tests.texts import table_beside, text_beside

torch = pytest.importorskip("torch")

import trainium_edu.torch as bridge  # noqa: E402
from trainium_edu.torch import running  # noqa: E402
from trainium_edu.torch.core import current  # noqa: E402

pytestmark = pytest.mark.judge

SCRIPTS = table_beside(__file__, "running.toml")
TRAIN = text_beside(__file__, "trained.py.txt")
ON_CPU = TRAIN.format(device="'cpu'", step="optimizer.step()")
ON_CHIP = "import torch_xla.core.xla_model as xm\n" + TRAIN.format(
    device="xm.xla_device()", step="xm.optimizer_step(optimizer, barrier=True)"
)


@pytest.fixture
def script(tmp_path):
    def written(text, name="train.py"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    yield written
    bridge.deactivate()


# -- activate -------------------------------------------------------------------------------------


@for_each("given, told", SCRIPTS["not_there"])
def test_what_there_is_not_is_refused(given, told):
    raises((ValueError, TypeError), told, bridge.activate, **given)


def test_a_session_has_a_record_at_any_time():
    bridge.activate("trn1.32xlarge")
    x = torch.ones(4).to("xla") + 1
    current().mark_step()
    record = bridge.last_run()
    assert (record.instance, record.ranks, len(record.steps)) == ("trn1.32xlarge", 1, 1)
    assert record.steps[0].end_ns > record.steps[0].begin_ns
    assert x is not None
    bridge.activate()
    assert bridge.last_run().steps == []
    bridge.deactivate()


def test_a_session_shows_the_chip_s_time_if_asked():
    bridge.activate(clock="device")
    before = time.perf_counter()
    current().clock.add_host(5e9, "loader")
    assert time.perf_counter() - before == pytest.approx(5, abs=1e-3)
    bridge.deactivate()
    assert time.perf_counter() - time.perf_counter() < 1


# -- run_script -----------------------------------------------------------------------------------


def test_losses_are_plain_torch_s(script, capsys):
    assert bridge.run_script(script(ON_CHIP)) == 0
    ours = [float(line) for line in capsys.readouterr().out.split()]
    theirs = subprocess.check_output([sys.executable, script(ON_CPU, "cpu.py")], text=True).split()
    assert ours == pytest.approx([*map(float, theirs)], abs=1e-5)


def test_replicas_of_one_batch_train_as_one(script):
    """The mean of equal gradients is the gradient; PyTorch alone is the judge."""
    out, _, code = in_a_process(script(ON_CHIP), ranks=2)
    *lines, told = out.splitlines()
    alone = subprocess.check_output([sys.executable, script(ON_CPU, "cpu.py")], text=True).split()
    assert sorted(map(float, lines)) == pytest.approx(sorted([*map(float, alone)] * 2), abs=1e-5)
    assert (told, code) == ("2 6 6 2", 0)


def in_a_process(path, **options):
    """Run a script in a process of its own, as forked ranks need; print what is recorded of it."""
    text = SCRIPTS["in_a_process"].format(path=path, options=options)
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    return found.stdout, found.stderr, found.returncode


def test_bf16_set_after_the_imports_holds_from_the_first_tensor_on(script, capsys):
    for how in (".to(xm.xla_device())", ".to('xla')", " if False else torch.full((2,), 1.001, "
                "device='xla')"):  # fmt: skip
        try:
            assert bridge.run_script(script(SCRIPTS["bf16"].format(how=how))) == 0
        finally:
            os.environ.pop("XLA_USE_BF16", None)
        values = [float(one) for one in capsys.readouterr().out.split()]
        assert all(one in (1.0, 1.0078125) for one in values)  # the two BF16 numbers around


def test_the_script_sees_emulated_time(script, capsys):
    path = script(SCRIPTS["clock"])
    assert bridge.run_script(path, values="none") == 0
    out, err = capsys.readouterr()
    one = bridge.last_run().steps[-1]
    assert float(out) == pytest.approx(one.end_ns - one.begin_ns, rel=0.05)
    assert "clocks show the chip's time" in err
    assert bridge.run_script(path, clock="wall") == 0
    out, err = capsys.readouterr()
    assert float(out) > 2 * (one.end_ns - one.begin_ns)  # Python alone takes longer
    assert "clocks show this computer's time" in err


def test_argv_file_path_and_modules_are_python_s(script, tmp_path, capsys):
    (tmp_path / "beside.py").write_text("NAME = 'beside'\n")
    path = script(SCRIPTS["names"])
    before = sys.argv, sys.path[:], sys.modules["__main__"]
    assert bridge.run_script(path, ["--lr", "1"]) == 0
    ours = capsys.readouterr().out
    theirs = subprocess.check_output([sys.executable, path, "--lr", "1"], text=True)
    assert ours == theirs.replace("False", "True")
    assert before == (sys.argv, sys.path, sys.modules["__main__"])


def test_a_module_runs_by_its_name(script, tmp_path, capsys, monkeypatch):
    script("import sys\nprint(__name__, sys.argv[1:])\n", "train_by_name.py")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert bridge.run_script("train_by_name", ["5"], module=True) == 0
    assert capsys.readouterr().out == "__main__ ['5']\n"


@pytest.mark.parametrize(("leave", "code"), [("3", 3), ("", 0), ("None", 0), ("'words'", 1)])
@pytest.mark.parametrize("ranks", [1, 2])
def test_exit_codes_are_python_s(leave, code, ranks, script, capfd):
    path = script(f"import sys\nsys.exit({leave})\n")
    code = code if ranks == 1 else min(code, 1)  # torchrun exits with 1 whatever its ranks do
    assert bridge.run_script(path, ranks=ranks) == code
    assert ("words" in capfd.readouterr().err) == (leave == "'words'")


def test_a_traceback_begins_in_the_script(script, capsys):
    path = script("import torch\n\ndef f():\n    raise KeyError('mine')\n\nf()\n")
    assert bridge.run_script(path) == 1
    lines = capsys.readouterr().err.strip().splitlines()[1:]
    assert lines[0].startswith("Traceback")
    assert "train.py" in lines[1]
    assert lines[-1] == "KeyError: 'mine'"
    assert bridge.last_run().problem == "KeyError: 'mine' at train.py:4"


@pytest.mark.parametrize(("line", "told"), [
    ("x @ x", "mat1 and mat2 shapes cannot be multiplied"),
    ("x + torch.ones(2, 3)", "move it to the device first"),
    ("xm.xla_device(7)", "one process drives one"),
])  # fmt: skip
def test_a_traceback_has_no_frame_of_this_package_in_errors_that_are_not_its_own(
    line, told, script, capsys
):
    path = script(SCRIPTS["mistake"].format(line=line))
    assert bridge.run_script(path) == 1
    lines = capsys.readouterr().err.strip().splitlines()[1:]
    assert [one for one in lines if one.lstrip().startswith("File")] == [lines[1]]
    assert "train.py" in lines[1]
    assert told in lines[-1]


def test_a_value_asked_for_on_a_rank_that_was_spawned_is_told_in_one_sentence(script):
    _, err, code = in_a_process(script(SCRIPTS["spawned"]), values="none")
    assert code == 1
    own = [line for line in err.splitlines() if not line.startswith("INFO ")]
    assert "train.py:3 asks for the value of a tensor" in own[1]


def test_a_model_that_is_compiled_by_pytorch_is_taken_as_it_is(script, capsys):
    with pytest.warns(UserWarning, match="torch.compile is left out"):
        assert bridge.run_script(script(SCRIPTS["compiled"])) == 0
    assert capsys.readouterr().out.endswith("torch.Size([1, 1]) True\n")


def test_a_missing_script_is_told(tmp_path, capsys):
    assert bridge.run_script(tmp_path / "none.py") == 2
    assert "there is no such script" in capsys.readouterr().err


@pytest.mark.parametrize(("values", "when"), [("none", "(--values none)"), (2, "after step 2")])
@pytest.mark.parametrize("ranks", [1, 2])
def test_a_value_that_is_not_there_ends_the_run_with_its_line(values, when, ranks, script):
    line = ON_CHIP.splitlines().index('    print(f"{loss.item():.6f}")') + 1
    out, err, code = in_a_process(script(ON_CHIP), values=values, ranks=ranks)
    assert code == 1
    assert len(out.splitlines()) == (0 if values == "none" else values * ranks) + 1
    assert f"train.py:{line} asks for the value of a tensor" in err
    assert when in err
    assert "Traceback" not in err


def test_the_device_of_later_chips_is_told_apart(script, capsys):
    assert bridge.run_script(script("import torch\ntorch.ones(2).to('neuron')\n")) == 1
    assert capsys.readouterr().err.strip().splitlines()[-1] == (
        "the device neuron is that of later chips; this is Trn1: xm.xla_device()"
    )


def test_after_a_script_nothing_is_left_of_it(script):
    shown = time.perf_counter
    bridge.run_script(script("import torch_xla\n"))
    assert "torch_xla" not in sys.modules
    assert time.perf_counter is shown
    assert not torch.cuda.is_available()
    raises(RuntimeError, "activate", current)


def test_ranks_have_numbers_and_variables_of_a_launcher(script, capfd):
    path = script("import os\nprint(os.environ.get('RANK'), os.environ.get('WORLD_SIZE'))\n")
    bridge.run_script(path)
    bridge.run_script(path, master=("127.0.0.1", 1234))
    assert capfd.readouterr().out.split() == ["None", "None", "0", "1"]
    assert "RANK" not in os.environ
    path = script("import torch_xla.runtime as xr\nprint(xr.global_ordinal(), xr.world_size())\n")
    assert bridge.run_script(path, ranks=2) == 0
    assert sorted(capfd.readouterr().out.splitlines()) == ["0 2", "1 2"]
    assert bridge.last_run().ranks == 2


def test_the_first_line_says_what_the_numbers_are():
    assert running.first_line("inf2.xlarge", 2, 3, "device") == (
        "trainium_edu: emulated, 2 ranks of inf2.xlarge; values in the first 3 steps; clocks show "
        "the chip's time, modelled; Python costs nothing"
    )
