"""Pictures of training on many ranks.  Judge: artists and labels hold the data given."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.for_each import for_rows
from tests.widgets import monitored
from trainium_edu.timeline import Timeline
from trainium_edu.training import Memory, input_pipeline
from trainium_edu.viz import style
from trainium_edu.viz.data_parallel import memory_bars, plot_pipeline, step_scene
from trainium_edu.viz.step_frames import exposed


def report(overlap):
    sums, _ = monitored.bills()
    spans = Timeline(monitored.spans(sums, overlap=overlap))
    exposed_ns = float(np.ptp(exposed(spans.spans), axis=1).sum())
    return SimpleNamespace(spans=spans, step_ns=spans.makespan_ns, exposed_ns=exposed_ns)


def lanes(scene, colour):
    """Return left edge and width of each box of a colour, in CSS pixels."""
    rects = [shape[1:] for shape in scene.shapes if shape[0] == "rect"]
    return [(x, wide) for x, _, wide, _, filled, *_ in rects if filled == colour]


def test_steps_are_drawn_on_one_scale_and_what_shows_is_red():
    on, off = report(True), report(False)
    scene = step_scene({"on": on, "off": off}, width=1100.0)  # 1000 pixels of time
    pixels = 1000 / (1.02 * off.step_ns)
    for track, colour in (("engines", style.COLOURS["blue"]), ("CC-cores", style.COLOURS["pink"])):
        spans = [span for of in (on, off) for span in of.spans.on(track)]
        drawn = lanes(scene, colour)
        np.testing.assert_allclose([x - 76 for x, _ in drawn],
                                   [s.start_ns * pixels for s in spans], atol=0.1)  # fmt: skip
        np.testing.assert_allclose([wide + 0.5 for _, wide in drawn],
                                   [s.duration_ns * pixels for s in spans], atol=0.2)  # fmt: skip
    shown = sum(wide + 0.5 for _, wide in lanes(scene, style.COLOURS["red"])) / pixels
    assert shown == pytest.approx(on.exposed_ns + off.exposed_ns, rel=0.01)
    assert "on: 283 µs per step" in scene.alt
    far = step_scene({"on": on}, end_ns=10 * on.step_ns)
    assert max(x + wide for x, wide in lanes(far, style.COLOURS["blue"])) < 76 + 0.1 * 640 + 1


MIB = 2**20
PLAIN = Memory(MIB, MIB, 0, 4 * MIB, 0, MIB // 2, parameters=1, available=8 * MIB)
ZERO = replace(PLAIN, states=MIB // 8)
HELD = {"plain": PLAIN, "ZeRO-1": ZERO}


def test_bars_of_one_core_add_up():
    svg = memory_bars(HELD).svg
    for words in ("In MiB; a NeuronCore has 8 MiB, 1.23 times the longest bar",
                  "optimiser&#x27;s state", "activations", ">6.5<", ">2.62<"):  # fmt: skip
        assert words in svg
    assert "FP32 weights" not in svg  # what nobody keeps is left out
    assert repr(memory_bars(HELD)).split("\n")[:2] == [
        "plain          6.5 MiB", "ZeRO-1       2.625 MiB"
    ]  # fmt: skip


def boxes(collection):
    """Return begin and length of each box of a lane, in µs."""
    paths = (path.vertices[:, 0] for path in collection.get_paths())
    return [(x.min(), np.ptp(x)) for x in paths]


@for_rows("workers", 1, 4)
def test_the_chips_waits_are_the_gaps_between_steps(workers):
    found = input_pipeline(100e6, ranks=2, workers=workers, steps=20)
    lanes, ready = plot_pipeline(found, steps=6).axes
    drawn = {c.get_label(): c for c in lanes.collections}
    steps = boxes(drawn["chips"])
    assert steps == [pytest.approx((s.start_ns / 1e6, 100)) for s in found.timeline.on("chips")[:6]]
    gaps = [c for c in lanes.collections if c.get_label().startswith("_")]
    waits = [wait / 1e6 for wait in found.wait_ns[:6] if wait]
    np.testing.assert_allclose([length for c in gaps for _, length in boxes(c)], waits)
    assert len([label for label in drawn if label.startswith("worker")]) == workers
    assert found.binds in lanes.get_title()
    depth = ready.lines[0].get_ydata()
    assert 0 == depth.min() == depth[-1] <= depth.max() <= 2 * workers + 1


def test_both_themes_draw():
    for dark in (False, True):
        with style.theme(dark):
            assert style.to_png(plot_pipeline(input_pipeline(1e8))).startswith(b"\x89PNG")
