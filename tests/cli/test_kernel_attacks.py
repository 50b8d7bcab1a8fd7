"""A class of kernel files, among them wrong ones and cheats: each gets a row with its sentence.

Judge: the points that each file was made to deserve (1 for the small case, 2 for the large one, 3
for a latency that any right kernel has), and the right file's figures.
"""

import runpy
from pathlib import Path

import psutil
import pytest

from tests.cli.kernel_files import OLDER, SPEC, above, made, write
from tests.exercises.test_plain_data import REWRITES_A_CLASS
from tests.texts import table_beside
from trainium_edu.cli import grade, sandbox
from trainium_edu.cli.assignment import read
from trainium_edu.cli.grade_kernel import judge
from trainium_edu.specs.errors import NkiValidationError

TABLE = table_beside(__file__, "kernels.toml")
#: Name: the file, its points, and what its row says.
FILES = {name: (made(row), row["points"], row["says"]) for name, row in TABLE["files"].items()}
FILES |= {
    "older": (OLDER, 7, ""),
    "rewrites a class": (
        above(f"import __main__\nattack = {REWRITES_A_CLASS.decode('latin1')!r}\n"
              "__main__.plain_data.dumps = lambda told: attack"), 0,
        "tampered with the process that grades it"),
}  # fmt: skip
FORBIDDING = SPEC.replace("seconds = 5", 'seconds = 3\nforbidden = ["nl.matmul"]')


@pytest.mark.slow
def test_each_file_of_a_class_gets_the_row_that_it_deserves(tmp_path):
    spec = write(tmp_path, FORBIDDING)
    texts = {name: text.replace("{spec!r}", repr(str(spec))) for name, (text, *_) in FILES.items()}
    write(tmp_path, FORBIDDING, **texts)
    rows = grade.grade_all(
        grade.submissions(tmp_path / "class", suffix=".py"), assignment=read(spec), jobs=2
    )
    assert len(rows) == len(FILES)
    different = {}
    for row in rows:
        _, points, says = FILES[Path(row.submission).stem]
        said = [row.reason, *(part["reason"] for part in row.exercises.values())]
        good = row.status == "graded" and (row.points, row.of) == (points, 7)
        good = good and any(says in sentence for sentence in said) and "\n" not in row.reason
        if not (good and bool(row.leaderboard) == (points >= 6)):
            different[row.submission] = (row.points, said)
    assert different == {}
    right = [row.figures for row in rows if row.points == 6]
    assert len(right) > 5
    assert all(figures == right[0] for figures in right)  # nobody's own
    left = [p for p in psutil.process_iter(["cmdline"]) if "4321" in (p.info["cmdline"] or ())]
    assert left == []


@pytest.mark.slow
@pytest.mark.skipif(not sandbox.has_another_user(), reason="only root can start another user")
def test_without_walls_a_submission_of_roots_is_another_user(tmp_path, monkeypatch):
    """As on Gradescope: what others may not read stays unread, and the row says what stood."""
    monkeypatch.setattr(sandbox, "missing", lambda: "this test tears them down")
    (tmp_path / "salt").write_text("pepper")
    (tmp_path / "salt").chmod(0o600)
    source = f"import os\nassert os.getuid() == 65534\nopen({str(tmp_path / 'salt')!r})"
    spec = write(tmp_path, right=above(source.rpartition("\n")[0]), reads=above(source))
    tmp_path.chmod(0o755)
    paths = grade.submissions(tmp_path / "class", suffix=".py")
    reads, right = grade.grade_all(paths, assignment=read(spec), jobs=2)
    assert right.walls == "none: this test tears them down; run as nobody"
    assert (right.points, reads.points) == (6, 0)
    assert "line 8: PermissionError" in reads.reason


#: What no process is needed for: the file, and what is said of its first case.
WRONG = {name: (made(row), row["says"]) for name, row in TABLE["wrong"].items()}


@pytest.mark.filterwarnings("ignore::UserWarning")  # what the kernel writes is lost, says nki
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kernel_is_told_what_is_wrong(tmp_path, name):
    text, says = WRONG[name]
    asked = read(write(tmp_path, **{name: text.replace("import nki", "import trainium_edu.nki")
                                    .replace("nki\n", "nki as nki\n", 1)}))  # fmt: skip
    kernel = runpy.run_path(str(tmp_path / "class" / f"{name}.py"))["product"]

    def ask(request):
        try:
            return request.report(kernel), None
        except NkiValidationError as problem:  # as its own process says it
            raise ValueError(str(problem)) from None

    mark, _ = judge(asked.cases[0], ask, asked)
    assert mark.points == 0
    assert says in mark.reason
