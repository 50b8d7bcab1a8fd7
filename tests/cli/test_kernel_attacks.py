"""A class of kernel files, among them wrong ones and cheats: each gets a row with its sentence.

Judge: the points that each file was made to deserve (1 for the small case, 2 for the large one, 3
for a latency that any right kernel has), and the right file's figures.
"""

import runpy
from pathlib import Path

import psutil
import pytest

from tests.cli.kernel_files import HEAD, OLDER, RIGHT, SPEC, above, changed, within, write
from tests.exercises.test_plain_data import REWRITES_A_CLASS
from trainium_edu.cli import grade, sandbox
from trainium_edu.cli.assignment import read
from trainium_edu.cli.grade_kernel import judge
from trainium_edu.specs.errors import NkiValidationError

#: Name: the file, its points, and what its row says.
FILES = {
    "right": (changed(("@nki.jit\n", "print('hello')\n")), 6, ""),  # works without nki.jit, too
    "older": (OLDER, 7, ""),
    "first rows": (changed(("src=rhs[p * 128 : p * 128 + 128, :]", "src=rhs[0:128, :]")), 1,
                   "65,536 elements of the output are wrong; the first, at (0, "),
    # broken
    "no kernel": (changed(("def product", "def produkt")), 0, "defines no function 'product'"),
    "syntax": (above("def (:"), 0, "line 6: SyntaxError: "),
    "raises": (above("1 / 0"), 0, "its file: line 6: ZeroDivisionError: division by zero"),
    "exits": (within("raise SystemExit(0)"), 0, "case small, case large: line 9: SystemExit: 0"),
    "ends": (above("import os; os._exit(0)"), 0, "its file: importing it ended its process"),
    "loops": (above("while True:\n    try:\n        while True: pass\n    except: pass"), 0,
              "its file: importing it did not end within 3 s"),
    "loops in the call": (within("while lhsT.shape[0] > 128: pass"), 1,
                          "a call did not end within 3 s"),
    "floods": (above("while True: print('x' * 1000)"), 0, "its file: printed more than 1 MB"),
    "eats memory": (above("x = [0] * 10**10"), 0, "its file: line 6: MemoryError"),
    # cheats: they gain nothing, and their points are those of the kernel that they hold
    "forks": (above("import os\nif not os.fork(): os._exit(0)"), 6, ""),
    "starts": (within("import subprocess; subprocess.Popen(['sleep', '4321'])"), 6, ""),
    "reads the assignment": (above("print(open({spec!r}).read())"), 0,
                             "line 6: FileNotFoundError"),
    "imports the reference": (above("from reference import product as answer"), 0,
                              "line 6: ModuleNotFoundError: No module named 'reference'"),
    "changes the interface": (above("nisa.nc_matmul = lambda **k: None"), 0,
                              "32,768 of 32,768 elements of the output are NaN"),
    "changes the model": (
        above("import trainium_edu.neuroncore.timing.scheduler as s\ns.schedule = None"), 6, ""),
    "changes a property": (
        above("from trainium_edu.neuroncore.run import Run\n"
              "Run.band = property(lambda self: None)"), 6, ""),
    "changes the clock": (above("import time\ntime.perf_counter = lambda: 0.0"), 6, ""),
    "rewrites a class": (
        above(f"import __main__\nattack = {REWRITES_A_CLASS.decode('latin1')!r}\n"
              "__main__.plain_data.dumps = lambda told: attack"), 0,
        "tampered with the process that grades it"),
    "answers the grader": (
        above("from trainium_edu.cli import kernel_call\nkernel_call.ask = lambda *a: 'no'"), 0,
        "case small, case large: tampered with the process that grades it"),
    "invents passes": (
        above("from trainium_edu.cli import kernel_call\nask = kernel_call.ask\n"
              "kernel_call.ask = lambda *a: (*ask(*a)[:2], ('faster',))"), 0,
        "tampered with the process that grades it"),
    "forges a program": (
        RIGHT + "\nimport sys\nfrom trainium_edu.cli import kernel_call\n"
        "sys.modules['trainium_edu.cli.kernel_call'].ask.__code__ = "
        "(lambda r: ('program', b'x', None)).__code__\n", 0,
        "the kernel's program cannot be read as a saved program"),
    "uses what is forbidden": (above("from nki.language import matmul"), 0,
                               "line 6 uses nl.matmul, which this assignment forbids"),
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
WRONG = {
    "constants": (within("nl.load(nl.shared_constant(__import__('numpy').ones((4, 4), 'f4')))"),
                  "the kernel brings constants of its own"),
    "half": (changed(("range(m // 128)", "range(0)")),
             "32,768 of 32,768 elements of the output are NaN, as memory is that nobody wrote"),
    "shape": (changed(("(m, n), dtype", "(m, n + 1), dtype"), ("], src=c", "n], src=c")),
              "the output has shape (128, 257); (128, 256) expected"),
    "returns nothing": (changed(("    return out\n", "")), "it returns no tensor in HBM"),
    "returns NumPy": (within("return __import__('numpy').zeros((128, 256), 'f4')"),
                      "it returns no tensor in HBM"),
    "on chip": (changed(("    return out\n", "    return c\n")), "returns an on-chip tile"),
    "256 partitions": (changed(("sums = nl.ndarray((128, n)", "sums = nl.ndarray((256, n)")),
                       "partition dimension 256 exceeds maximum 128"),
    "makes figures up": (f"{HEAD}\nclass Product:\n    def __call__(self, *a):\n"
                         "        return {'makespan_ns': 1.0}\nproduct = Product()\n",
                         "it returns no tensor in HBM"),
}  # fmt: skip


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
