"""The page for instructors says what is there.

Judge: the notebooks, the exercises and the commands themselves.  ``python -m
tests.test_instructors`` prints the two tables anew.
"""

import json
import re
from pathlib import Path

import pytest

from trainium_edu import __main__, exercises

ROOT = Path(__file__).parents[1]
PAGE = ROOT / ".github" / "INSTRUCTORS.md"
CORE = ["00", "02", "03", "07", "08", "09"]


def counted_minutes(path) -> int:
    """180 words a minute, 0.7 minutes to look at what a cell shows, 5 minutes an exercise."""
    cells = json.loads(path.read_text())["cells"]
    code = [c for c in cells if c["cell_type"] == "code"]
    exercise_cells = sum("exercise" in (c["metadata"].get("tags") or ()) for c in code)
    glossary = next(
        (i for i, c in enumerate(cells) if "## glossary" in "".join(c["source"]).lower()), None
    )
    text = " ".join("".join(c["source"]) for c in cells[:glossary] if c["cell_type"] == "markdown")
    words = len(re.findall(r"\w+", re.sub(r"\]\([^)]*\)", "", text)))
    return round(words / 180 + 0.7 * (len(code) - 2 * exercise_cells) + 5 * exercise_cells)


def stated_minutes(path) -> int:
    cells = json.loads(path.read_text())["cells"]
    text = " ".join("".join(c["source"]) for c in cells[:3])
    return int(re.search(r"(\d+) minutes", text).group(1))


def lessons():
    return sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))


def lesson_rows():
    for path in lessons():
        core = "yes" if path.name[:2] in CORE else ""
        yield f"| {path.stem} | {core} | {stated_minutes(path)} | {counted_minutes(path)} |"


def exercise_rows():
    for lesson in exercises.LESSONS:
        for e in exercises.of_lesson(lesson):
            yield f"| `{e.key}` | {e.points} | {e.tests} |"


def test_every_lesson_and_its_minutes_stand_on_the_page():
    page = PAGE.read_text()
    assert [row for row in lesson_rows() if row not in page] == []


def test_every_exercise_and_what_it_tests_stands_on_the_page():
    page = PAGE.read_text()
    assert [row for row in exercise_rows() if row not in page] == []
    assert len(re.findall(r"(?m)^\| `\d\d/", page)) == len(list(exercise_rows()))


@pytest.mark.parametrize("path", lessons(), ids=lambda p: p.stem)
def test_a_lesson_takes_at_most_45_minutes(path):
    assert stated_minutes(path) <= 45
    assert abs(counted_minutes(path) - stated_minutes(path)) <= 12


def test_the_core_path_takes_at_most_four_and_a_half_hours():
    core = [path for path in lessons() if path.name[:2] in CORE]
    missing = len(CORE) - len(core)  # lessons still to come may take 45 minutes each
    assert sum(map(stated_minutes, core)) + 45 * missing <= 270


def test_every_command_on_the_page_exists(capsys):
    for command in set(re.findall(r"python -m trainium_edu ([a-z-]+)", PAGE.read_text())):
        assert command in __main__.COMMANDS
    for options in re.findall(r"python -m trainium_edu grade[^`\n]*", PAGE.read_text()):
        with pytest.raises(SystemExit):
            __main__.main(["grade", "--help"])
        known = capsys.readouterr().out
        for option in re.findall(r"--[a-z-]+", options):
            assert option in known


def test_binder_has_the_same_packages_as_conda():
    """repo2docker reads .binder/ alone where there is one."""

    def packages(path):
        lines = [line.strip() for line in path.read_text().splitlines()]
        return {
            li for li in lines if li.startswith("- ") and "editable" not in li and li != "- pip:"
        }

    assert packages(ROOT / ".binder/environment.yml") == packages(ROOT / "environment.yml")
    assert "--no-deps" in (ROOT / ".binder/postBuild").read_text()


if __name__ == "__main__":
    print(*lesson_rows(), "", *exercise_rows(), sep="\n")
