"""Updating a learner's copy: twenty kinds of edited notebook, nothing of the learner's lost.

Judge: the learner's own text; every line they wrote is in the updated notebook or in a file
that stands beside it.
"""

import copy
import json

import nbformat
import pytest

from tests.for_each import raises
from tests.texts import table_beside
from trainium_edu.cli import update, working_copy
from trainium_edu.exercises import lessons
from trainium_edu.widgets.prediction import MIME

NAME = "07_example.ipynb"


def cell(id_, source, kind="code", **metadata):
    made = {"cell_type": kind, "id": id_, "metadata": metadata, "source": source}
    return {**made, "outputs": [], "execution_count": None} if kind == "code" else made


def book(*cells):
    return {"cells": list(cells), "metadata": {"language_info": {"name": "python"}},
            "nbformat": 4, "nbformat_minor": 5}  # fmt: skip


OLD = book(cell("title", "# A lesson", "markdown"), cell("setup", "import math"),
           cell("show", "print('old picture')"), cell("text", "An explanation.", "markdown"),
           cell("task", "def f(x):\n    ...", tags=["exercise"], trainium_edu={"exercise": "07/f"}),
           cell("check", "check.f(f)"), cell("end", "The end.", "markdown"))  # fmt: skip


def newer():
    """The lesson after its author mended it: one cell changed, one added, one gone."""
    lesson = copy.deepcopy(OLD)
    lesson["cells"][2]["source"] = "print('new picture')"
    lesson["cells"].insert(4, cell("hint", "A new paragraph.", "markdown"))
    del lesson["cells"][-1]
    return lesson


@pytest.fixture
def classroom(tmp_path, monkeypatch):
    """A folder of lessons with the old version handed out to a learner."""
    source, work = tmp_path / "notebooks", tmp_path / "work"
    source.mkdir()
    (source / NAME).write_text(json.dumps(OLD))
    monkeypatch.setattr(lessons, "folder", lambda: source)
    working_copy.make_working_copy(work)
    return source, work


def sources(path):
    return ["".join(c["source"]) for c in json.loads(path.read_text())["cells"]]


def everything(work):
    """All text in the learner's folder outside the hidden one."""
    return "\n".join(p.read_text(errors="replace") for p in work.glob("*") if p.is_file())


def by_id(notebook):
    return {c["id"]: c for c in notebook["cells"] if "id" in c}


def to_the_top(nb):
    nb["cells"].insert(0, nb["cells"].pop(4))


def older_format(nb):
    nb["nbformat_minor"] = 4
    for c in nb["cells"]:
        c.pop("id")


def all_rewritten(nb):
    for i, c in enumerate(nb["cells"]):
        c.pop("id")
        c["source"] = f"rewritten line {i}"


def other_ids(nb):
    for i, c in enumerate(nb["cells"]):
        c["id"] = f"tool-{i}"


def sources_as_lists(nb):
    for c in nb["cells"]:
        c["source"] = c["source"].splitlines(keepends=True)


EDITS = table_beside(__file__, "edits.toml")
EDITS["predicted"] = {"keeps": ["07/guess"], "change": {"show": {"outputs": [
    {"output_type": "display_data", "metadata": {}, "data": {MIME: {"key": "07/guess"}}}
]}}}  # fmt: skip


def edited(work, *names):
    """Edit the learner's lesson as some rows say; return what must not be lost."""
    mine, precious = json.loads((work / NAME).read_text()), []
    for row in (EDITS[name] for name in names):
        cells = by_id(mine)
        for id_, changes in row.get("change", {}).items():
            cells[id_].update(changes)
        mine["cells"] = [c for c in mine["cells"] if c["id"] not in row.get("remove", ())]
        for place, id_, source in row.get("insert", ()):
            made = {**copy.deepcopy(cells.get(id_, cell(id_, ""))), "source": source}
            mine["cells"].insert(place, {**made, "id": row.get("id", id_)})
        if "then" in row:
            globals()[row["then"]](mine)
        precious += row.get("keeps", ())
    (work / NAME).write_text(json.dumps(mine))
    return precious


def updated(classroom, *names):
    """Update a lesson that the learner edited and the author mended; return what it says."""
    source, work = classroom
    edited(work, *names)
    (source / NAME).write_text(json.dumps(newer()))
    return update.update(work)[NAME]


@pytest.mark.parametrize("edit", EDITS)
def test_nothing_of_the_learners_is_lost(classroom, edit):
    _, work = classroom
    path = work / NAME
    said = updated(classroom, edit)
    text = json.dumps(json.loads(path.read_text()), ensure_ascii=False)
    for line in EDITS[edit].get("keeps", ()):
        assert json.dumps(line, ensure_ascii=False)[1:-1] in text
    # the new lesson has arrived, in the notebook or beside it
    assert "new picture" in everything(work)
    assert "A new paragraph." in everything(work)
    nbformat.validate(nbformat.read(path, as_version=4))
    ids = [c.get("id") for c in json.loads(path.read_text())["cells"]]
    assert None in ids or len(set(ids)) == len(ids)
    assert said.startswith(("updated; ", "kept as it is: "))
    # a second update has nothing to do and changes nothing
    before = everything(work)
    assert update.update(work) == {NAME: "nothing new"}
    assert everything(work) == before


