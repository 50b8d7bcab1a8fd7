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
    panel = collectives.selection_explorer(machine)
    panel.controls["counts"].value = "both_ways"
    panel.controls["hop"].value = hop_us
    topology = make(direction="both_ways", latency_ns=1000 * hop_us)
    costs = fabric.Costs(on_chip_latency_ns=1000 * hop_us)
    judge = fabric.select(topology, algorithms=(*fabric.DOCUMENTED, "ring"), costs=costs)
    assert panel.told.value.startswith("; ".join(collectives.crossover_text(judge)))


@for_rows("order", "rotated", "spread", "same")
def test_the_panel_offers_every_order_of_the_axes(order):
    panel = collectives.selection_explorer()
    panel.controls["axes"].value = order
    judge = fabric.select(fabric.trn1_32xlarge(), options={"rdh": {"axis_order": order}})
    assert panel.told.value.startswith("; ".join(collectives.crossover_text(judge)))
    assert ("rdh" in panel.told.value) is (order == "spread")


def test_what_cannot_run_is_named():
    assert "Not possible here: rdh" in collectives.selection_explorer("inf2.48xlarge").told.value


def test_bus_bandwidth_stays_below_the_wires():
    panel = collectives.selection_explorer()
    panel.controls["show"].value = "bus bandwidth"
    fig = panel.children[-2].draw()
    lines = {line.get_label(): np.asarray(line.get_ydata()) for line in fig.axes[0].lines}
    limit = lines.pop("all wires full")[0]
    assert limit == pytest.approx(4 * 96 * 2**30 / 1e9)
    assert max(y.max() for y in lines.values()) < limit


def test_pictures_tell_the_crossovers():
    told = collectives.selection_picture(fabric.select(fabric.trn2_48xlarge()), title="x").alt
    assert "mesh → rdh" in told
    assert "rdh → kangaring" in told
