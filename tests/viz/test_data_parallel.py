"""Pictures of training on many ranks.  Judge: shapes and words hold the data given."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.for_each import for_rows
from tests.widgets import monitored
from trainium_edu.timeline import Timeline
from trainium_edu.training import Memory, input_pipeline
from trainium_edu.viz.colours import COLOURS
from trainium_edu.viz.data_parallel import draw_pipeline, memory_bars, step_scene
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
    for track, colour in (("engines", COLOURS["blue"]), ("CC-cores", COLOURS["pink"])):
        spans = [span for of in (on, off) for span in of.spans.on(track)]
        drawn = lanes(scene, colour)
        np.testing.assert_allclose(
            [x - 76 for x, _ in drawn], [s.start_ns * pixels for s in spans], atol=0.1
        )
        np.testing.assert_allclose(
            [wide + 0.5 for _, wide in drawn], [s.duration_ns * pixels for s in spans], atol=0.2
        )
    shown = sum(wide + 0.5 for _, wide in lanes(scene, COLOURS["red"])) / pixels
    assert shown == pytest.approx(on.exposed_ns + off.exposed_ns, rel=0.01)
    assert "on: 283 µs a step" in scene.alt
    far = step_scene({"on": on}, end_ns=10 * on.step_ns)
    assert max(x + wide for x, wide in lanes(far, COLOURS["blue"])) < 76 + 0.1 * 640 + 1


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
        "plain          6.5 MiB",
        "ZeRO-1       2.625 MiB",
    ]


@for_rows("workers", 1, 4)
def test_the_chips_waits_are_the_gaps_between_steps(workers):
    found = input_pipeline(100e6, ranks=2, workers=workers, steps=20)
    used = found.timeline.on("chips")[:6]
    scene = draw_pipeline(found, steps=6, width=1092.0)  # 1000 pixels of time
    pixels = 1000 / used[-1].end_ns
    drawn = np.array(lanes(scene, COLOURS["blue"]))
    wanted = [(76 + s.start_ns * pixels, s.duration_ns * pixels - 0.5) for s in used]
    np.testing.assert_allclose(drawn, wanted, atol=0.2)
    waits = [wait * pixels - 0.5 for wait in found.wait_ns[:6] if wait]
    gaps = lanes(scene, COLOURS["red"])
    np.testing.assert_allclose([wide for _, wide in gaps], waits, atol=0.2)
    texts = [shape[3] for shape in scene.shapes if shape[0] == "text"]
    assert len([words for words in texts if words.startswith("worker")]) == workers
    assert f"the pace is set by: {found.binds}" in texts
    labels = [
        (float(s[3]), s[2] - 4) for s in scene.shapes if s[0] == "text" and s[4:7:2] == ["end", 11]
    ]
    (low, bottom), (high, top) = labels[0], labels[-1]
    ys = np.array(next(s[2] for s in scene.shapes if s[-1] == "ready"))
    depth = low + (ys - bottom) / (top - bottom) * (high - low)
    assert abs(depth.min()) < 0.01
    assert depth.min() < depth.max() <= 2 * workers + 1.01
    assert min(shape[6] for shape in scene.shapes if shape[0] == "text") >= 11
