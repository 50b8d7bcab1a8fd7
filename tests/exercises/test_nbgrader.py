"""The exercises as nbgrader assignments: generate, autograde, feedback, export, for real.

Judge: nbgrader itself, in a virtual environment of its own (it pins Jupyter), which
``make .venv-nbgrader/.ready`` makes; the test is skipped where it is missing.
"""

import csv
import html
import json
import os
import re
import subprocess
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.solutions import reading
from tests.texts import text_beside
from trainium_edu import exercises
from trainium_edu.exercises import afterwards, assignment
from trainium_edu.exercises.cells import key_of, with_student

ROOT = Path(__file__).parents[2]
VENV = Path(os.environ.get("NBGRADER_VENV", ROOT / ".venv-nbgrader"))
#: Every student's lesson runs: the shortest with exercises of all kinds; the others take longer.
LESSONS = ["03", *(pytest.param(n, marks=pytest.mark.soak) for n in ("02", "08"))]
CONFIG = """
c = get_config()
c.CourseDirectory.course_id = "chips"
c.ExecutePreprocessor.timeout = 120
c.ClearSolutions.code_stub = {"python": "# your answer goes above"}
"""


@pytest.fixture(scope="module")
def nbgrader(tmp_path_factory):
    """Run an nbgrader command in a course folder."""
    program = VENV / "bin" / "nbgrader"
    if not program.exists():
        pytest.skip(f"no {program}: `make .venv-nbgrader/.ready` makes it")
    course = tmp_path_factory.mktemp("course")
    (course / "nbgrader_config.py").write_text(CONFIG)
    environment = {
        **os.environ,
        "TRAINIUM_EDU_HOME": str(course / "home"),
        "TRAINIUM_EDU_COMMITTED": "1",
        "JUPYTER_PLATFORM_DIRS": "1",
    }  # called by its path: nothing of its environment is activated

    def run(*arguments):
        done = subprocess.run(
            [str(program), *arguments], cwd=course, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stderr

    return course, run


def handed_in(course, lesson, student, answers):
    """Write a student's notebook from what nbgrader released."""
    released = course / "release" / lesson / f"{lesson}.ipynb"
    book = json.loads(released.read_text())
    for cell in book["cells"]:
        if key_of(cell) in answers:
            cell["source"] = answers[key_of(cell)]
        if "student-id" in cell["metadata"].get("tags", ()):
            cell["source"] = with_student("".join(cell["source"]), student)
    target = course / "submitted" / student / lesson / f"{lesson}.ipynb"
    target.parent.mkdir(parents=True)
    target.write_text(json.dumps(book))


#: What was tried on the hidden tests, and gave full points once.
PATCHES = [f"{patch.strip()}\n" for patch in text_beside(__file__, "patches.py.txt").split("\n\n")]


@pytest.mark.slow
@pytest.mark.judge
@pytest.mark.parametrize("lesson", LESSONS)
def test_the_whole_round_trip(nbgrader, lesson):
    course, run = nbgrader
    mine = exercises.of_lesson(lesson)
    total = sum(exercise.points for exercise in mine)
    source = course / "source" / lesson / f"{lesson}.ipynb"
    solutions = afterwards.FOLDER / f"{exercises.LESSONS[lesson].partition('_')[2]}.md"
    said = assignment.export(lesson, source, solutions=solutions, salt="pepper")
    assert said.endswith(f"{len(mine)} exercises, {total} points")
    run("generate_assignment", lesson)

    released = (course / "release" / lesson / f"{lesson}.ipynb").read_text()
    blocks = reading.blocks(lesson)
    right = {b.key: b.source for b in blocks if b.kind == "solution"}
    for text in right.values():
        assert json.dumps(max(text.split("\n"), key=len).strip())[1:-1] not in released
    assert "HIDDEN TESTS" not in released
    assert "pepper" not in released

    wrong = {b.key: b.source for b in blocks if b.kind == "wrong"}
    first = mine[0]
    handed_in(course, lesson, "solved", right)
    handed_in(course, lesson, "half", {first.key: right[first.key]})
    handed_in(course, lesson, "wrong", wrong)
    patches = iter(PATCHES)  # one in each answer, what is left in the last
    attacks = {key: next(patches) + text for key, text in list(wrong.items())[:-1]}
    last = mine[-1].key
    handed_in(course, lesson, "attack", attacks | {last: "".join(patches) + wrong[last]})
    handed_in(course, lesson, "looked-up", {
        b.key: b.source for b in blocks
        if b.kind == "hard-coded" and not exercises.find(b.key).literal
    })  # fmt: skip
    run("autograde", lesson)
    run("generate_feedback", lesson)
    run("export")

    rows = {
        row["student_id"]: row
        for row in csv.DictReader((course / "grades.csv").open())
        if row["assignment"] == lesson
    }
    scores = {student: float(row["score"]) for student, row in rows.items()}
    assert scores == {
        "solved": total, "half": first.points, "wrong": 0, "attack": 0, "looked-up": 0,
    }  # fmt: skip
    assert all(float(row["max_score"]) == total for row in rows.values())
    page = next((course / "feedback" / "wrong" / lesson).glob("*.html")).read_text()
    text = html.unescape(re.sub(r"<[^>]*>", "", page))
    assert [b for b in blocks if b.key == first.key and b.kind == "wrong"][-1].feedback in text


@pytest.mark.slow
def test_hidden_tests_grade_the_cells_so_far_where_no_patch_reaches(tmp_path):
    """Judge: points as the answers deserve them, by nbclient in place of nbgrader."""
    lesson, book = "03", tmp_path / "03.ipynb"
    assignment.export(lesson, book, salt="pepper")
    blocks = reading.blocks(lesson)
    right, wrong = (
        {b.key: b.source for b in blocks if b.kind == kind} for kind in ("solution", "wrong")
    )
    first, second, third, last = (e.key for e in exercises.of_lesson(lesson))
    attack = "".join(PATCHES[:2]) + wrong[second]
    answers = {first: right[first], second: attack, third: wrong[third], last: right[last]}
    notebook = nbformat.read(book, as_version=4)
    for cell in notebook.cells:
        cell.source = answers.get(key_of(cell), cell.source)
        if "student-id" in cell.metadata.get("tags", ()):
            cell.source = with_student(cell.source, "ab123")
    NotebookClient(notebook, allow_errors=True, timeout=300).execute()
    said = {key_of(cell, "check"): " ".join(out.evalue for out in cell.outputs if "evalue" in out)
            for cell in notebook.cells if key_of(cell, "check")}  # fmt: skip
    assert (said[first], said[last]) == ("", ""), said
    assert said[second].startswith("wrong: "), said
    assert said[third].startswith("wrong: "), said


@pytest.mark.parametrize("lesson", list(exercises.LESSONS))
def test_grade_ids_are_stable_and_different(lesson, tmp_path):
    """Judge: nbgrader's own rules, one cell per grade id and points on locked cells only."""
    if not exercises.of_lesson(lesson) or reading.notebook(lesson) is None:
        pytest.skip("this lesson is still to come")
    assignment.export(lesson, tmp_path / "a.ipynb")
    assignment.export(lesson, tmp_path / "b.ipynb")
    assert (tmp_path / "a.ipynb").read_text() == (tmp_path / "b.ipynb").read_text()
    cells = json.loads((tmp_path / "a.ipynb").read_text())["cells"]
    infos = [c["metadata"]["nbgrader"] for c in cells if "nbgrader" in c["metadata"]]
    keys = [exercise.key for exercise in exercises.of_lesson(lesson)]
    assert sorted(info["grade_id"] for info in infos) == sorted(
        assignment.grade_id(key, part) for key in keys for part in ("", "check")
    )
    for info in infos:
        assert info["grade"] == info["locked"] != info["solution"]
        assert ("points" in info) == info["grade"]
