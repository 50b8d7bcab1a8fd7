"""The pages say what is there: the table of lessons, its minutes, the exercises, the commands.

Judge: the notebooks, the exercises and the commands themselves; ``.ci/generate.py`` writes the
tables from ``exercises.lessons.COURSE``.
"""

import json
import re
import runpy
from pathlib import Path

import pytest

from trainium_edu import __main__, exercises
from trainium_edu.exercises.lessons import COURSE

ROOT = Path(__file__).parents[1]
PAGE = ROOT / ".github" / "INSTRUCTORS.md"
GENERATE = runpy.run_path(str(ROOT / ".ci" / "generate.py"))
LESSONS = [lesson for lesson in COURSE if not lesson.planned]
MOST_MINUTES = 45


def notebook(lesson):
    return ROOT / "notebooks" / f"{lesson.stem}.ipynb"


def opening(lesson):
    cells = json.loads(notebook(lesson).read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(c["source"]) for c in cells[:3])


@pytest.mark.parametrize("path", GENERATE["generated"](), ids=lambda p: p.name)
def test_what_is_generated_is_as_it_would_be_generated(path):
    assert path.read_text(encoding="utf-8") == GENERATE["generated"]()[path]


def test_the_course_has_the_lessons_that_there_are():
    stems = sorted(path.stem for path in (ROOT / "notebooks").glob("[0-9][0-9]*_*.ipynb"))
    assert [lesson.stem for lesson in LESSONS] == stems
    whole = [lesson.number for lesson in COURSE if lesson.number.isdigit()]
    assert whole == [f"{i:02}" for i in range(len(whole))]
    assert {lesson.number: lesson.stem for lesson in LESSONS[1:]} == exercises.LESSONS


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda x: x.stem)
def test_a_lesson_says_its_number_and_its_minutes(lesson):
    said = opening(lesson)
    assert re.match(rf"# {lesson.number}\b", said)
    minutes = [int(m) for m in re.findall(r"\b(\d+)(?= min)", said)]
    wanted = [m for m in (lesson.minutes, lesson.exercise_minutes) if m]
    assert minutes[: len(wanted)] == wanted


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda x: x.stem)
def test_a_lessons_minutes_are_what_counting_gives(lesson):
    reading, exercising = GENERATE["counted"](notebook(lesson))
    assert lesson.minutes <= MOST_MINUTES
    if not lesson.exercise_minutes:
        reading += exercising
    else:
        assert lesson.exercise_minutes >= exercising
    assert abs(reading - lesson.minutes) <= 12


def test_the_core_path_takes_the_minutes_that_the_page_says():
    core = [lesson for lesson in COURSE if lesson.core]
    read, tried = (sum(getattr(lesson, name) for lesson in core)
                   for name in ("minutes", "exercise_minutes"))  # fmt: skip
    page = " ".join(PAGE.read_text().split())
    assert ", ".join(lesson.number for lesson in core) in page
    assert f"{read} minutes to read and play, {tried} for the exercises" in page
    sittings = ("00", "02"), ("03", "07"), ("08", "09"), ("09b",)
    left = [90 - sum(lesson.minutes for lesson in core if lesson.number in each)
            for each in sittings]  # fmt: skip
    assert min(left) > 0
    assert f"leaves {', '.join(map(str, left[:-1]))} and {left[-1]} for exercises" in page
    assert f"the other {tried - sum(left)} are homework" in page


def test_every_exercise_stands_on_the_page_and_no_other():
    listed = re.findall(r"(?m)^\| `(\d\d[a-z]?/[^`]+)`", PAGE.read_text())
    assert listed == [e.key for lesson in exercises.LESSONS for e in exercises.of_lesson(lesson)]


def test_every_command_on_the_page_exists(capsys):
    for command in set(re.findall(r"python -m trainium_edu ([a-z-]+)", PAGE.read_text())):
        assert command in __main__.COMMANDS
    for options in re.findall(r"python -m trainium_edu grade[^`\n]*", PAGE.read_text()):
        with pytest.raises(SystemExit):
            __main__.main(["grade", "--help"])
        known = capsys.readouterr().out
        for option in re.findall(r"--[a-z-]+", options):
            assert option in known


def test_binder_has_the_same_packages_as_conda():
    """repo2docker reads .binder/ alone where there is one."""

    def packages(path):
        lines = [line.strip() for line in path.read_text().splitlines()]
        return {
            li for li in lines if li.startswith("- ") and "editable" not in li and li != "- pip:"
        }

    assert packages(ROOT / ".binder/environment.yml") == packages(ROOT / "environment.yml")
    assert "--no-deps" in (ROOT / ".binder/postBuild").read_text()
