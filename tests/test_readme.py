"""README and the pages behind it: links that lead somewhere, rows that a benchmark measures.

Judges: the files, the benchmarks' own names, and an example with made-up figures.
"""

import importlib
import re
import runpy
import sys
from pathlib import Path

import pytest
from PIL import Image

from tests.benchmarks import __main__ as benchmarks
from tests.benchmarks.marked import rewritten
from tests.for_each import for_each, for_rows, raises
from tests.texts import text_beside
from trainium_edu import __version__, specs

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [
    README,
    *sorted((ROOT / ".github").glob("*.md")),
    *sorted((ROOT / ".github/docs").glob("*.md")),
]
MEASURED = [README, ROOT / ".github/docs/speed.md"]
GENERATE = runpy.run_path(str(ROOT / ".ci/generate.py"))


def links(page):
    """Return the files of the repository that a page links to, pictures included."""
    found = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8"))
    return [(page.parent / target).resolve() for target in found]


@for_each("page", PAGES, ids=lambda p: p.name)
def test_every_link_leads_to_a_file(page):
    assert [p for p in links(page) if not p.exists()] == []


def test_readme_leads_to_a_matmuls_64_cycles_in_two_hops():
    """Judges: the fact's own value, and the code that answers."""
    assert specs.TRN1.tensor_engine.min_initiation_cycles.value == 64
    said = [p for p in links(README) if p.suffix == ".md" and "64 cycles" in p.read_text()]
    assert "a matmul's 64 cycles" in README.read_text()
    (row,) = re.findall(r"(?m)^\|.*64 cycles.*$", "\n".join(p.read_text() for p in said))
    files = [(said[0].parent / target).resolve() for target in re.findall(r"\]\(([^)]+)\)", row)]
    for name, file in zip(re.findall(r"`(_?[a-z]+(?:_[a-z]+)+)` in", row), files, strict=True):
        assert re.search(rf"\b{name}\b", file.read_text(encoding="utf-8"))
    fact, rule = files
    assert "| min_initiation_cycles | 64 | " in fact.read_text(encoding="utf-8")
    assert "min_initiation_cycles" in rule.read_text(encoding="utf-8")


def test_a_name_that_moved_gets_its_new_place():
    page = ROOT / ".github/docs/architecture.md"
    text = "See [`numerics.cast`](../../gone.py), [`words`](there.md) and [more](gone.py)."
    assert GENERATE["with_links"](text, page) == (
        "See [`numerics.cast`](../../trainium_edu/numerics/rounding.py), [`words`](there.md) and "
        "[more](gone.py)."
    )
    with pytest.raises(ValueError, match=r"numerics\.cost"):
        GENERATE["with_links"]("[`numerics.cost`](../../gone.py)", page)


def test_readmes_picture_moves_and_is_small():
    (picture,) = [p for p in links(README) if p.suffix in (".gif", ".png", ".svg")]
    with Image.open(picture) as film:
        assert film.n_frames >= 12
        assert film.info["loop"] == 0
    for path in (picture, ROOT / ".github/docs/zoom.png"):
        assert path.stat().st_size < 500_000  # every clone holds it


def test_readmes_examples_give_what_their_comments_say():
    """Judge: the comments; a sum of 0 to 31 by hand."""
    text = README.read_text(encoding="utf-8")
    kernel, collective = (x.split("```")[0] for x in text.split("```python\n")[1:])
    names = {}
    exec(kernel, names)
    (stated,) = re.findall(r"makespan_ns  # ([\d.]+)", kernel)
    assert names["run"].timeline.makespan_ns == pytest.approx(float(stated), rel=1e-3)
    assert (names["run"].outputs == 2).all()
    exec(collective, names)
    assert names["total"][31].tolist() == names["total"][0].tolist() == [sum(range(32)), 32]
    assert "[496, 32]" in collective
    (stated,) = re.findall(r"schedule  # (.*)", collective)
    assert stated in str(names["schedule"])


def test_readme_and_its_buttons_lead_to_the_repository_of_pyproject():
    """Judge: the addresses as Binder, GitHub and Colab document them."""
    text, place = README.read_text(encoding="utf-8"), GENERATE["URLS"]["Repository"]
    owner = place.removeprefix("https://github.com/")
    for button in (
        f"(https://mybinder.org/v2/gh/{owner}/HEAD?urlpath=lab/tree/work/00_start_here.ipynb)",
        f"(https://codespaces.new/{owner}?quickstart=1)",
        f"(https://colab.research.google.com/github/{owner}/blob/main/.github/colab.ipynb)",
        f"({GENERATE['URLS']['Lessons']})",
    ):
        assert button in text
    assert all(url.startswith(place) for n, url in GENERATE["URLS"].items() if n != "Lessons")
    assert GENERATE["with_addresses"](text.replace(owner, "someone/else.where")) == text


