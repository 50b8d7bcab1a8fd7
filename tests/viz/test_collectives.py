"""Judges: the numbers handed in, where the axes put them; NCCL's definition of bus bandwidth."""

import numpy as np
import pytest

from tests.for_each import for_rows
from trainium_edu.fabric.alpha_beta import Line, sweep
from trainium_edu.fabric.selection import Selection
from trainium_edu.viz import collectives as viz

SIZES = np.geomspace(2**10, 2**30, 16)
LINES = Line("mesh", 1000, 1 / 50), Line("rdh", 9000, 1 / 100)
TIMES, BEST = sweep(LINES, SIZES)
SELECTED = Selection(SIZES, LINES, TIMES, BEST, ((8e5, "mesh", "rdh"),))


def curves(scene):
    """Return what each curve is called, and its places."""
    return {shape[-1]: np.array(shape[1:3]) for shape in scene.shapes if shape[0] == "path"}


def texts(scene):
    """Return where each text stands first: numbers on the y axis before those on the x axis."""
    return {shape[3]: shape[1:3] for shape in reversed(scene.shapes) if shape[0] == "text"}


def read(scene, ys, low, high):
    """Return the values of places on the y axis, from the places of two of its numbers."""
    y_low, y_high = (texts(scene)[str(value)][1] - 4 for value in (low, high))
    return low + (high - low) * (np.asarray(ys) - y_low) / (y_high - y_low)


@for_rows("width", 320.0, 560.0, 890.0)
def test_times_are_drawn_in_microseconds_with_crossover_and_published_mark(width):
    scene = viz.draw_times(SELECTED, published=[(2**20, "1 MB")], title="times", width=width)
    drawn, said = curves(scene), texts(scene)
    decade = said["1"][1] - said["10"][1]
    for name, ns in zip(("mesh", "rdh"), TIMES, strict=True):
        np.testing.assert_allclose(
            said["1"][1] - 4 - decade * np.log10(ns / 1e3), drawn[name][1], atol=0.3
        )
    doubling = np.diff(drawn["mesh"][0][[0, -1]])[0] / 20
    at = drawn["mesh"][0][0] + doubling * np.log2(8e5 / 2**10)
    assert drawn["crossover"][0] == pytest.approx([at, at], abs=0.3)
    mark = next(shape for shape in scene.shapes if shape[0] == "area")
    assert mark[1][2] == pytest.approx(drawn["mesh"][0][0] + doubling * 10, abs=0.3)
    assert {"0.8 MB → rdh", "1 MB", "times"} <= set(said)
    assert min(shape[6] for shape in scene.shapes if shape[0] == "text") >= 11


def test_bus_bandwidth_is_bytes_over_time_times_the_factor():
    scene = viz.draw_bus_bandwidth(SELECTED, 1.5, 120)
    drawn = curves(scene)
    np.testing.assert_allclose(
        read(scene, drawn["rdh"][1], 0, 100), 1.5 * SIZES / TIMES[1], atol=0.3
    )
    np.testing.assert_allclose(read(scene, drawn["all wires full"][1], 0, 100), 120, atol=0.3)


def test_scaling_and_link_use_draw_one_line_for_each_name():
    scene = viz.draw_scaling([32, 64, 128], [[1e6, 2e6, np.nan]], ["ring"])
    (xs, ys), said = curves(scene)["ring"], texts(scene)
    assert xs == pytest.approx([said["32"][0], said["64"][0]], abs=0.2)
    assert ys == pytest.approx([said["1"][1] - 4, said["2"][1] - 4], abs=0.2)
    scene = viz.draw_link_use([np.array([0.1, 0.5])], ["ring"])
    ys = curves(scene)["ring"][1]
    assert read(scene, ys, 0, 100) == pytest.approx([50, 50, 10, 10], abs=0.3)


def test_no_two_algorithms_look_alike():
    looks = [
        viz.look_of(name) for name in ("mesh", "rdh", "kangaring", "ring", "ring_by_dimension")
    ]
    assert len({look["colour"] for look in looks}) == len(looks)
    assert len({look["dash"] for look in looks}) == len(looks)


def test_learning_shows_loss_and_accuracy():
    scene = viz.draw_learning([2.0, 1.0], [0.1, 0.5, 0.9])
    drawn = curves(scene)
    assert read(scene, drawn["loss"][1], 0, 2) == pytest.approx([2, 1], abs=0.01)
    assert read(scene, drawn["test accuracy"][1], 0, 100) == pytest.approx([10, 50, 90], abs=0.4)
