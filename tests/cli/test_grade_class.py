"""A class of two hundred: generated submissions of lesson 02, every row as it was made to be.

Judge: the points that each submission was made to deserve, and the clock: twenty minutes on two
cores.  Also a script: ``python -m tests.cli.test_grade_class FOLDER`` writes the submissions.
"""

import copy
import json
import random
import sys
import time
from pathlib import Path

import pytest

from tests.cli.test_attacks import FORGES, KILLS
from tests.solutions import reading
from tests.texts import table_beside
from trainium_edu import exercises
from trainium_edu.cli import grade
from trainium_edu.cli.limits import Limits
from trainium_edu.exercises.cells import key_of

LESSON = "02"
STUDENTS = 200
KINDS = [
    "solved", "half-solved", "wrong", "hard-coded", "untouched", "copied cells", "looping",
    "crashing", "imports away", "prints a gigabyte", "truncated", "tampered", "forges rows",
    "kills all",
]  # fmt: skip
#: Most of a class is ordinary; the strange ones come up all the same.
WEIGHTS = [60, 40, 40, 15, 15, 10, 3, 4, 4, 3, 3, 3, 2, 2]


#: What becomes of the first answer.
SPOIL = table_beside(__file__, "spoilt_answers.toml")


def make(kind: str, chance: random.Random, student: str):
    """Return a submission's text and the points that each exercise deserves (None: no grades)."""
    blocks = reading.blocks(LESSON)
    mine = exercises.of_lesson(LESSON)
    answers = {b.key: b.source for b in blocks if b.kind == "solution"}
    deserves = {e.key: e.points for e in mine}
    first = mine[0].key
    if kind == "half-solved":
        for key in chance.sample(sorted(answers), len(answers) // 2):
            del answers[key]
            deserves[key] = 0
    if kind in ("wrong", "hard-coded"):
        for key in answers:
            choices = [b.source for b in blocks if b.key == key and b.kind == kind]
            literal = exercises.find(key).literal
            if kind == "wrong" or not literal:
                answers[key], deserves[key] = chance.choice(choices), 0
    if kind == "untouched":
        answers, deserves = {}, dict.fromkeys(deserves, 0)
    if kind in SPOIL:
        answers[first] = SPOIL[kind].format(name=mine[0].answer, answer=answers[first])
        deserves[first] = 0
    if kind == "forges rows":
        answers[first] = f"{FORGES}\n{mine[0].answer} = lambda *a, **k: 3"
        deserves[first] = 0
    if kind == "kills all":
        answers[first] = f"{KILLS}\n{answers[first]}"
    book = reading.with_answers(LESSON, answers, student)
    if kind == "copied cells":
        for cell in [c for c in book.cells if key_of(c)]:
            twin = copy.deepcopy(cell)
            twin.source = f"{exercises.find(key_of(cell)).answer} = None"
            book.cells.insert(book.cells.index(cell) + 1, twin)
    if kind == "tampered":
        for cell in book.cells:
            if key_of(cell, "check"):
                cell.source = "print('public checks passed')"
            elif key_of(cell) == first:
                cell.source = "from trainium_edu import exercises\nexercises.of_lesson = None\n"
        deserves[first] = 0
    text = json.dumps(book, indent=1)
    if kind == "truncated":
        return text[: len(text) // 2], None
    return text, deserves


def write_class(folder: Path, students: int = STUDENTS) -> dict:
    """Write a class's submissions; return (kind, points by exercise) by file name."""
    chance = random.Random(20)
    kinds = KINDS + chance.choices(KINDS, WEIGHTS, k=max(0, students - len(KINDS)))
    made = {}
    for i, kind in enumerate(kinds[:students]):
        name = f"s{i:03d}.ipynb"
        text, deserves = make(kind, chance, f"student-{i}")
        (folder / name).write_text(text)
        made[name] = (kind, deserves)
    return made


@pytest.mark.clock
@pytest.mark.parametrize(
    "students",
    [
        pytest.param(len(KINDS), marks=pytest.mark.slow),  # every kind once, side by side
        pytest.param(STUDENTS, marks=pytest.mark.soak),
    ],
)
def test_a_class_is_graded_at_two_hundred_in_twenty_minutes_on_two_cores(
    students, tmp_path, capsys
):
    made = write_class(tmp_path, students)
    begun = time.monotonic()
    rows = grade.grade_all(grade.submissions(tmp_path), jobs=2, limits=Limits(seconds=20))
    minutes = (time.monotonic() - begun) / 60
    slowest = max(row.seconds for row in rows)
    with capsys.disabled():
        print(f"\n{len(rows)} submissions in {minutes:.1f} min; the slowest took {slowest:.0f} s")
    assert len(rows) == students
    different = {}
    for row in rows:
        kind, deserves = made[Path(row.submission).name]
        points = {key: part["points"] for key, part in row.exercises.items()}
        good = points == deserves if deserves else row.status == "not graded" and row.reason
        if kind in ("looping", "crashing", "prints a gigabyte"):
            good = good and row.reason
        if kind == "untouched":
            good = good and {p["status"] for p in row.exercises.values()} == {"not attempted"}
        if not good:
            different[row.submission] = (kind, row.reason, points, deserves)
    assert different == {}
    assert minutes <= 20 * max(students, 60) / STUDENTS  # few have a larger share of odd ones


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    for name, (kind, _) in write_class(Path(sys.argv[1])).items():
        print(name, kind)
