"""The strip of cache hits and misses.  Judges: the history, counted by hand; an HTML parser."""

from dataclasses import replace

import numpy as np

from tests.html_page import Page
from trainium_edu.widgets.cache_strip import EVENTS, CacheStrip
from trainium_edu.xla.compiler import Event
from trainium_edu.xla.device import Device
from trainium_edu.xla.tensor import as_tensor

A8, B77 = 0xA8 << 56, 0x77 << 56
FIRST, SECOND = Event(0, "compiled", A8, "the first graph"), Event(1, "compiled", B77, "8 inputs")
HITS = [Event(k, "memory", B77, "") for k in range(2, 200)]


def test_two_hundred_steps_are_told_in_four_lines():
    said = repr(CacheStrip([FIRST, SECOND, *HITS])).splitlines()
    assert said[0] == "200 steps, 2 graphs: 2 compiled, 198 hit (memory)"
    assert said[1:] == [
        "step 1       compiled      A (a80000)  the first graph",
        "step 2       compiled      B (770000)  8 inputs",
        "steps 3–200  hit (memory)  B (770000)",
    ]


def test_each_cell_is_a_named_control_that_tells_its_graph_and_reason():
    page = Page(CacheStrip([FIRST, SECOND, *HITS])._repr_html_())
    controls = page.all("summary")
    assert {control["data-lm-suppress-shortcuts"] for control in controls} == {"true"}
    assert [control["aria-label"] for control in controls] == [
        "step 1: compiled, graph A (a80000)",
        "step 2: compiled, graph B (770000)",
        "steps 3–200: hit (memory), graph B (770000)",
    ]
    assert "8 inputs" in page.words.lower()
    assert "B × 198" in page.words


def test_events_differ_by_more_than_colour():
    looks = [CacheStrip([replace(FIRST, kind=kind)])._repr_html_() for kind in EVENTS]
    shown = [Page(look) for look in looks]
    assert "A compiled" in shown[0].words
    assert "A ✗ failed" in shown[3].words
    assert "2px solid" in looks[1]
    assert "2px dashed" in looks[2]


def test_what_came_from_a_script_is_no_html():
    html = CacheStrip([replace(FIRST, why="<script>")])._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_letters_go_on_behind_z():
    strip = CacheStrip([replace(FIRST, graph=k) for k in range(28)])
    assert [strip.letter(k) for k in (0, 25, 26, 27)] == ["A", "Z", "A1", "B1"]


def test_the_history_of_a_compiler_is_a_strip():
    device = Device()
    for length in (4, 4, 8, 4):
        _ = as_tensor(np.ones(length, np.float32), device) + 1.5
        device.mark_step()
    said = repr(CacheStrip(device.compiler.history)).splitlines()
    assert said[0] == "4 steps, 2 graphs: 2 compiled, 2 hit (memory)"
    assert [line.split("(")[0].split()[-1] for line in said[1:] if "compiled" in line] == ["A", "B"]
    assert said[3].endswith(device.compiler.history[2].why)


def test_no_steps_are_a_strip_too():
    assert repr(CacheStrip([])) == "0 steps, 0 graphs: nothing ran"
    Page(CacheStrip([])._repr_html_())
