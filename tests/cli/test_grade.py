"""Grading: every strange submission is a row with its reason, and the checks cannot be reached.

Judge: the points that each submission was made to deserve.
"""

import contextlib
import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from html.parser import HTMLParser
from pathlib import Path
from unittest import mock

import nbformat
import psutil
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tests.cli.submitted import grade_submission
from tests.for_each import raises
from tests.texts import table_beside, text_beside
from trainium_edu import __main__, exercises
from trainium_edu.cli import apart, feedback, grade
from trainium_edu.cli.grade_one import lesson_of, read_submission
from trainium_edu.cli.limits import Limits, Unreadable
from trainium_edu.cli.row import Row, read_kept

LESSON = Path(__file__).with_name("99_example.py")
LIMITS = Limits(seconds=6, submission_seconds=60)
GOOD = {
    "double": "def double(x):\n    return x + x",
    "row": "bad_row = {row}",
    "sum": "def total(x):\n    return np.cumsum(x)",
}


@pytest.fixture(scope="module", autouse=True)
def _lesson():
    before = dict(exercises.LESSONS)
    exercises.register(LESSON)
    yield
    exercises.LESSONS.clear()
    exercises.LESSONS.update(before)


def code(source, tags=(), **mine):
    cell = new_code_cell(source)
    cell.metadata.update({"tags": list(tags), **({"trainium_edu": mine} if mine else {})})
    return cell


def submission(path, student="ab123", extra=(), **answers):
    answers = {**GOOD, **answers}
    row = exercises.find("99/row").numbers(student).row
    cells = [new_markdown_cell("# Lesson"), code("import numpy as np"),
             code("raise RuntimeError('a cell that no exercise needs')"),
             code(f"student = {student!r}", ["student-id"]), *map(code, extra)]  # fmt: skip
    for name, source in answers.items():
        cells.append(code(source.replace("{row}", str(row)), ["exercise"], exercise=f"99/{name}"))
        cells.append(code(f"check.{name}(...)", ["check"], check=f"99/{name}"))
    path.parent.mkdir(exist_ok=True)
    nbformat.write(new_notebook(cells=cells), path)
    return path


def graded(path, **options):
    return grade_submission(path, modules=[LESSON], limits=LIMITS, **options)


def points(row):
    return {key[3:]: part["points"] for key, part in row.exercises.items()}


def test_solved_gets_full_points_and_the_lessons_own_cells_do_not_run(tmp_path):
    row = graded(submission(tmp_path / "a.ipynb"))
    assert (row.status, row.points, row.of, row.reason, row.notes) == ("graded", 6, 6, "", [])
    assert (row.lesson, row.student) == ("99", "ab123")


def test_half_solved_wrong_and_untouched_get_their_rows(tmp_path):
    row = graded(
        submission(
            tmp_path / "a.ipynb", double="def double(x):\n    return x * x", row="bad_row = None"
        )
    )
    assert points(row) == {"double": 0, "row": 0, "sum": 3}
    assert row.exercises["99/double"]["misconception"] == "squares"
    assert row.exercises["99/double"]["reason"] == "That is the square."
    assert row.exercises["99/row"]["status"] == "not attempted"


def test_a_hard_coded_public_answer_fails_the_hidden_check(tmp_path):
    x = exercises.find("99/double").numbers("ab123").x
    row = graded(submission(tmp_path / "a.ipynb", double=f"def double(x):\n    return {2 * x}"))
    assert points(row)["double"] == 0
    assert row.exercises["99/double"]["reason"].startswith("hidden check: ")


@pytest.mark.slow
def test_a_copied_literal_answer_fails_for_another_student(tmp_path):
    row = graded(submission(tmp_path / "a.ipynb", student="ab123"), student="other-id")
    assert points(row) == {"double": 2, "row": 0, "sum": 3}
    assert row.notes == ["states the student id 'ab123'"]
    row = graded(submission(tmp_path / "b.ipynb", student=""))
    assert points(row) == {"double": 2, "row": 1, "sum": 3}  # a course without ids
    assert "everyone's" in row.exercises["99/row"]["reason"]


#: Name: the cell of the first exercise, and what its row must say.
STRANGE = table_beside(__file__, "strange_answers.toml")


@pytest.mark.slow
@pytest.mark.parametrize("name", STRANGE)
def test_a_strange_exercise_is_a_row_with_its_reason_and_the_others_count(tmp_path, name):
    source, reason = STRANGE[name].values()
    row = graded(submission(tmp_path / "a.ipynb", double=source))
    assert row.status == "graded"
    assert reason in row.reason
    assert row.reason.startswith("99/double: ")
    assert points(row) == {"double": 0, "row": 1, "sum": 3}


