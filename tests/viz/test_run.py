"""Pictures of a run.  Judge: the places that the axes give to the data."""

import numpy as np
import pytest

from tests.for_each import for_rows
from trainium_edu.viz.run import engines_scene, losses_scene, steps_scene


def _of(scene, kind):
    return [shape[1:] for shape in scene.shapes if shape[0] == kind]


def _texts(scene):
    return [shape[2] for shape in _of(scene, "text")]


def test_marks_stand_below_their_steps_with_their_lines():
    steps = {"number": range(20), "ns": [1e6] * 20, "new_graphs": [(0, "a.py:9")],
             "early_runs": [(5, "a.py:3"), (15, "a.py:3")]}  # fmt: skip
    scene = steps_scene(steps, (0.5e6, 2e6))
    (curve,) = [path for path in _of(scene, "path") if path[6] == "time of each step"]
    new, early = [ticks for ticks in _of(scene, "ticks") if ticks[4] == 2.5]
    assert new[0] == [curve[0][0]]
    assert early[0] == [curve[0][5], curve[0][15]]
    assert _texts(scene).count("a.py:3") == 1
    assert {"new graph", "early run", "1 step", "2 steps"} <= set(_texts(scene))
    assert "fall-back" not in _texts(scene)
    assert "early run first in step 5, a.py:3" in scene.alt


def test_very_many_steps_keep_their_extremes():
    ns = np.full(50_000, 1e6)
    ns[777] = 9e6
    scene = steps_scene({"number": np.arange(50_000), "ns": ns}, (1e6, 1e6))
    (band,) = _of(scene, "area")
    assert len(band[0]) == 1200
    lowest = max(band[1])  # on the page y grows downwards
    assert min(band[1]) < lowest - 100
    assert "from 1 to 9 ms" in scene.alt


@for_rows("count", 1, 2)
def test_few_steps_are_drawn(count):
    scene = steps_scene({"number": range(count), "ns": [5.0] * count}, (5.0, 5.0))
    assert len(_of(scene, "rect")) == count
    assert all(np.isfinite(scene.shapes[0][1:5]))


def test_an_engine_s_lane_is_as_high_as_its_share():
    scene = engines_scene({"DMA": [1.0, 0.0], "CC-cores": [0.5, 0.5]}, {"DMA": 0.45}, 2e6)
    dma, links = _of(scene, "area")
    assert max(dma[1]) - min(dma[1]) == pytest.approx(2 * (max(links[1]) - min(links[1])))
    assert {"45.0%", "50.0%"} <= set(_texts(scene))
    assert scene.alt.endswith("DMA 45.0%, CC-cores 50.0%.")


def test_losses_keep_their_places():
    (curve,) = _of(losses_scene([3.0, "nan", 1.0]), "path")
    assert len(curve[0]) == 2
    assert curve[1][0] < curve[1][1]
