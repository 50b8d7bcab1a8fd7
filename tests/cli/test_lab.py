"""Judges: JupyterLab, which refuses to start for root without ``--allow-root``; the folder."""

import os
import subprocess
from typing import ClassVar

import pytest

from trainium_edu.cli import lab


class Started:
    """Stands for the server's process: keeps its command, and ends at once."""

    commands: ClassVar[list] = []

    def __init__(self, command, **options):
        self.commands.append(command)

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


def test_a_copy_alone_is_made_without_opening_anything(commands, tmp_path, capsys):
    from trainium_edu import __main__

    assert __main__.main(["lab", "--folder", str(tmp_path / "mine"), "--copy-only"]) == 0
    assert (tmp_path / "mine" / lab.FIRST).is_file()
    assert str(tmp_path / "mine") in capsys.readouterr().out
    assert commands == []