def test_an_untouched_lesson_becomes_the_new_one(classroom):
    updated(classroom)
    assert sources(classroom[1] / NAME) == [c["source"] for c in newer()["cells"]]


def test_a_solved_lesson_takes_the_rest_and_keeps_the_order(classroom):
    _, work = classroom
    assert updated(classroom, "solved", "own_cell_between").startswith("updated; ")
    assert sources(work / NAME) == [
        "# A lesson", "import math", "print('new picture')", "# my note to myself",
        "An explanation.", "A new paragraph.", "def f(x):\n    return x + 41", "check.f(f)",
    ]  # fmt: skip
    assert list(work.glob("*.new*")) == []


def test_where_both_changed_a_cell_the_learners_stays_and_it_is_said(classroom):
    said = updated(classroom, "edited_what_the_lesson_changes")
    assert "kept your cell \"print('my picture')\", which the lesson also changed" in said
    assert "07_example.new.ipynb" in said


def test_a_deleted_cell_stays_deleted_and_lost_metadata_come_back(classroom):
    _, work = classroom
    said = updated(classroom, "deleted", "metadata_lost")
    assert "An explanation." not in sources(work / NAME)
    assert "left out 1 cell that you deleted" in said
    merged = json.loads((work / NAME).read_text())
    assert by_id(merged)["task"]["metadata"]["trainium_edu"] == {"exercise": "07/f"}


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe\x00", b"[1, 2]", b'{"cells": 3}', b'{"cells": [7], "nbformat": 4}',
     b'{"worksheets": [], "nbformat": 3}', b"no notebook at all"],
)  # fmt: skip
def test_what_is_no_notebook_is_left_alone(classroom, content):
    source, work = classroom
    (work / NAME).write_bytes(content)
    (source / NAME).write_text(json.dumps(newer()))
    said = update.update(work)[NAME]
    assert (work / NAME).read_bytes() == content
    assert said.startswith("kept as it is: ")
    assert "new picture" in (work / "07_example.new.ipynb").read_text()


def test_a_folder_or_a_dead_link_in_its_place_is_left_alone(classroom):
    source, work = classroom
    (work / NAME).unlink()
    (work / NAME).mkdir()
    (source / NAME).write_text(json.dumps(newer()))
    assert update.update(work)[NAME].startswith("kept as it is: ")
    assert (work / NAME).is_dir()
    (work / NAME).rmdir()
    (work / NAME).symlink_to(work / "nowhere")
    (source / NAME).write_text(json.dumps(OLD))
    assert update.update(work)[NAME].startswith("kept as it is: ")
    assert (work / NAME).is_symlink()


def test_a_renamed_lesson_stays_and_a_fresh_one_comes(classroom):
    source, work = classroom
    edited(work, "solved")
    (work / NAME).rename(work / "mine.ipynb")
    (source / NAME).write_text(json.dumps(newer()))
    assert update.update(work)[NAME].startswith("put back, fresh")
    assert "return x + 41" in (work / "mine.ipynb").read_text()


def test_a_copy_of_unknown_origin_is_left_alone(classroom):
    _, work = classroom
    (working_copy.base_folder(work) / NAME).unlink()
    assert updated(classroom, "solved").startswith("kept as it is: ")
    assert "return x + 41" in (work / NAME).read_text()


def test_an_interrupted_update_doubles_nothing(classroom):
    """The notebook was written, the base was not: the same update once more."""
    _, work = classroom
    old_base = (working_copy.base_folder(work) / NAME).read_text()
    updated(classroom)
    edited(work, "solved")
    (working_copy.base_folder(work) / NAME).write_text(old_base)
    update.update(work)
    assert sources(work / NAME).count("A new paragraph.") == 1
    assert "return x + 41" in (work / NAME).read_text()


def test_waiting_names_lessons_with_a_newer_version(classroom):
    source, work = classroom
    assert update.waiting(work) == []
    (source / NAME).write_text(json.dumps(newer()))
    assert update.waiting(work) == [NAME]


def test_the_working_copy_has_no_outputs_and_is_never_overwritten(classroom):
    source, work = classroom
    lesson = copy.deepcopy(OLD)
    lesson["cells"][1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "answer"}]
    (source / "08_next.ipynb").write_text(json.dumps(lesson))
    (work / NAME).write_text("mine")
    assert [p.name for p in working_copy.make_working_copy(work)] == ["08_next.ipynb"]
    assert "answer" not in (work / "08_next.ipynb").read_text()
    assert (work / NAME).read_text() == "mine"


def test_a_full_disk_leaves_the_notebook_as_it_was(classroom, monkeypatch):
    source, work = classroom
    before = (work / NAME).read_text()
    (source / NAME).write_text(json.dumps(newer()))

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    raises(OSError, "No space left", update.update, work)
    monkeypatch.undo()
    assert (work / NAME).read_text() == before
    assert list(work.glob(".*.part")) == []
