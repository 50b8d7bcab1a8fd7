"""Judges: fabric.select on the machine itself, with its own latency, for what the slider shows."""

import numpy as np
import pytest

from tests.for_each import for_rows
from trainium_edu import fabric
from trainium_edu.widgets import collectives


@for_rows("machine, make",
    ("trn1.32xlarge", fabric.trn1_32xlarge), ("trn2.48xlarge", fabric.trn2_48xlarge),
    ("inf2.48xlarge", fabric.inf2_48xlarge),
)  # fmt: skip
@for_rows("hop_us", 0.5, 2.0)
def test_the_slider_shows_what_the_machine_with_that_latency_would(machine, make, hop_us):
    panel = collectives.selection_explorer()
    panel.sketch.set(machine=machine, counts="both_ways", hop=round(10 * hop_us))
    topology = make(direction="both_ways", latency_ns=1000 * hop_us)
    costs = fabric.Costs(on_chip_latency_ns=1000 * hop_us)
    judge = fabric.select(topology, algorithms=(*fabric.DOCUMENTED, "ring"), costs=costs)
    assert told(panel).startswith("; ".join(collectives.crossover_text(judge)))
    assert panel.sketch.page["outputs"]["hop"] == f"{hop_us:g} µs"


def told(panel):
    return panel.sketch.page["said"][0]


def test_every_machine_of_the_menu_can_be_chosen():
    shown = collectives.selection_explorer().sketch
    menu = next(c for c in shown.controls if c["name"] == "machine")
    told = set()
    for name, _ in menu["options"]:
        shown.set(machine=name)
        told.add(shown.page["said"][0])
    assert len(told) == len(menu["options"])


@for_rows("order", "rotated", "spread", "same")
def test_the_panel_offers_every_order_of_the_axes(order):
    panel = collectives.selection_explorer()
    panel.sketch.set(axes=order)
    judge = fabric.select(fabric.trn1_32xlarge(), options={"rdh": {"axis_order": order}})
    assert told(panel).startswith("; ".join(collectives.crossover_text(judge)))
    assert ("rdh" in told(panel)) is (order == "spread")


def test_what_cannot_run_is_named():
    panel = collectives.selection_explorer()
    panel.sketch.set(machine="inf2.48xlarge")
    assert "Not possible here: rdh" in told(panel)


def test_bus_bandwidth_stays_below_the_wires():
    panel = collectives.selection_explorer()
    panel.sketch.set(show="bandwidth")
    shapes = panel.sketch.scene.shapes
    ys = {shape[-1]: np.array(shape[2]) for shape in shapes if shape[0] == "path" and shape[-1]}
    at = {shape[3]: shape[2] - 4 for shape in shapes if shape[0] == "text"}
    limit = ys.pop("all wires full")[0]
    judged = 4 * 96 * 2**30 / 1e9
    assert limit == pytest.approx(at["0"] + (at["200"] - at["0"]) * judged / 200, abs=0.3)
    assert min(y.min() for y in ys.values()) > limit


def test_pictures_tell_the_crossovers():
    shown = collectives.selection_picture(fabric.select(fabric.trn2_48xlarge()), title="x")
    alt = shown.page["scene"]["alt"]
    assert "mesh → rdh" in alt
    assert "rdh → kangaring" in alt
    assert repr(shown) == f"Picture({alt!r})"