@pytest.fixture
def process():
    with tempfile.TemporaryDirectory() as folder:  # where another user may go, too
        it = apart.Apart("in_kernel", Path(folder), LIMITS)
        yield it
        it.stop()


def test_a_process_that_does_not_start_stops_one_exercise_and_the_next_may_start(
    process, monkeypatch
):
    with monkeypatch.context() as no_memory:
        no_memory.setattr(subprocess, "Popen", mock.Mock(side_effect=OSError(12, "No memory")))
        raises(apart.Stopped, "its process does not start", process.begin)
    process.begin()
    assert (process.run("answer = 6 * 7"), process.look("answer")) == ("", 42)


@pytest.mark.parametrize("line", [b"no reply\n", b'["tuple",["value"]]\n', b"[" * 9999])
def test_what_is_no_reply_ends_the_process_and_the_next_may_start(process, line):
    writes = ("import gc, io\npipe = next(o for o in gc.get_objects() if isinstance(o, io.FileIO)"
              f" and o.mode == 'wb' and o.fileno() > 2)\npipe.write({line!r})")  # fmt: skip
    raises(apart.Stopped, "tampered with the process", process.run, writes)
    assert process.run("1 / 0") == 'ZeroDivisionError: division by zero (in the line "1 / 0")'


@pytest.mark.slow
def test_memory_is_limited(tmp_path):
    row = graded(submission(tmp_path / "a.ipynb", double="def double(x): return [0] * 10**10"))
    assert points(row) == {"double": 0, "row": 1, "sum": 3}
    assert "MemoryError" in row.exercises["99/double"]["reason"]


def test_games_with_modules_reach_no_check(tmp_path):
    cheat = text_beside(__file__, "cheats.py.txt") + "double = Always()"
    row = graded(submission(tmp_path / "a.ipynb", double=cheat, row="bad_row = Always()"))
    assert points(row) == {"double": 0, "row": 0, "sum": 3}
    assert "uses sys.modules" in row.notes


@pytest.mark.slow
def test_a_forged_reply_is_called_tampering(tmp_path):
    forge = text_beside(__file__, "forged_reply.py.txt")
    row = graded(submission(tmp_path / "a.ipynb", double=f"{forge}def double(x): return 2 * x"))
    assert row.exercises["99/double"]["reason"] == "tampered with the process that grades it"


def test_what_a_submission_leaves_running_is_ended(tmp_path):
    mark = f"# {tmp_path.name} {os.getpid()}"  # other runs of this test may be under way
    leave = (
        "import subprocess, sys\n"
        f"subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3333)', '{mark}'],"
        " start_new_session=True)\n"
        "def double(x): return 2 * x"
    )
    assert graded(submission(tmp_path / "a.ipynb", double=leave)).points == 6
    left = [p for p in psutil.process_iter(["cmdline"]) if mark in (p.info["cmdline"] or ())]
    _, alive = psutil.wait_procs(left, timeout=60)
    assert not alive


def copied(book):
    """The exercise's cell stands twice; the copy is the starter."""
    book.cells.append(code("def double(x):\n    ...", exercise="99/double"))


def split(book):
    first = next(c for c in book.cells if c.source.startswith("def double"))
    first.source = "def plus(a, b):\n    return a + b"
    book.cells.append(code("def double(x):\n    return plus(x, x)", exercise="99/double"))


def reordered(book):
    book.cells.reverse()


def tags_lost(book):
    for cell in book.cells:
        if not cell.source.startswith(("student", "bad_row")):
            cell.metadata.clear()


@pytest.mark.slow
@pytest.mark.parametrize("edit", [copied, split, reordered, tags_lost], ids=lambda e: e.__name__)
def test_edited_notebooks_are_graded_all_the_same(tmp_path, edit):
    book = nbformat.read(submission(tmp_path / "a.ipynb"), as_version=4)
    edit(book)
    nbformat.write(book, tmp_path / "a.ipynb")
    assert graded(tmp_path / "a.ipynb").points == 6


def test_a_deleted_exercise_is_not_attempted_and_an_unknown_one_is_named(tmp_path):
    book = nbformat.read(submission(tmp_path / "a.ipynb"), as_version=4)
    book.cells = [c for c in book.cells if not c.source.startswith("def double")]
    book.cells.append(code("pass", exercise="99/nonsense"))
    nbformat.write(book, tmp_path / "a.ipynb")
    row = graded(tmp_path / "a.ipynb")
    assert points(row) == {"double": 0, "row": 1, "sum": 3}
    assert row.exercises["99/double"]["reason"] == "no cell binds `double`"
    assert "unknown exercise '99/nonsense'" in row.notes


