"""The pages say what is there: the table of lessons, its minutes, the exercises, the commands.

Judge: the notebooks, the exercises and the commands themselves; ``.ci/generate.py`` writes the
tables from ``exercises.lessons.COURSE``.
"""

import copy
import csv
import json
import re
import runpy
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tests.for_each import for_each, raises
from trainium_edu import __main__, exercises
from trainium_edu.cli.arguments import COMMANDS
from trainium_edu.exercises import afterwards, lessons
from trainium_edu.exercises.lessons import COURSE

ROOT = Path(__file__).parents[1]
PAGE = ROOT / ".github" / "INSTRUCTORS.md"
GENERATE = runpy.run_path(str(ROOT / ".ci" / "generate.py"))
LESSONS = list(COURSE)
MOST_MINUTES = 45


def notebook(lesson):
    return ROOT / "notebooks" / f"{lesson.stem}.ipynb"


def opening(lesson):
    cells = json.loads(notebook(lesson).read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(c["source"]) for c in cells[:3])


def test_what_is_generated_is_as_it_would_be_generated():
    for path, text in GENERATE["generated"]().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run .ci/generate.py"


def test_the_course_has_the_lessons_that_there_are():
    stems = sorted(path.stem for path in (ROOT / "notebooks").glob("[0-9][0-9]*_*.ipynb"))
    assert [lesson.stem for lesson in LESSONS] == stems
    whole = [lesson.number for lesson in COURSE if lesson.number.isdigit()]
    assert whole == [f"{i:02}" for i in range(len(whole))]
    assert {lesson.number: lesson.stem for lesson in LESSONS[1:]} == exercises.LESSONS


@for_each("lesson", LESSONS, ids=lambda x: x.stem)
def test_a_lesson_says_its_number_and_its_minutes(lesson):
    said = opening(lesson)
    assert re.match(rf"# {lesson.number}\b", said)
    minutes = [int(m) for m in re.findall(r"\b(\d+)(?= min)", said)]
    wanted = [m for m in (lesson.minutes, lesson.exercise_minutes) if m]
    assert minutes[: len(wanted)] == wanted


@for_each("lesson", LESSONS, ids=lambda x: x.stem)
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
    read, tried = (
        sum(getattr(lesson, name) for lesson in core) for name in ("minutes", "exercise_minutes")
    )
    page = " ".join(PAGE.read_text().split())
    assert ", ".join(lesson.number for lesson in core) in page
    assert f"{read} minutes to read and play, {tried} for the exercises" in page
    sittings = ("00", "02"), ("03", "07"), ("08", "09"), ("09b",)
    left = [
        90 - sum(lesson.minutes for lesson in core if lesson.number in each) for each in sittings
    ]
    assert min(left) > 0
    assert f"leaves {', '.join(map(str, left[:-1]))} and {left[-1]} for exercises" in page
    assert f"the other {tried - sum(left)} are homework" in page


def test_every_exercise_stands_on_the_page_and_no_other():
    listed = re.findall(r"(?m)^\| `(\d\d[a-z]?/[^`]+)`", PAGE.read_text())
    assert listed == [e.key for lesson in exercises.LESSONS for e in exercises.of_lesson(lesson)]


def test_every_command_on_the_page_exists(capsys):
    for command in set(re.findall(r"python -m trainium_edu ([a-z-]+)", PAGE.read_text())):
        assert command in COMMANDS
    for options in re.findall(r"python -m trainium_edu grade[^`\n]*", PAGE.read_text()):
        raises(SystemExit, "", __main__.main, ["grade", "--help"])
        known = capsys.readouterr().out
        for option in re.findall(r"--[a-z-]+", options):
            assert option in known


# -- the worked example --------------------------------------------------------------------------

EXAMPLE = PAGE.read_text(encoding="utf-8").partition("## An assignment of your own")[2]
RIGHT = {
    "20/bisection": "def bisection(rows, columns):\n    return 2 * rows",
    "20/hops": afterwards.read(afterwards.FOLDER / "topology.md")["07/hops"].solution,
}
CELL = re.compile(r"(?m)^\| [\w -]+ \| `(\{.*?\})` \| (`.*`) \|$")


