"""The strip of cache hits and misses.  Judges: the history, counted by hand; an HTML parser."""

import numpy as np

from tests.for_each import for_rows, raises
from tests.html_page import Page
from trainium_edu.widgets.cache_strip import EVENTS, cache_strip
from trainium_edu.xla.device import Device
from trainium_edu.xla.tensor import as_tensor

FIRST = {"step": 1, "event": "compiled", "graph": "a8", "why": "the first graph"}
HITS = [{"step": k, "event": "hit (memory)", "graph": "77"} for k in range(3, 201)]
SECOND = {"step": 2, "event": "compiled", "graph": "77", "why": "8 more inputs"}


def test_two_hundred_steps_are_told_in_four_lines():
    said = repr(cache_strip([FIRST, SECOND, *HITS])).splitlines()
    assert said[0] == "200 steps, 2 graphs: 2 compiled, 198 hit (memory)"
    assert said[1:] == [
        "step 1       compiled      A (a8)  the first graph",
        "step 2       compiled      B (77)  8 more inputs",
        "steps 3–200  hit (memory)  B (77)",
    ]


def test_each_cell_is_a_named_control_that_tells_its_graph_and_reason():
    page = Page(cache_strip([FIRST, SECOND, *HITS])._repr_html_())
    controls = page.all("summary")
    assert {control["data-lm-suppress-shortcuts"] for control in controls} == {"true"}
    assert [control["aria-label"] for control in controls] == [
        "step 1: compiled, graph A (a8)", "step 2: compiled, graph B (77)",
        "steps 3–200: hit (memory), graph B (77)",
    ]  # fmt: skip
    assert "8 more inputs" in page.words.lower()
    assert "B × 198" in page.words


def test_events_differ_by_more_than_colour():
    shown = [Page(cache_strip([FIRST | {"event": event}])._repr_html_()) for event in EVENTS]
    looks = [cache_strip([FIRST | {"event": event}])._repr_html_() for event in EVENTS]
    assert "A compiled" in shown[0].words
    assert "A ✗ failed" in shown[3].words
    assert "2px solid" in looks[1]
    assert "2px dashed" in looks[2]


def test_what_came_from_a_script_is_no_html():
    html = cache_strip([FIRST | {"graph": "<b>", "why": "<script>"}])._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_letters_go_on_behind_z():
    strip = cache_strip([{"event": "compiled", "graph": str(k)} for k in range(28)])
    assert [strip.letter(str(k)) for k in (0, 25, 26, 27)] == ["A", "Z", "A1", "B1"]


def test_the_history_of_a_compiler_is_a_strip():
    device = Device()
    for length in (4, 4, 8, 4):
        _ = as_tensor(np.ones(length, np.float32), device) + 1.5
        device.mark_step()
    said = repr(cache_strip(device.compiler.history)).splitlines()
    assert said[0] == "4 steps, 2 graphs: 2 compiled, 2 hit (memory)"
    assert [line.split("(")[0].split()[-1] for line in said[1:] if "compiled" in line] == ["A", "B"]
    assert said[3].endswith(device.compiler.history[2].why)


def test_no_steps_are_a_strip_too():
    assert repr(cache_strip([])) == "0 steps, 0 graphs: nothing ran"
    Page(cache_strip([])._repr_html_())


@for_rows("entry", {}, {"event": "compiled"}, {"event": "hit", "graph": "a"}, {"graph": "a"})
def test_wrong_entries_are_named(entry):
    raises(ValueError, r"history\[1\]", cache_strip, [FIRST, entry])


@for_rows("history", None, 3, [3], ["compiled"], {"event": "compiled"})
def test_a_history_is_a_list_of_dicts(history):
    raises(TypeError, "it must be a list of", cache_strip, history)