def old_format(path):
    nbformat.write(nbformat.convert(nbformat.read(path, as_version=4), 3), path, version=3)


def without_ids(path):
    book = json.loads(path.read_text())
    book["nbformat_minor"] = 4
    for cell in book["cells"]:
        cell.pop("id", None)
    path.write_text(json.dumps(book))


@pytest.mark.slow
@pytest.mark.parametrize("edit", [old_format, without_ids], ids=lambda e: e.__name__)
def test_old_formats_are_graded(tmp_path, edit):
    path = submission(tmp_path / "99_example.ipynb")
    edit(path)
    assert graded(path).points == 6


UNKNOWN = new_notebook(cells=[code("", exercise="55/x")])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"hello", "not a notebook (not JSON)"),
        (b"\xff\xfe\x00\x01", "not a notebook (not text)"),
        (b"", "not a notebook (not JSON)"),
        (b"[1]", "not a notebook (no cells)"),
        (b'{"cells": [{"cell_type": "code", "so', "truncated: the file ends in the middle"),
        (nbformat.writes(new_notebook()).encode(), "no exercise cells of a known lesson"),
        (b'{"cells": [7], "nbformat": 4, "metadata": {}}', "a damaged notebook"),
        (nbformat.writes(UNKNOWN).encode(), "unknown exercise '55/x'"),
    ],
)
def test_what_is_no_submission_is_named_in_one_sentence(tmp_path, content, reason):
    path = tmp_path / "strange.ipynb"
    path.write_bytes(content)
    caught = raises(Unreadable, "", lambda: lesson_of(read_submission(path), path.name))
    assert str(caught).startswith(reason)


def test_a_folder_or_a_dead_link_named_like_a_notebook_is_a_row(tmp_path):
    (tmp_path / "a.ipynb").mkdir()
    (tmp_path / "b.ipynb").symlink_to(tmp_path / "nowhere")
    rows = grade.grade_all(grade.submissions(tmp_path), modules=[LESSON], limits=LIMITS)
    assert [r.reason for r in rows] == [
        "cannot be read (Is a directory)",
        "cannot be read (No such file or directory)",
    ]


@pytest.mark.slow
def test_too_long_a_submission_keeps_the_grades_that_it_has(tmp_path):
    path = submission(tmp_path / "a.ipynb", sum="import time\ntime.sleep(500)\ntotal = 1")
    limits = Limits(seconds=300, submission_seconds=15)
    row = grade_submission(path, modules=[LESSON], limits=limits)
    assert points(row) == {"double": 2, "row": 1, "sum": 0}
    assert row.reason == "took more than 15 s"
    assert row.exercises["99/sum"]["status"] == "stopped"


def command(*arguments):
    arguments = ["grade", *map(str, arguments), "--exercises", str(LESSON)]
    return __main__.main(arguments)


def test_the_command_writes_a_table_and_goes_on_where_it_stopped(tmp_path, capsys):
    folder = tmp_path / "in"
    folder.mkdir()
    submission(folder / "ann.ipynb", student="ann")
    submission(folder / "bob.ipynb", student="=cmd()", double="double = None")
    (folder / "cut.ipynb").write_text('{"cells": [')
    out = tmp_path / "grades.csv"
    assert command(folder, "--csv", out, "--jobs", 2) == 0
    assert "3 rows in" in capsys.readouterr().out
    rows = list(csv.DictReader(out.open()))
    assert [(r["points"], r["of"], r["status"]) for r in rows] == [
        ("6", "6", "graded"), ("4", "6", "graded"), ("0", "0", "not graded"),
    ]  # fmt: skip
    assert rows[1]["student"] == "'=cmd()"  # no formula
    assert rows[1]["99/double feedback"] == "not attempted"
    # one more submission: the kept rows are not graded again, a torn line does no harm
    submission(folder / "dan.ipynb", student="ann", double="def double(x):\n    return x * x")
    with (tmp_path / "grades.csv.jsonl").open("a") as kept:
        kept.write('{"submission": "torn')
    pages = tmp_path / "pages"
    assert command(folder, "--csv", out, "--feedback", pages) == 0
    assert "4 rows in" in (said := capsys.readouterr().out)
    assert "(1 new)" in said
    rows = list(csv.DictReader(out.open()))
    assert rows[0]["notes"] == "same student id as dan.ipynb"
    assert [row["99/double misconception"] for row in rows] == ["", "", "", "squares"]
    assert sorted(path.name for path in pages.iterdir()) == [
        f"{name}.ipynb.html" for name in ("ann", "bob", "cut", "dan")
    ]
    told = (pages / "dan.ipynb.html").read_text()
    assert ">4 of 6 points, student ann<" in told
    assert "That is the square." in told
    assert "truncated: the file ends in the middle" in (pages / "cut.ipynb.html").read_text()