@pytest.fixture
def own_lesson(tmp_path):
    """The page's file and notebook, written as the page says; the notebook of `answers`."""
    home, handed_in = tmp_path / "20_my_lesson.py", tmp_path / "in"
    home.write_text(re.search(r"(?s)```python\n(.*?)```", EXAMPLE)[1])
    cells = []
    for metadata, source in CELL.findall(EXAMPLE):
        lines = [line.strip("`") for line in source.split("<br>")]
        cells.append(new_code_cell("\n".join(lines), metadata=json.loads(metadata)))
    assert len(cells) == 4
    cells.append(new_code_cell("...", metadata={"trainium_edu": {"exercise": "20/hops"}}))
    cells.append(new_code_cell("check.hops(hops)", metadata={"trainium_edu": {"check": "20/hops"}}))
    handed_in.mkdir()

    def written(path="", **answers):
        book = new_notebook(cells=copy.deepcopy(cells))
        for cell in book.cells:
            key = cell.metadata.get("trainium_edu", {}).get("exercise")
            cell.source = answers.get(key, cell.source)
        nbformat.write(book, path or home.with_suffix(".ipynb"))
        return home

    yield written
    for registered in (exercises.LESSONS, lessons.OWN):
        registered.pop("20", None)
    sys.modules.pop("trainium_edu.exercises.my_lesson", None)


def test_an_assignment_of_ones_own_is_graded_as_the_page_says(own_lesson, tmp_path, capsys):
    """Judge: a cut through a ring meets it twice; the shipped solution; a wrong and no answer."""
    file = own_lesson()
    wrong = RIGHT["20/bisection"].replace("2 * ", "")
    own_lesson(tmp_path / "in" / "ann.ipynb", **RIGHT)
    own_lesson(tmp_path / "in" / "bob.ipynb", **{"20/bisection": wrong})
    out = tmp_path / "grades.csv"
    command = ["grade", tmp_path / "in", "--exercises", file, "--csv", out, "--feedback",
               tmp_path / "pages"]  # fmt: skip
    assert __main__.main(list(map(str, command))) == 0
    ann, bob = csv.DictReader(out.open())
    assert (ann["points"], ann["of"], ann["reason"]) == ("4", "4", "")
    assert (bob["points"], bob["20/hops feedback"][:13]) == ("0", "not attempted")
    assert bob["20/bisection misconception"] == "one link a row"
    assert "Each row closes" in (tmp_path / "pages" / "bob.ipynb.html").read_text()
    hops = exercises.find("20/hops")
    assert {hops.numbers(str(i)).rows for i in range(40)} == {7, 9}
    assert afterwards.of(hops).solution == RIGHT["20/hops"]
    assert [e.key for e in exercises.of_lesson("20")] == ["20/hops", "20/bisection"]


def test_an_assignment_of_ones_own_goes_to_gradescope(own_lesson, tmp_path):
    file, out = own_lesson(), tmp_path / "autograder.zip"
    arguments = ["export", "20", out, "--gradescope", "--exercises", file, "--salt", "pepper"]
    assert __main__.main(list(map(str, arguments))) == 0
    with zipfile.ZipFile(out) as archive:
        names = {name for name in archive.namelist() if not name.startswith("package/")}
        line, setup = (archive.read(name).decode() for name in ("run_autograder", "setup.sh"))
    assert names == {"setup.sh", "run_autograder", "salt", "exercises/20_my_lesson.py",
                     "exercises/20_my_lesson.ipynb"}  # fmt: skip
    assert " grade submission --exercises source/exercises/20_my_lesson.py --salt-file " in line
    assert "chmod -R go-rwx salt $(ls -d assignment exercises" in setup


@pytest.mark.parametrize(("answer", "status"), [("2 * rows", "full"), ("rows", "wrong")])
def test_an_assignment_of_ones_own_goes_to_nbgrader(own_lesson, tmp_path, answer, status):
    """Judge: the hidden test as nbgrader runs it, in a namespace of the submission's."""
    file, out = own_lesson(), tmp_path / "source" / "20.ipynb"
    arguments = ["export", "20", out, "--exercises", file, "--salt", "pepper"]
    assert __main__.main(list(map(str, arguments))) == 0
    assert (out.parent / file.name).read_text() == file.read_text()
    sources = ["".join(cell["source"]) for cell in json.loads(out.read_text())["cells"]]
    assert any("exercises.register('20_my_lesson.py')" in text for text in sources)
    hidden = next(text for text in sources if text.startswith("check.bisection"))
    hidden = hidden.partition("### BEGIN HIDDEN TESTS\n")[2].partition("### END")[0]
    typed = ["student = 'ann'", f"def bisection(rows, columns):\n    return {answer}"]
    names = {"In": ["", *typed], "student": "ann"}
    if status == "full":
        exec(hidden, names)
    else:
        raises(AssertionError, "wrong: Each row closes", exec, hidden, names)
    assert names["grade"]["status"] == status
