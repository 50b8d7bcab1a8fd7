"""A plan on its cluster.  Judges: ``fabric``'s own routes and cables, counted; the page's edges."""

import numpy as np

from tests.for_each import for_rows
from trainium_edu import fabric
from trainium_edu.viz.cluster import WIRE, draw_group
from trainium_edu.viz.colours import COLOURS
from trainium_edu.viz.topology import wires_of

TRN1 = fabric.trn1_32xlarge()
CORE = (13, 20)


def cores(scene, colour):
    return [s for s in scene.shapes if s[0] == "rect" and s[5] == colour and (s[3], s[4]) == CORE]


def lines(scene, wire):
    return [s for s in scene.shapes if s[0] == "line" and s[5] == WIRE[wire]]


def words(scene):
    return [s[3] for s in scene.shapes if s[0] == "text"]


def draw(members, instances=1, **more):
    return draw_group(TRN1, instances, np.array(members), members[0], **more)


def test_every_neuroncore_of_an_instance_is_drawn_once():
    scene = draw([5])
    filled = [s for s in scene.shapes if s[0] == "rect" and (s[3], s[4]) == CORE and not s[7]]
    assert len(filled) == TRN1.ranks == len({(s[1], s[2]) for s in filled})
    assert not any(lines(scene, wire) for wire in WIRE)


def test_two_on_a_chip_talk_over_no_cable():
    scene = draw([4, 5])
    assert len(lines(scene, "on chip")) == 1
    assert not lines(scene, "NeuronLink")


def test_a_row_of_four_chips_lights_its_ring_of_four_cables():
    scene = draw(list(range(8)))
    assert (len(cores(scene, COLOURS["orange"])), len(lines(scene, "on chip"))) == (7, 4)
    assert len(lines(scene, "NeuronLink")) == 3 + 2  # three cables, and two ends around the torus
    assert len(lines(draw(list(range(8)), closed=False), "NeuronLink")) == 3


def test_neighbours_in_a_group_that_are_far_apart_light_the_whole_way():
    scene = draw([0, 20], closed=False)  # chips 0 and 10: two hops each way
    assert len(fabric.route(TRN1, 0, 10)) == 4
    ends = sum(
        abs(int(TRN1.dst[i]) - int(TRN1.src[i])) in (3, 12) for i in fabric.route(TRN1, 0, 10)
    )
    assert len(lines(scene, "NeuronLink")) == 4 + ends


def test_all_cables_are_drawn():
    grey = [s for s in draw([0]).shapes if s[0] == "line" and s[5] == "muted"]
    around = sum(b - a in (3, 12) for a, b in wires_of(TRN1).tolist())
    assert len(grey) == len(wires_of(TRN1)) + around == 40


def test_groups_across_instances_talk_over_efa_and_the_strip_shows_all_of_them():
    scene = draw(list(range(5, 64 * 32, 128)), 64)  # in every fourth instance
    shown = [w for w in words(scene) if w.startswith("instance ")]
    assert shown == [f"instance {i}" for i in range(0, 32, 4)]
    assert len(lines(scene, "EFA")) == 8 + 1
    cells = [s for s in scene.shapes if s[0] == "rect" and s[3:5] == [9.0, 9.0]]
    assert len(cells) == 64
    assert sum(s[5] == COLOURS["orange"] for s in cells) == 16
    assert sum(s[7] for s in scene.shapes if s[0] == "rect" and s[3] == 11) == 8


def test_the_chosen_rank_is_drawn_even_if_its_instance_is_late():
    scene = draw_group(TRN1, 300, np.arange(0, 300 * 32, 32), 299 * 32)
    assert "instance 299" in words(scene)
    assert len(cores(scene, COLOURS["red"])) == 1


@for_rows("width", 400, 700, 890)
@for_rows("instances", 1, 8, 3125)
def test_the_picture_stays_on_its_page(width, instances):
    scene = draw(list(range(3, instances * 32, 8)), instances, width=width)
    boxes = [s for s in scene.shapes if s[0] == "rect"]
    assert min(b[1] for b in boxes) >= 0
    assert max(b[1] + b[3] for b in boxes) <= width
    assert max(b[2] + b[4] for b in boxes) <= scene.height < 620


def test_a_single_chip_and_a_ring_are_instances_too():
    for topology in (fabric.machine("trn1.2xlarge"), fabric.inf2_48xlarge()):
        scene = draw_group(topology, 2, np.arange(topology.ranks * 2), 0)
        assert len(cores(scene, COLOURS["orange"])) == 2 * topology.ranks - 1