def test_feedback_keeps_a_class_apart_and_shows_text_as_text(tmp_path):
    """Judge: Python's HTML parser, which sees no element but the page's own."""
    grade = {"points": 0, "of": 2, "status": "wrong", "reason": "<b>\2</b> & <script>",
             "misconception": "squares"}  # fmt: skip
    names = [tmp_path / "in" / student / "02.ipynb" for student in ("ann", "<i>bob")]
    rows = [
        Row(str(name), of=2, exercises={"99/double": grade}, notes=["saw it"]) for name in names
    ]
    feedback.write([*rows, Row("cid.ipynb", "not graded", "nothing was handed in")],
                   tmp_path / "in", tmp_path / "out")  # fmt: skip
    seen = []
    reader = HTMLParser()
    reader.handle_starttag = lambda tag, _: seen.append(tag)
    text = (tmp_path / "out" / "<i>bob" / "02.ipynb.html").read_text()
    reader.feed(text)
    assert not {"b", "i", "script", "strong"} & set(seen)
    assert "&lt;b&gt; &lt;/b&gt; &amp; &lt;script&gt;" in text
    assert "saw it" not in text
    assert "squares" not in text
    assert (tmp_path / "out" / "ann" / "02.ipynb.html").is_file()
    assert "nothing was handed in" in (tmp_path / "out" / "cid.ipynb.html").read_text()


def test_a_full_disk_keeps_what_was_written(tmp_path, capsys, monkeypatch):
    """/dev/full gives the error of a full disk to every write."""
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    submission(tmp_path / "a.ipynb")
    out = tmp_path / "grades.csv"
    (tmp_path / "grades.csv.jsonl").symlink_to("/dev/full")
    assert command(tmp_path / "a.ipynb", "--csv", out) == 1
    assert "No space left on device after 0 new rows" in capsys.readouterr().err
    assert not out.exists()


def test_a_line_that_a_full_disk_tore_costs_no_other_row(tmp_path, capsys):
    folder = tmp_path / "in"
    folder.mkdir()
    submission(folder / "a.ipynb")
    out = tmp_path / "grades.csv"
    kept = tmp_path / "grades.csv.jsonl"
    kept.write_text('{"submission": "torn", "rea')
    assert (command(folder, "--csv", out), command(folder, "--csv", out)) == (0, 0)
    assert "(0 new)" in capsys.readouterr().out


