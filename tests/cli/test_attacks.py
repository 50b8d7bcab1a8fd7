"""What a submission does reaches nobody else's grade, no secret, and not its own row.

Judge: the points that each submission was made to deserve, and what its code found, which it
leaves in the answer that it hands in.  Each attack was tried on the grader and worked once.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests.cli.submitted import grade_submission
from tests.cli.test_grade import LESSON, LIMITS, _lesson, submission  # noqa: F401
from tests.texts import text_beside
from trainium_edu import __main__, exercises
from trainium_edu.cli import grade, sandbox
from trainium_edu.cli.limits import Limits
from trainium_edu.cli.row import Row, keep_row, read_kept
from trainium_edu.exercises import afterwards

pytestmark = pytest.mark.slow  # whose lane has the walls
needs_walls = pytest.mark.skipif(
    not shutil.which("bwrap") or bool(sandbox.missing()), reason="no bubblewrap here"
)

FINDS_OUT = text_beside(__file__, "finds_out.py.txt")
#: What a submission looks for, and where; it hands in a right answer if it does not find it.
LOOKS_FOR = {
    "the salt on a command line": "b'pepper' in everything('/proc/[0-9]*/cmdline')",
    "the salt in an environment": "b'pepper' in everything('/proc/[0-9]*/environ')",
    "a classmate's file": "os.path.exists({classmate!r})",
    "the instructor's home": "any(os.access(p, os.R_OK) for p in glob.glob('/home/*/*'))",
    "the tests": "os.path.exists({tests!r})",
    "the solutions": "bool(glob.glob({solutions!r} + '/*'))",
    "a solution through the package": "any(afterwards.of(e).solution for e in mine('07'))",
    "the file with the salt": "os.path.exists({salt!r})",
    "the table": "os.path.exists({table!r})",
}


@needs_walls
def test_nothing_of_others_can_be_read(tmp_path, capsys):
    (tmp_path / "salt").write_text("pepper")
    (tmp_path / "salt").chmod(0o600)
    folder = tmp_path / "in"
    folder.mkdir()
    table = tmp_path / "grades.csv"
    places = {
        "classmate": str(folder / "zoe.ipynb"), "salt": str(tmp_path / "salt"),
        "tests": str(Path(__file__).parents[1]), "solutions": str(afterwards.FOLDER),
        "table": str(table) + ".jsonl",
    }  # fmt: skip
    submission(folder / "zoe.ipynb", student="zoe")
    for i, condition in enumerate(LOOKS_FOR.values()):
        source = FINDS_OUT.format(condition=condition.format(**places))
        submission(folder / f"s{i}.ipynb", student=f"s{i}", double=source)
    arguments = ["grade", str(folder), "--csv", str(table), "--salt-file", places["salt"],
                 "--exercises", str(LESSON), "--jobs", "2"]  # fmt: skip
    assert __main__.main(arguments) == 0
    rows = list(read_kept(Path(str(table) + ".jsonl")).values())
    assert len(rows) == len(LOOKS_FOR) + 1
    assert {row.submission: row.reason for row in rows if row.points != 6} == {}
    assert {row.walls for row in rows} == {"bubblewrap"}


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_salt_and_paths_are_on_no_command_line(tmp_path, monkeypatch):
    lines = []
    real = subprocess.Popen

    def popen(arguments, *more, **options):
        lines.append(" ".join(map(str, arguments)))
        return real(arguments, *more, **options)

    monkeypatch.setattr(subprocess, "Popen", popen)
    path = submission(tmp_path / "a.ipynb")
    grade_submission(path, modules=[LESSON], limits=LIMITS, salt="pepper")
    assert lines
    assert not [line for line in lines if "pepper" in line or "a.ipynb" in line]


#: Names a grader's processes, and nothing else that may run on this machine.
GRADERS = text_beside(__file__, "graders.py.txt")
#: Appends finished rows to every pipe of a grader that it can open.
FORGES = GRADERS + text_beside(__file__, "forges.py.txt")


@needs_walls
def test_a_submission_cannot_write_its_own_row(tmp_path):
    path = submission(tmp_path / "a.ipynb", double=FORGES, row="bad_row = None", sum="total = 0")
    row = grade_submission(path, modules=[LESSON], limits=LIMITS)
    assert (row.points, row.of) == (0, 6)


def test_points_are_those_of_the_exercise_whatever_a_row_says(tmp_path, monkeypatch):
    """A forged line gets no more than the exercise gives, and unknown exercises do not count."""
    given = {"99/double": (2000, 2000), "99/sum": (-5, 3), "99/more": (7, 7)}
    forged = Row("zoe.ipynb", lesson="99", points=2000, of=2000, walls="bubblewrap", exercises={
        key: {"points": points, "of": of, "status": "full", "reason": "", "misconception": ""}
        for key, (points, of) in given.items()
    })  # fmt: skip
    row = grade.filled(
        Row("a.ipynb", walls="none"), [b"{torn", forged.line().encode(), b"[1]"], None
    )
    assert (row.submission, row.walls) == ("a.ipynb", "none")
    assert {key: g["points"] for key, g in row.exercises.items()} == {
        "99/double": 2, "99/sum": 0, "99/row": 0,
    }  # fmt: skip
    assert (row.points, row.of) == (2, 6)


LEAVES = text_beside(__file__, "leaves.py.txt")


@needs_walls
def test_no_process_stays_behind(tmp_path):
    row = grade_submission(
        submission(tmp_path / "a.ipynb", double=LEAVES), modules=[LESSON], limits=LIMITS
    )
    assert row.points == 6
    left = [p for p in psutil.process_iter(["cmdline"])
            if "import time; time.sleep(4444)" in (p.info["cmdline"] or ())]  # fmt: skip
    assert psutil.wait_procs(left, timeout=5)[1] == []


KILLS = GRADERS + text_beside(__file__, "kills.py.txt")


@needs_walls
def test_a_submission_that_kills_all_it_sees_ends_no_classmate(tmp_path):
    submission(tmp_path / "a.ipynb", student="a", double=KILLS)
    submission(tmp_path / "b.ipynb", student="b", sum="import time\ntime.sleep(3)\n"
               "def total(x):\n    return np.cumsum(x)")  # fmt: skip
    rows = grade.grade_all(grade.submissions(tmp_path), modules=[LESSON], limits=LIMITS, jobs=2)
    assert [row.points for row in rows] == [6, 6]


FIGURES = text_beside(__file__, "figures.py.txt")


def test_made_up_measurements_of_a_kernel_get_nothing(tmp_path):
    import nbformat

    from tests.solutions import reading

    path = tmp_path / "05.ipynb"
    forged = {"05/tile-add": FIGURES, "05/matmul-mfu": FIGURES.replace("add", "matmul")}
    nbformat.write(reading.with_answers("05", forged, "ab123"), path)
    row = grade_submission(path, limits=Limits(seconds=60))
    assert (row.points, row.exercises["05/tile-add"]["misconception"]) == (0, "no kernel")


@pytest.mark.skipif(os.name != "posix", reason="FIFOs")
def test_pipes_devices_and_large_files_are_rows_and_stop_nobody(tmp_path):
    os.mkfifo(tmp_path / "a.ipynb")
    (tmp_path / "b.ipynb").symlink_to("/dev/zero")
    with (tmp_path / "c.ipynb").open("wb") as file:
        file.truncate((100 << 20) + 1)
    submission(tmp_path / "d.ipynb")
    rows = grade.grade_all(grade.submissions(tmp_path), modules=[LESSON], limits=LIMITS)
    special = "not a regular file (a pipe or a device)"
    large = "larger than 100 MB: clear its outputs"
    assert [row.reason for row in rows] == [special, special, large, ""]
    assert rows[-1].points == 6


def test_a_byte_order_mark_is_no_reason_for_nothing(tmp_path):
    path = submission(tmp_path / "a.ipynb")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert grade_submission(path, modules=[LESSON], limits=LIMITS).points == 6


@pytest.mark.parametrize(
    "line",
    ["null", "[]", "{}", '{"row": null}', "[" * 9999, '"text"', "{torn",
     {"exercises": {"99/sum": None}}, {"exercises": {"99/sum": {"points": "9"}}}, {"notes": None},
     {"figures": {"small": 3}}, {"points": 1.5}, {"submission": None}, {"more": 1}],
    ids=range(14),
)  # fmt: skip
def test_a_kept_line_that_is_no_row_is_left_out(tmp_path, capsys, line):
    kept = tmp_path / "g.csv.jsonl"
    keep_row(Row("a.ipynb", points=1, digest="d"), kept)
    good = kept.read_text()
    line = line if isinstance(line, str) else json.dumps(json.loads(good) | line)
    kept.write_text(f"{line}\n{good}")
    assert set(read_kept(kept)) == {("a.ipynb", "d")}
    assert __main__.main(["leaderboard", str(kept)]) == 1
    assert "holds no row of a right kernel" in capsys.readouterr().err


def test_a_salt_that_others_can_read_is_refused(tmp_path, capsys, monkeypatch):
    path = submission(tmp_path / "a.ipynb")
    (tmp_path / "salt").write_text("pepper")
    (tmp_path / "salt").chmod(0o644)
    assert __main__.main(["grade", str(path), "--salt-file", str(tmp_path / "salt")]) == 1
    assert "can be read by others than you: chmod 600" in capsys.readouterr().err
    monkeypatch.setattr(sandbox, "missing", lambda: "this test tears them down")
    assert __main__.main(["grade", str(path), "--salt", "pepper"]) == 1
    assert "on the command line, which submissions can read here (this" in capsys.readouterr().err


def test_another_limit_grades_again_what_was_stopped(tmp_path):
    slow = "import time\ntime.sleep(4)\ndef double(x):\n    return 2 * x"
    paths = [submission(tmp_path / "a.ipynb", double=slow), submission(tmp_path / "b.ipynb")]
    known = {}

    def graded(seconds):
        new = []
        rows = grade.grade_all(
            paths, modules=[LESSON], limits=Limits(seconds=seconds), jobs=2, known=known,
            done=lambda row: new.append(row.submission),
        )  # fmt: skip
        known.update({(row.submission, row.digest): row for row in rows})
        return [row.points for row in rows], [Path(name).name for name in sorted(new)]

    assert graded(2) == ([4, 6], ["a.ipynb", "b.ipynb"])
    assert graded(2) == ([4, 6], [])
    assert graded(30) == ([6, 6], ["a.ipynb"])


def test_a_roster_of_another_class_and_limits_without_end_are_one_sentence(tmp_path, capsys):
    submission(tmp_path / "a.ipynb")
    (tmp_path / "ids.csv").write_text("submission,student\nz.ipynb,zoe\n")
    (tmp_path / "20_broken.py").write_text("def (\n")
    target = str(tmp_path / "a.ipynb")
    for arguments, says in (
        (["--roster", str(tmp_path / "ids.csv")], "names none of the 1 submissions"),
        (["--memory-gib", "inf"], "--memory-gib takes a number above 0"),
        (["--seconds", "nan"], "--seconds takes a number above 0"),
        (["--exercises", str(tmp_path / "20_broken.py")], "20_broken.py cannot be used"),
    ):
        assert __main__.main(["grade", target, *arguments]) == 1
        said = capsys.readouterr().err.strip()
        assert says in said
        assert "\n" not in said
    assert "20" not in exercises.LESSONS


GARBAGE = text_beside(__file__, "garbage.py.txt")


@needs_walls
def test_garbage_in_its_own_pipes_is_called_tampering(tmp_path):
    limits = replace(LIMITS, seconds=3, submission_seconds=60)
    row = grade_submission(
        submission(tmp_path / "a.ipynb", double=GARBAGE), modules=[LESSON], limits=limits
    )
    assert (row.points, row.exercises["99/double"]["points"]) == (4, 0)
    assert "tampered with the process that grades it" in row.reason
    assert row.seconds < 30
