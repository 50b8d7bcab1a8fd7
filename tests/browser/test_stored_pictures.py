"""Pictures of every kind of widget.  Judges: their pixels, and a second picture of the same."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from tests.test_stored_pictures import page_drawn, pictures
from tests.viz.graphs import mlp
from tests.viz.programs import timed
from tests.widgets import monitored
from trainium_edu import fabric
from trainium_edu.exercises.lessons import folder
from trainium_edu.neuroncore.systolic_array import SystolicArray
from trainium_edu.torch import programs
from trainium_edu.widgets.bit_editor import bit_editor
from trainium_edu.widgets.collective_player import CollectivePlayer
from trainium_edu.widgets.graph_explorer import GraphExplorer
from trainium_edu.widgets.kernel_view import kernel_view
from trainium_edu.widgets.number_line import number_line_explorer
from trainium_edu.widgets.rounding_explorer import rounding_explorer
from trainium_edu.widgets.script_film import script_film
from trainium_edu.widgets.static import load
from trainium_edu.widgets.systolic_array import array_player
from trainium_edu.widgets.timeline_explorer import timeline_explorer
from trainium_edu.widgets.topology import topology_explorer, topology_picture
from trainium_edu.widgets.training import training_explorer
from trainium_edu.widgets.training_player import first_training_run
from trainium_edu.widgets.two_laws import doubling_steps
from trainium_edu.widgets.zoom import zoom_ladder

pytestmark = pytest.mark.browser
RING = fabric.ring(4)
MAKE = {
    "BitEditor": bit_editor,
    "CollectivePlayer": lambda: CollectivePlayer(fabric.plan(RING, "all_reduce", "ring"), RING,
        4096),
    "GraphView": lambda: GraphExplorer(mlp(), repr).view,
    "KernelView": lambda: kernel_view(timed(2)),
    "NumberLine": number_line_explorer, "RoundingExplorer": rounding_explorer,
    "ScriptFilm": lambda: script_film(folder() / "programs" / "digits_prints.py",
                                      programs.stored("digits_prints").record),
    "Picture": lambda: topology_picture(fabric.trn1_32xlarge(), path=(0, 1, 2)),
    "Sketch": lambda: doubling_steps(2),
    "SystolicArrayPlayer": lambda: array_player(np.arange(16.0).reshape(4, 4), np.ones((4, 6)),
        array=SystolicArray(4, 4), cycle=0),
    "TimelineExplorer": lambda: timeline_explorer(timed(2)), "TopologyExplorer": topology_explorer,
    "TrainingExplorer": lambda: training_explorer(0.1, epochs=5),
    "TrainingMonitor": monitored.monitor,
    "TrainingPlayer": lambda: first_training_run(0.1, passes=2), "ZoomLadder": zoom_ladder,
}  # fmt: skip


def test_every_kind_is_tried():
    assert set(MAKE) == page_drawn()


@pytest.mark.parametrize("name", MAKE)
def test_a_picture_is_full_light_and_the_same_twice(browser, name):
    state = MAKE[name]().get_state()
    parts = {k: bytes(v) for k, v in state.items() if isinstance(v, bytes | memoryview)}
    buffers = [[[k], base64.b64encode(v).decode()] for k, v in parts.items()]
    state = {k: v for k, v in state.items() if k not in parts}
    png, height = pictures.take(browser, state, buffers)
    # A page with a second widget has the rules of all widgets again, behind this one's own.
    again = state | {"_css": state["_css"] + load("shared/common.css")}
    assert (png, height) == pictures.take(browser, again, buffers)
    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)
    assert pixels.shape[:2] == (pytest.approx(1.5 * height, abs=2), 1350)
    assert (pixels[0] == 255).all()
    assert 0.03 < (pixels != 255).any(axis=2).mean() < 0.95
    coloured = np.ptp(pixels, axis=2) > 60  # the theme alone is grey
    assert coloured.mean() > 0.001
