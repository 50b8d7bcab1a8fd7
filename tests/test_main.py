"""The command line: one sentence for each mistake, no traceback.

Judge: what is printed, and the exit codes.
"""

import pytest

from tests.for_each import raises
from trainium_edu import __main__
from trainium_edu.cli.arguments import COMMANDS
from trainium_edu.exercises import lessons


def test_no_command_and_an_unknown_one(capsys):
    for arguments in ([], ["nonsense"], ["grade"], ["update", "--nonsense"]):
        assert raises(SystemExit, "", __main__.main, arguments).code == 2
    assert "Traceback" not in capsys.readouterr().err


def test_help_names_every_command(capsys):
    raises(SystemExit, "", __main__.main, ["--help"])
    said = capsys.readouterr().out
    assert all(command in said for command in COMMANDS)


def test_update_before_lab_is_one_sentence(tmp_path, capsys):
    assert __main__.main(["update", "--folder", str(tmp_path / "none")]) == 1
    assert "`python -m trainium_edu lab` makes it" in capsys.readouterr().out


def test_update_says_a_line_for_each_lesson(tmp_path, capsys):
    from trainium_edu.cli import working_copy

    working_copy.make_working_copy(tmp_path)
    assert __main__.main(["update", "--folder", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count(": nothing new\n") == len(lessons.notebooks())


def test_lessons_come_from_the_package_where_it_is_installed(tmp_path, monkeypatch):
    """In a wheel the notebooks lie inside the package, and work/ is made where the learner is."""
    import trainium_edu
    from trainium_edu.cli import working_copy

    package = tmp_path / "site-packages" / "trainium_edu"
    (package / "notebooks").mkdir(parents=True)
    (package / "exercises").mkdir()
    (package / "notebooks" / "00_start_here.ipynb").write_text("{}")
    monkeypatch.setattr(trainium_edu, "__file__", str(package / "__init__.py"))
    monkeypatch.chdir(tmp_path)
    assert lessons.folder() == package / "notebooks"
    assert working_copy.default_folder() == tmp_path / "work"
    (package / "notebooks" / "00_start_here.ipynb").unlink()
    raises(FileNotFoundError, "no lessons are installed", lessons.folder)


@pytest.mark.parametrize("lesson", ["55", "00", "x"])
def test_export_of_a_lesson_without_exercises(lesson, tmp_path, capsys):
    assert __main__.main(["export", lesson, str(tmp_path / "a.ipynb")]) == 1
    assert "has no exercises" in capsys.readouterr().err