def _worked_s(process):
    with contextlib.suppress(psutil.Error):
        return process.cpu_times().user
    return 0.0


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_interrupt_keeps_the_rows_so_far_and_leaves_nothing_running(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    submission(folder / "a.ipynb")
    submission(folder / "b.ipynb", double="def double(x):\n    while True: pass")
    process = subprocess.Popen(
        [sys.executable, "-m", "trainium_edu", "grade", str(folder), "--jobs", "1",
         "--csv", str(tmp_path / "g.csv"), "--seconds", "100", "--exercises", str(LESSON)],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert "a.ipynb: 6 of 6" in process.stdout.readline()
    family: list = []
    while not any(
        _worked_s(member) > 5 for member in family
    ):  # only the endless loop works so long
        assert process.poll() is None  # the loop is stopped after 100 s
        family = psutil.Process(process.pid).children(recursive=True)
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "stopped after 1 new rows" in said
    _, alive = psutil.wait_procs(family, timeout=5)
    assert alive == []
    assert [row.points for row in read_kept(tmp_path / "g.csv.jsonl").values()] == [6]


@pytest.mark.slow
def test_json_of_one_notebook_and_a_roster_that_gives_its_id(tmp_path, capsys):
    submission(tmp_path / "a.ipynb", student="")
    (tmp_path / "ids.csv").write_text("submission,student\na.ipynb,zoe\n")
    assert command(tmp_path / "a.ipynb", "--json", "--roster", tmp_path / "ids.csv") == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["student"], row["exercises"]["99/sum"]["status"]) == ("zoe", "full")


def test_two_lessons_in_one_notebook_are_both_graded_and_a_stray_cell_costs_nothing(tmp_path):
    """Every run alike: a set's order decides nothing."""
    keys = [e.key for e in exercises.of_lesson("07")] + ["99/double", "99/row", "99/sum"]

    def lesson(*keys):
        return lesson_of(new_notebook(cells=[code("", exercise=key) for key in keys]))

    assert lesson(*keys) == lesson(*reversed(keys)) == "07+99"
    assert lesson("99/double", "99/row", "01/survives") == "99"
    assert lesson("99/double", "01/survives") == lesson("01/survives", "99/double") == "01"


def test_two_lessons_in_one_notebook_are_one_row(tmp_path):
    path = submission(tmp_path / "a.ipynb", double="double = None")
    book = nbformat.read(path, as_version=4)
    book.cells += [code("hops = None", exercise=e.key) for e in exercises.of_lesson("07")]
    nbformat.write(book, path)
    row = graded(path)
    assert (row.lesson, row.points, row.of) == ("07+99", 4, 12)


def test_a_cell_beside_the_answers_that_never_ends_costs_no_points(tmp_path):
    book = nbformat.read(submission(tmp_path / "a.ipynb"), as_version=4)
    book.cells.insert(6, code("x = any(iter(int, 1))"))
    nbformat.write(book, tmp_path / "a.ipynb")
    row = graded(tmp_path / "a.ipynb")
    assert row.points == 6
    assert "a cell beside the answers was left out: a cell did not end within 6 s" in row.notes[0]


def test_everybody_gets_a_row_whatever_was_handed_in(tmp_path, capsys):
    folder = tmp_path / "in"
    (folder / "eve").mkdir(parents=True)
    (folder / "fay").mkdir()
    submission(folder / "ann.ipynb", student="ann")
    (folder / "ann.pdf").write_bytes(b"%PDF, printed from the notebook")
    (folder / "bob.docx").write_bytes(b"PK\x03\x04\xff")
    (folder / "cy.py").write_text("def double(x): ...")
    (folder / "eve" / "essay.txt").write_text("the answer is 2")
    submission(folder / "fay" / "fay.ipynb", student="fay")
    (folder / "fay" / "notes.txt").write_text("beside the notebook")
    (tmp_path / "ids.csv").write_text("submission,student\nann.ipynb,ann\ndan.ipynb,dan\n")
    out = tmp_path / "grades.csv"
    assert command(folder, "--csv", out, "--roster", tmp_path / "ids.csv") == 0
    rows = {Path(row["submission"]).name: row for row in csv.DictReader(out.open())}
    assert {name: row["reason"] for name, row in rows.items()} == {
        "ann.ipynb": "", "fay.ipynb": "", "bob.docx": "not a notebook (not text)",
        "cy.py": "not a notebook (not JSON)", "essay.txt": "not a notebook (not JSON)",
        "dan.ipynb": "nothing was handed in",
    }  # fmt: skip
    assert (rows["dan.ipynb"]["student"], rows["dan.ipynb"]["points"]) == ("dan", "0")


def test_what_cannot_be_graded_is_one_sentence_before_anything_is(tmp_path, capsys):
    (tmp_path / "none").mkdir()
    (tmp_path / "ids.csv").write_text("name\nx\n")
    submission(tmp_path / "in" / "a.ipynb")
    for place, options, says in (
        ("none", (), "holds no .ipynb file"), ("gone", (), "gone"), ("in", ("--jobs", 0), "--jobs"),
        ("in", ("--roster", tmp_path / "ids.csv"), "ids.csv"),
        ("in", ("--csv", tmp_path / "no" / "grades.csv"), "there is no folder"),
        ("in", ("--feedback", tmp_path / "in" / "pages"),
         "is among the submissions; name a folder elsewhere"),
    ):  # fmt: skip
        assert command(tmp_path / place, *options) == 1
        (said,) = capsys.readouterr().err.splitlines()
        assert says in said


def test_a_folder_that_cannot_be_read_is_named_and_the_others_are_graded(
    tmp_path, monkeypatch, capsys
):
    (tmp_path / "open").mkdir()
    (tmp_path / "shut").mkdir()
    submission(tmp_path / "open" / "a.ipynb")
    real = os.scandir

    def scandir(path):
        if str(path).endswith("shut"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert [p.name for p in grade.submissions(tmp_path)] == ["a.ipynb"]
    said = capsys.readouterr().err
    assert said == f"{tmp_path / 'shut'}: cannot be read (Permission denied)\n"
