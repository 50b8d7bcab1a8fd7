"""An assignment's file: read, or refused in one sentence that names the key.

Judge: NumPy for what is drawn and expected; the file itself for what is wrong with it.
"""

import numpy as np
import pytest

from tests.cli.kernel_files import REFERENCE, SPEC, write
from tests.for_each import raises
from tests.texts import table_beside, text_beside
from trainium_edu import __main__
from trainium_edu.cli.assignment import read

PYTHON = text_beside(__file__, "assignment.py.txt")


def test_a_toml_file_gives_cases_with_what_the_reference_expects(tmp_path):
    found = read(write(tmp_path))
    small, large = found.cases
    assert found.parts == {
        "case small": 1, "case large": 2, "large: at most 1000 µs": 3,
        "large: at most 1.2 times the bytes of arguments and outputs": 1,
    }  # fmt: skip
    x, y = large.arguments
    assert (x.shape, x.dtype.name) == ((256, 256), "bfloat16")
    np.testing.assert_array_equal(large.expected[0], x.astype(np.float32).T @ y.astype(np.float32))
    assert (small.rtol, small.atol) == (0.02, 0.1)
    assert (found.limits.seconds, found.leaderboard) == (5, "large")
    assert large.least_bytes == 3 * 256 * 256 * 2
    assert "bfloat16" in repr(small.request.arguments[0])
    assert found.own == {tmp_path / "spec.toml", tmp_path / "reference.py"}


def test_a_python_file_has_functions_of_its_own(tmp_path):
    (tmp_path / "spec.py").write_text(PYTHON)
    (tmp_path / "beside.py").write_text("")
    found = read(tmp_path / "spec.py")
    first, second = found.cases
    assert (first.name, second.name, found.name, found.leaderboard) == ("1", "b", "spec", "b")
    np.testing.assert_array_equal(first.expected[0], 2 * first.arguments[0])
    assert second.arguments[0].shape == (5, 4)
    assert (found.limits.memory_bytes, found.limits.submission_seconds) == (2 << 30, 9)
    assert found.thresholds[0].points_inside_band == 1
    assert found.files == {"beside.py": b""}
    assert (found.chip, found.latency, found.writes) == ("inf2", "benchmark", [0])


def test_numbers_follow_seed_and_salt_alone(tmp_path):
    spec = write(tmp_path)
    first, again, salted = read(spec), read(spec), read(spec, salt="pepper")
    assert first.digest == again.digest != salted.digest
    np.testing.assert_array_equal(first.cases[1].arguments[0], again.cases[1].arguments[0])
    assert (first.cases[0].arguments[0] != salted.cases[0].arguments[0]).any()


#: What is changed in the right file, and what the sentence says.
WRONG = table_beside(__file__, "wrong_assignments.toml")
WRONG["nested"] = {"old": "rtol = 0.02", "new": f"rtol = {'[' * 5000}{']' * 5000}",
                   "says": "it is not TOML that can be"}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_refused_in_a_sentence_that_names_the_key(tmp_path, capsys, name):
    old, new, says = WRONG[name].values()
    assert old in SPEC
    spec = write(tmp_path, SPEC.replace(old, new, 1), right="")
    assert __main__.main(["grade", str(tmp_path / "class"), "--assignment", str(spec)]) == 1
    said = capsys.readouterr().err.strip()
    assert said.startswith("spec.toml: ")
    assert says in said
    assert "\n" not in said


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path):
    spec = write(tmp_path)
    spec.write_bytes(b"\xef\xbb\xbf" + spec.read_bytes())
    assert read(spec).name == "Tiled product"


@pytest.mark.parametrize("leaves", ["raise SystemExit(3)", "import sys; sys.exit()"])
def test_a_reference_that_exits_is_refused(tmp_path, leaves):
    spec = write(tmp_path)
    (tmp_path / "reference.py").write_text(REFERENCE.replace("return", f"{leaves}; return"))
    raises(ValueError, r"reference fails in case small \(line 5: SystemExit", read, spec)


def test_a_file_that_is_not_there_or_fails_is_one_sentence(tmp_path, capsys):
    spec = write(tmp_path, right="")
    (tmp_path / "broken.py").write_text("assignment = {}\n1 / 0\n")
    (tmp_path / "empty.py").write_text("assigment = {}\n")
    target = tmp_path / "class" / "right.py"
    for arguments, says in (
        (["--assignment", str(tmp_path / "no.toml")], "there is no assignment"),
        (["--assignment", str(tmp_path / "broken.py")], "(line 2: ZeroDivisionError"),
        (["--assignment", str(tmp_path / "empty.py")], "needs a dict called assignment"),
        ([], "is graded against an assignment"),
    ):
        assert __main__.main(["grade", str(target), *arguments]) == 1
        said = capsys.readouterr().err.strip()
        assert says in said
        assert "\n" not in said
    (tmp_path / "reference.py").write_text(REFERENCE.replace("return", "1 / 0; return"))
    raises(ValueError, r"reference fails in case small \(line 5: ZeroDivision", read, spec)
