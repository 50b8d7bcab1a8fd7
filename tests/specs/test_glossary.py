"""The glossary is sourced, covers the house's words, and every lesson's link finds its term.

Judge: the word table of the style guide, and the notebooks themselves.
"""

import json
import re
from pathlib import Path

import pytest

from trainium_edu.specs import SOURCES
from trainium_edu.specs.glossary import glossary

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
START = NOTEBOOKS / "00_start_here.ipynb"
HOUSE_WORDS = {
    "NeuronCore", "chip", "instance", "rank", "Tensor Engine", "Vector Engine", "Scalar Engine",
    "GpSimd Engine", "Sync Engine", "DMA", "kernel", "partition", "free axis", "PSUM bank",
    "stationary", "moving", "dst", "record", "Program", "instruction", "Timeline", "span",
    "track", "initiation interval", "latency", "price", "cost-to-train", "executable",
    "compile cache", "mark_step", "collective", "replica group", "shard", "hop", "link", "MFU",
    "arithmetic intensity", "roofline",
}  # fmt: skip


def _cells(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


@pytest.mark.parametrize("term", glossary().values(), ids=lambda t: t.slug)
def test_every_term_is_one_sentence_with_a_source(term):
    assert term.source in SOURCES
    assert term.sentence.endswith(".")
    assert ". " not in term.sentence
    assert re.fullmatch(r"[a-z0-9-]+", term.slug)


def test_the_words_of_the_house_are_all_there():
    names = {term.name for term in glossary().values()}
    assert names >= HOUSE_WORDS


def test_slugs_and_names_are_unique():
    names = [term.name.lower() for term in glossary().values()]
    assert len(set(names)) == len(names) == len(glossary())


@pytest.mark.skipif(not START.exists(), reason="the lesson is not built yet")
def test_the_lesson_shows_every_term_in_a_cell_of_its_own():
    shown = {cell["id"]: "".join(cell["source"]) for cell in _cells(START)}
    for slug, term in glossary().items():
        assert shown.get(f"term-{slug}") == term.markdown, slug


def test_every_link_of_every_lesson_finds_its_cell():
    for path in NOTEBOOKS.glob("*.ipynb"):
        for cell in _cells(path):
            for name, target in re.findall(
                r"\]\(([\w.-]+\.ipynb)?(#[^)\s]*)?\)", "".join(cell["source"])
            ):
                if not name and not target:
                    continue
                goal = NOTEBOOKS / name if name else path
                assert goal.exists(), f"{path.name}: {name}"
                if target:
                    kind, _, cell_id = target[1:].partition("=")
                    ids = {c["id"] for c in _cells(goal)}
                    assert kind == "cell-id", f"{path.name}: {name}{target}"
                    assert cell_id in ids, f"{path.name}: {name}{target}"


def test_the_table_of_lessons_says_each_lessons_own_minutes():
    table = "".join(next(c for c in _cells(START) if c["id"] == "lessons")["source"])
    rows = re.findall(r"\| \d\d \| \[.*?\]\((.*?)\).*?\| (\d+) \|", table)
    assert len(rows) >= 5
    for name, minutes in rows:
        opening = "".join("".join(cell["source"]) for cell in _cells(NOTEBOOKS / name)[:5])
        assert re.search(rf"\b{minutes} min", opening), name
    core = [int(m) for m in re.findall(r"\| (\d+) \| ●", table)]
    assert sum(core) + 45 <= 270  # the path of the course, with 45 minutes for what is planned
