"""Judges: JupyterLab, which refuses to start for root without ``--allow-root``; the folder."""

import json
import os
import re
import subprocess
from typing import ClassVar

import pytest

from trainium_edu import __main__
from trainium_edu.cli import lab
from trainium_edu.exercises import lessons


class Started:
    """Stands for the server's process: keeps its command, and ends at once."""

    commands: ClassVar[list] = []
    options: ClassVar[list] = []

    def __init__(self, command, **options):
        self.commands.append(command)
        self.options.append(options)

    def wait(self):
        return 0


@pytest.fixture
def commands(monkeypatch):
    monkeypatch.setattr(Started, "commands", [])
    monkeypatch.setattr(subprocess, "Popen", Started)
    return Started.commands


@pytest.mark.parametrize(("root", "options"), [(True, ()), (True, ("--allow-root",)), (False, ())])
def test_only_root_is_told_to_be_allowed_and_only_once(
    commands, monkeypatch, tmp_path, root, options
):
    monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000, raising=False)
    assert lab.open_lab(tmp_path / "work", options) == 0
    (command,) = commands
    assert command.count("--allow-root") == root
    assert (tmp_path / "work" / lab.FIRST).is_file()


def test_lab_makes_the_copy_and_opens_the_first_lesson(commands, tmp_path, capsys):
    work = tmp_path / "w"
    assert __main__.main(["lab", "--folder", str(work), "--no-browser", "--port=1"]) == 0
    (command,) = commands
    assert command[1:4] == ["-m", "jupyterlab", lab.FIRST]
    assert command[-2:] == ["--no-browser", "--port=1"]
    assert Started.options[-1]["cwd"] == work.resolve()
    assert "Your lessons are in" in capsys.readouterr().out
    assert sorted(p.name for p in work.glob("*.ipynb")) == [p.name for p in lessons.notebooks()]
    for copy in work.glob("*.ipynb"):
        assert not any(cell.get("outputs") for cell in json.loads(copy.read_text())["cells"])


def test_a_copy_alone_is_made_without_opening_anything(commands, tmp_path, capsys):
    assert __main__.main(["lab", "--folder", str(tmp_path / "mine"), "--copy-only"]) == 0
    assert (tmp_path / "mine" / lab.FIRST).is_file()
    assert str(tmp_path / "mine") in capsys.readouterr().out
    assert commands == []


def test_every_relative_link_of_a_working_copy_leads_somewhere(tmp_path):
    """Judge: the files of a fresh copy, which is the root of what JupyterLab shows."""
    work, dead = lab.make_copy(tmp_path / "work"), []
    for lesson in work.glob("*.ipynb"):
        book = json.loads(lesson.read_text(encoding="utf-8"))
        prose = "\n".join(
            "".join(c["source"]) for c in book["cells"] if c["cell_type"] == "markdown"
        )
        links = set(re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", prose))
        dead += [(lesson.name, link) for link in sorted(links) if not (work / link).exists()
                 or not (work / link).resolve().is_relative_to(work)]  # fmt: skip
    assert dead == []
    assert (work / "programs" / "mlp_tutorial.py").is_file()


def test_the_learners_scripts_are_not_written_over(tmp_path):
    work = lab.make_copy(tmp_path / "work")
    (work / "train_digits.py").write_text("mine")
    lab.make_copy(work)
    assert (work / "train_digits.py").read_text() == "mine"


def test_the_lab_asks_for_no_news(commands, monkeypatch, tmp_path):
    """Judge: JupyterLab's server, asked for what its page is told."""
    from jupyter_core.paths import jupyter_config_path
    from jupyterlab_server.config import get_page_config

    monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(tmp_path / "own"))
    lab.open_lab(tmp_path / "work")
    path = Started.options[-1]["env"]["JUPYTER_CONFIG_PATH"]
    assert path.endswith(os.pathsep + str(tmp_path / "own"))
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", path)
    told = get_page_config([f"{place}/labconfig" for place in jupyter_config_path()])
    assert "@jupyterlab/apputils-extension:announcements" in told["disabledExtensions"]
