"""Judges: networkx's distances, and the published neighbours of a torus; no browser."""

import networkx as nx
import pytest

from trainium_edu import fabric
from trainium_edu.widgets.topology import cycles_picture, topology_explorer, topology_picture


def test_the_text_tells_shortest_distances():
    panel = topology_explorer()
    graph = fabric.trn1_32xlarge().to_networkx()
    for a, b in ((0, 10), (3, 0), (15, 12), (5, 5)):
        panel.controls["from"].value, panel.controls["to"].value = a, b
        hops = nx.shortest_path_length(graph, a, b)
        assert f"{hops} hop" in panel.told.value
        assert f"differ in {hops} bit" in panel.told.value


def test_cutting_a_cable_makes_a_detour():
    panel = topology_explorer(start=0, end=1)
    assert "1 hop." in panel.told.value
    panel.controls["cut"].value = "0 - 1"
    assert "3 hops." in panel.told.value
    assert "without 0-1" in panel.children[-2].alt


def test_another_machine_has_its_own_drawings_and_chips():
    panel = topology_explorer(start=15, end=14)
    panel.controls["drawn as"].value = "hypercube"
    panel.controls["machine"].value = "inf2.24xlarge: 6 chips"
    assert panel.controls["from"].value == 5
    assert [v for _, v in panel.controls["drawn as"].options] == ["ring"]
    assert panel.controls["cut"].value == "none"


def test_controls_have_visible_names():
    panel = topology_explorer()
    assert all(c.description for c in panel.controls.values())
    assert repr(panel) == "Panel('topology explorer')"


def test_pictures_tell_their_numbers():
    assert "32 cables, path 0 → 1" in topology_picture(fabric.trn1_32xlarge(), path=[0, 1]).alt
    assert "16 cables (solid), 16 cables (dashed)" in cycles_picture(fabric.torus(4, 4)).alt


@pytest.mark.parametrize("cut", ["0 - 1", "0 - 12"])
def test_a_cut_can_be_asked_for_at_once(cut):
    panel = topology_explorer(cut=cut)
    assert panel.controls["cut"].value == cut
