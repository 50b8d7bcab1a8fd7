"""``neuron-profile`` from the shell.  Judges: AWS's guides (Neuron Profiler User Guide, Capture
Profiles with Neuron Explorer) for flags, names of files and what is printed.
"""

import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import trainium_edu.nki as nki
from tests.for_each import raises
from tests.texts import table_beside, text_beside
from tests.tools.test_neuron_profile import copy
from trainium_edu import __main__
from trainium_edu.cli import neuron_profile
from trainium_edu.neuroncore import run_io
from trainium_edu.tools.neuron_profile import summary

SCRIPT = text_beside(__file__, "profiled.py.txt")


@pytest.fixture(scope="module")
def run():
    return nki.run(copy, np.zeros((128, 512), np.float32))


@pytest.fixture
def files(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_io.write_neff(run, "file.neff")
    run_io.write_trace(run, "profile.ntff")
    return tmp_path


PAIR = ["-n", "file.neff", "-s", "profile.ntff"]


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        (["-n", "file.neff", "-s", "mine.ntff"], "mine.ntff"),
        ([], "profile.ntff"),
        (["--neff=file.neff", "--session-file=a.ntff", "--ignore-exec-errors"], "a.ntff"),
        (["-s", "p.ntff", "--profile-nth-exec=2", "--enable-dge-notifs"], "p_exec_2.ntff"),
        (["-s", "p.ntff", "x", "file.neff", "y", "file.neff", "--single-io"], "p.ntff"),
    ],
)
def test_capture_leaves_the_file_that_the_guide_names(files, arguments, left, capsys):
    (files / "profile.ntff").unlink()
    assert neuron_profile.main(["capture", *arguments]) == 0
    assert capsys.readouterr().out == f"profile saved to {left}\n"
    assert sorted(p.name for p in files.iterdir()) == sorted(["file.neff", left])


def test_summaries_are_those_of_the_run(files, run, capsys):
    assert neuron_profile.main(["view", "--output-format", "summary-text", *PAIR]) == 0
    text, said = capsys.readouterr()
    assert said == "emulated by trainium_edu: times are predicted, not measured\n"
    assert neuron_profile.explorer(["view", "--output-format=summary-json", *PAIR]) == 0
    [(name, found)] = json.loads(capsys.readouterr().out).items()
    assert re.fullmatch("n_[0-9a-f]{40}", name)
    assert found == summary(run)
    assert dict(line.split(maxsplit=1) for line in text.splitlines()) == {
        key: str(value) for key, value in found.items()
    }


def test_other_formats_are_written_to_files(files, run, capsys):
    for shown, name in (("json", "ntff.json"), ("perfetto", "ntff.pftrace")):
        assert neuron_profile.main(["view", "--output-format", shown, *PAIR]) == 0
        assert capsys.readouterr().out == f"{shown} saved to {name}\n"
    assert json.loads((files / "ntff.json").read_text())["summary"] == [summary(run)]
    assert json.loads((files / "ntff.pftrace").read_text())["traceEvents"]
    (files / "ntff.pftrace").unlink()
    assert neuron_profile.main(["view", *PAIR]) == 0
    assert "https://ui.perfetto.dev" in capsys.readouterr().err
    assert json.loads((files / "ntff.pftrace").read_text())["traceEvents"]
    assert (
        neuron_profile.main(["view", "--output-format", "JSON", "--output-file", "p", *PAIR]) == 0
    )
    assert (files / "p").read_bytes() == (files / "ntff.json").read_bytes()


def test_a_folder_is_summed_up_by_its_files(files, run, capsys):
    os.rename("profile.ntff", "profile_rank_0.ntff")
    arguments = ["view", "--output-format", "summary-json", "-n", "file.neff", "-d", "."]
    assert neuron_profile.main(arguments) == 0
    assert json.loads(capsys.readouterr().out) == {"profile_rank_0": summary(run)}
    shutil.copy("profile_rank_0.ntff", "second.ntff")  # and their .neff beside them
    assert neuron_profile.main(["view", "--output-format", "summary-json", "-d", "."]) == 0
    assert list(json.loads(capsys.readouterr().out)) == ["profile_rank_0", "second"]
    os.rename("file.neff", "away")
    assert neuron_profile.main(["view", "-d", "."]) == 1
    assert "than any .neff beside it holds" in capsys.readouterr().err


WRONG = table_beside(__file__, "wrong_profiles.toml")


@pytest.mark.parametrize("line", WRONG)
def test_what_is_wrong_is_one_sentence_and_exit_code_1(files, line, capsys):
    (files / "script.py").write_text("print(1)\n")
    before = sorted(files.iterdir())
    assert neuron_profile.main(line.replace("PAIR", " ".join(PAIR)).split()) == 1
    out, told = capsys.readouterr()
    told = told.removeprefix("emulated by trainium_edu: times are predicted, not measured\n")
    assert told.startswith("neuron-profile: ")
    assert WRONG[line] in told
    assert told.count("\n") == 1
    assert out == ""
    assert sorted(files.iterdir()) == before


def test_help_version_and_terminology_need_no_files(capsys):
    for arguments, said in (
        (["--version"], "neuron-profile of trainium_edu"),
        (["capture", "--help"], "--profile-nth-exec"),
    ):
        assert raises(SystemExit, "0", neuron_profile.main, arguments).code == 0
        assert said in capsys.readouterr().out
    assert neuron_profile.main(["view", "--terminology"]) == 0
    assert "dma_transfer_count  " in capsys.readouterr().out


def test_the_dispatcher_knows_both_names(files, capsys):
    for name in ("neuron-profile", "neuron-explorer"):
        assert __main__.main([name, "capture", "-n", "none.neff"]) == 1
        assert capsys.readouterr().err.startswith(f"{name}: there is no")


@pytest.mark.slow
def test_run_puts_both_names_on_the_path_of_its_script(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-m", "trainium_edu", "run", "script.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["True", "profile saved to copy.ntff"]
    assert run_io.read_trace(tmp_path / "copy.ntff").digest == (
        run_io.digest_of(tmp_path / "file.neff")
    )
