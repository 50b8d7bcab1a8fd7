"""An assignment's file: read, or refused in one sentence that names the key.

Judge: NumPy for what is drawn and expected; the file itself for what is wrong with it.
"""

import numpy as np
import pytest

from tests.cli.kernel_files import REFERENCE, SPEC, write
from tests.for_each import raises
from trainium_edu import __main__
from trainium_edu.cli.assignment import Assignment, read

PYTHON = """
import numpy as np

def scaled(x, factor=1.0):
    return x * factor

def inputs(rng, rows):
    return rng.standard_normal((rows, 4)).astype(np.float32)

assignment = dict(
    kernel="scale", reference=scaled, inputs=inputs, writes=[0], chip="inf2", files=["beside.py"],
    cases=[dict(sizes={"rows": 3}, options={"factor": 2.0}), dict(name="b", sizes={"rows": 5})],
    thresholds=[dict(case="1", mfu=0.25, points=3, points_inside_band=1)],
    memory_gib=2, submission_seconds=9, latency="benchmark",
)
"""


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
    assert found.limits.seconds == 5
    assert found.board == "large"
    assert large.least_bytes == 3 * 256 * 256 * 2
    assert "bfloat16" in repr(small.request.arguments[0])
    assert found.own == {tmp_path / "spec.toml", tmp_path / "reference.py"}


def test_a_python_file_has_functions_of_its_own(tmp_path):
    (tmp_path / "spec.py").write_text(PYTHON)
    (tmp_path / "beside.py").write_text("")
    found = read(tmp_path / "spec.py")
    first, second = found.cases
    assert (first.name, second.name, found.name, found.board) == ("1", "b", "spec", "b")
    np.testing.assert_array_equal(first.expected[0], 2 * first.arguments[0])
    assert second.arguments[0].shape == (5, 4)
    assert (found.limits.memory_bytes, found.limits.submission_seconds) == (2 << 30, 9)
    assert found.thresholds[0].points_inside_band == 1
    assert found.files == (tmp_path / "beside.py",)
    assert (found.chip, found.latency, found.writes) == ("inf2", "benchmark", (0,))


def test_numbers_follow_seed_and_salt_alone(tmp_path):
    spec = write(tmp_path)
    first, again, salted = read(spec), read(spec), read(spec, salt="pepper")
    assert first.digest == again.digest != salted.digest
    np.testing.assert_array_equal(first.cases[1].arguments[0], again.cases[1].arguments[0])
    assert (first.cases[0].arguments[0] != salted.cases[0].arguments[0]).any()


def test_what_is_kept_for_the_graders_is_the_assignment(tmp_path):
    found = read(write(tmp_path))
    found.save(tmp_path / "kept")
    kept = Assignment.load(tmp_path / "kept")
    assert (kept.parts, kept.digest, kept.limits) == (found.parts, found.digest, found.limits)


#: What is changed in the right file, and what the sentence says.
WRONG = {
    "kernl": (("kernel =", "kernl ="), "kernl is not a key; is kernel meant?"),
    "missing": (('kernel = "product"\n', ""), "kernel is missing"),
    "reference": (("reference.py:product", "reference.py:produkt"),
                  "reference is 'reference.py:produkt', and reference.py has no"),
    "no file": (("reference.py:product", "ref.py:product"), "reference names ref.py, and"),
    "no function": (('"reference.py:product"', "3"), "reference is 3; it must be a function"),
    "rtol": (("rtol = 0.02", "rtol = -1"), "rtol is -1; it must be a number from 0"),
    "seconds": (("seconds = 5", "seconds = 0"), "seconds is 0; it must be a number above 0"),
    "shapes": (("[128, 256]", "[128, 0]"), "cases[0].shapes[1][1] is 0; it must be"),
    "dtype": (('"bfloat16"', '"bfloat17"'), "cases[0].dtypes is 'bfloat17'; it must be a dtype"),
    "dtypes": (('"bfloat16"', '["bfloat16", "float32", "float32"]'),
               "cases[0].dtypes has 3 of them, and there are 2 shapes"),
    "no shapes": (("shapes = [[128, 128], [128, 256]]\n", ""), "cases[0].shapes is missing"),
    "points": (("points = 2", "points = 2.5"), "cases[1].points is 2.5; it must be a whole number"),
    "same name": (('name = "large"', 'name = "small"'), "two of them have the name 'small'"),
    "no such case": (('case = "large"', 'case = "huge"'), "thresholds[0].case is 'huge'"),
    "no metric": (("latency_us = 1000\n", ""), "thresholds[0] needs one of latency_us, hbm_bytes"),
    "two metrics": (("latency_us", "mfu = 0.5\nlatency_us"), "thresholds[0] needs one of"),
    "mfu": (("latency_us = 1000", "mfu = 60"), "thresholds[0].mfu is 60; it must be a part"),
    "inside": (("points = 3", "points = 3\npoints_inside_band = 4"),
               "thresholds[0].points_inside_band is 4, more than its 3 points"),
    "no band": (("hbm_times = 1.2", "hbm_times = 1.2\npoints_inside_band = 1"),
                "thresholds[1].points_inside_band makes no sense here"),
    "board": (("seconds", 'leaderboard = "huge"\nseconds'), "leaderboard is 'huge'"),
    "forbidden": (("seconds", 'forbidden = "nl.matmul"\nseconds'), "forbidden is 'nl.matmul'; it"),
    "chip": (("seconds", 'chip = "trn2"\nseconds'), "chip is 'trn2'; it must be 'trn1' or 'inf2'"),
    "files": (("seconds", 'files = ["a.py"]\nseconds'), "files names a.py, and there is no such"),
    "writes": (("seconds", "writes = [2]\nseconds"), "writes has 2, and case small has 2"),
    "sizes": (("points = 2", "sizes = {n = 3}"), "cases[1].sizes are for inputs"),
    "options": (("points = 2", "options = {beta = 3}"), "reference fails in case large (TypeError"),
    "far too large": (("[128, 256]", "[1000000, 1000000, 1000000]"), "cases[0].shapes ask for 2,"),
    "memory": (("seconds = 5", "memory_gib = 1e300"), "memory_gib is 1e+300; it must be a number"),
    "nested": (("rtol = 0.02", f"rtol = {'[' * 5000}{']' * 5000}"), "it is not TOML that can be"),
    "elsewhere": (("seconds", 'files = ["../class/right.py"]\nseconds'),
                  "files names ../class/right.py, which does not stand beside this file"),
    "absolute": (("seconds", 'files = ["/etc/hostname"]\nseconds'), "files names /etc/hostname"),
    "its function": (("reference.py:", "../reference.py:"), "reference names ../reference.py, wh"),
    "two lines": (('"Tiled product"', '"Tiled\\nproduct"'), "name is 'Tiled\\nproduct'; it"),
    "two lines of a case": (('"large"', '"la\\nrge"'), "cases[1].name is 'la\\nrge'; it"),
    "a date": (("points = 2", "options = {at = 1979-05-27}"), "cases[1].options holds a date; a"),
    "huge": (("seed = 3", f"seed = {10**40}"), "cases[1].seed is 1"),
    "not TOML": (("name = ", "name "), "it is not TOML"),
    "cases": (("[[cases]]", "[cases]"), "it is not TOML"),
    "of no size": (("atol = 0.1", "atol = nan"), "atol is nan; it must be a number from 0"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_refused_in_a_sentence_that_names_the_key(tmp_path, capsys, name):
    change, says = WRONG[name]
    assert change[0] in SPEC
    spec = write(tmp_path, SPEC.replace(*change, 1), right="")
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