def test_the_changelog_begins_with_the_version_that_this_is():
    text = (ROOT / ".github/CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"(?m)^## (\S+)", text)[1] == __version__
    assert f"version: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


# -- measured rows ----------------------------------------------------------------------------

PAGE = text_beside(__file__, "page.md.txt")


def test_a_run_fills_the_rows_that_a_page_chose_and_leaves_the_rest():
    rows = {"first": ("1 ms", "2 × a peer"), "second": ("3 ms", ""), "third": ("4 ms", "")}
    assert rewritten(PAGE, rows, "A new machine") == PAGE.replace(
        "An old machine", "A new machine"
    ).replace("| second | 9 s | |\n", "| second | 3 ms |  |\n").replace(
        "| first | 8 s | old |", "| first | 1 ms | 2 × a peer |"
    )


def test_a_row_of_another_run_is_refused():
    with pytest.raises(ValueError, match="did not measure first: run all"):
        rewritten(PAGE, {"second": ("3 ms", "")}, "A new machine")


@for_rows("page", "no marks", PAGE.replace("| --- | ---: | --- |\n", ""))
def test_a_page_that_marks_nothing_is_refused(page):
    raises(ValueError, r"nothing to rewrite|has no table", rewritten, page, {}, "A machine")


def without_clocks(monkeypatch):
    """Let the benchmarks run without measuring: each time is one second."""
    load = {n: importlib.import_module(f"tests.benchmarks.bench_{n}") for n in benchmarks.every()}
    for module in load.values():
        for name, answer in (
            ("best_of", lambda *_: 1.0),
            ("alternating", lambda *x: [1.0] * len(x)),
        ):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, answer)
    rates = dict.fromkeys(load["systolic_array"].PLAYERS, (60, 1, 1))
    beside = load["cluster"].beside
    for name, function, answer in [
        ("numerics", "shortest", lambda calls: dict.fromkeys(calls, 1.0)),
        ("numerics", "stochastic_peers", lambda x: {"a peer": print}),
        ("systolic_array", "scale_sim_seconds", lambda *_: 1.0),
        ("systolic_array", "frame_rates", lambda: rates),
        ("fabric", "ring_of", lambda *_: 1.0),
        ("fabric", "copy_of", lambda *_: 1.0),
        ("fabric", "best_of", lambda _, call: (call(), 1.0)[1]),
        ("neuroncore", "in_plain_python", lambda _: 1.0),
        ("cluster", "moves", lambda: [1.0] * 12),
        ("cluster", "beside", lambda: beside((1024,))),
        ("parallel", "alternating", lambda *calls: [(call(), 1.0)[1] for call in calls]),
        ("parallel", "peak_bytes", lambda *_: 2**30),
        ("timeline_explorer", "answers_ms", lambda _: [1.0]),
        ("training", "compiled", lambda *_: (1.0, 1.0, 2**30, 1.0)),
    ]:
        monkeypatch.setattr(load[name], function, answer)
    monkeypatch.setattr(load["timeline_explorer"], "TURNS", (40, 400))


@pytest.mark.slow
def test_each_measured_row_of_the_pages_is_one_that_a_benchmark_measures(
    monkeypatch, tmp_path, capsys
):
    without_clocks(monkeypatch)
    copies = [tmp_path / page.name for page in MEASURED]
    for page, copy in zip(MEASURED, copies, strict=True):
        copy.write_text(page.read_text(encoding="utf-8"), encoding="utf-8")
    benchmarks.main(["--write", *map(str, copies)])
    assert "wrote the measured rows of" in capsys.readouterr().out
    for page, copy in zip(MEASURED, copies, strict=True):
        old, new = page.read_text(encoding="utf-8"), copy.read_text(encoding="utf-8")
        assert f"Python {sys.version.split()[0]}" in new
        marks = "<!-- measured -->", "<!-- end of measured -->"
        assert old.split(marks[0])[0] == new.split(marks[0])[0]
        assert old.split(marks[1])[1] == new.split(marks[1])[1]
        assert old.count("\n| ") == new.count("\n| ")


def test_writing_from_some_benchmarks_only_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="--write needs all"):
        benchmarks.main(["fabric", "--write", str(tmp_path / "README.md")])
