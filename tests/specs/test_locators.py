"""Facts stand where they say.  Judge: AWS's pages, through ``tests/golden/make_locators.py``."""

import json
from pathlib import Path

from tests.for_each import for_rows
from tests.golden import make_locators
from tests.specs.conftest import looked_up
from trainium_edu.specs import SOFTWARE, SOURCES, TRN1

FOUND = json.loads(make_locators.GOLDEN.read_text())
AGAIN = "; run tests/golden/make_locators.py with a clone of aws-neuron-sdk"


def test_every_fact_from_the_documentation_was_found_in_the_edition_it_cites():
    facts = looked_up()
    cited = {n: f for n, f in facts.items() if make_locators.PAGE.fullmatch(SOURCES[f.source].url)}
    assert len(cited) > 500
    for name, fact in cited.items():
        page = FOUND.get(fact.source, {"edition": "no", "places": {}})
        assert f"/blob/{page['edition']}/" in SOURCES[fact.source].url, name + AGAIN
        assert fact.locator in page["places"], f"{name}: {fact}{AGAIN}"
        if "figure" not in fact.locator:  # nothing to read in the text
            figures = " ".join(page["places"][fact.locator])
            for number in make_locators.numbers(fact.value):
                assert make_locators.printed(number, figures), f"{name}: {fact}{AGAIN}"


PAGE = Path(__file__).with_name("page.rst").read_text("utf-8")


@for_rows(
    "place, value, found", ("First", 1416, "1416"), ("First", 32768, "32"),
    ("First", 13_120 * 2**30, "13,120"), ("First", 17e9, None), ("Second", 17e9, "17"),
    ("First, Cost Model", 0.5, "half"), ("First, Cost Model", 2e12, "2.0"),
    ("First, Cost Model", 1416, None), ("First", 6, None),
)  # fmt: skip
def test_the_search_finds_what_stands_in_a_section_and_nothing_else(place, value, found):
    """Judge: the page above, read by eye."""
    assert make_locators.printed(value, make_locators.section(place, PAGE)) == found


def test_a_section_that_no_page_has_is_not_found():
    assert make_locators.section("Third", PAGE) is None


def test_the_queue_and_the_transfer_cite_the_page_that_has_them():
    """Judge: the introduction to DMA, Examples and DMA Queues; the guide says neither."""
    dma = TRN1.dma
    assert (dma.one_32kib_transfer_ns.source, dma.one_32kib_transfer_ns.value) == (
        "nki-dma-overview",
        1416,
    )
    assert "NeuronCore-v3" in dma.one_32kib_transfer_ns.note
    assert (dma.queues_per_engine.source, dma.queues.kind) == ("nki-dma-overview", "assumed")
    assert dma.queues_per_core.value == 16 * 16


def test_the_seed_that_the_runtime_takes_unasked_is_documented():
    """Judge: the page of environment variables: "the seed is set to 0 by default"."""
    seed = SOFTWARE.stochastic_rounding_seed_default
    assert (seed.value, seed.kind, seed.source) == (0, "documented", "aws-torch-variables")


def test_sources_lead_to_a_document_and_not_to_a_front_page():
    for source in SOURCES.values():
        path = source.url.removeprefix("https://").partition("/")[2].strip("/")
        is_book = "book" in source.url  # a book may have a site of its own
        assert path or is_book or not source.url, source.key
