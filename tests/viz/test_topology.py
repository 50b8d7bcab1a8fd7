"""Judges: networkx for what is a neighbour and what is shortest."""

from collections import Counter

import networkx as nx
import numpy as np
import pytest

from tests.for_each import for_each, for_rows, raises
from trainium_edu import fabric
from trainium_edu.viz.colours import COLOURS
from trainium_edu.viz.topology import draw_topology, layouts, links_of, missing_wires, wires_of

MACHINES = [
    fabric.trn1_32xlarge(), fabric.inf2_48xlarge(), fabric.ring(4), fabric.torus(3, 5),
    fabric.hypercube(3), fabric.grid(2, 4), fabric.machine("inf2.xlarge"), fabric.ultracluster(32),
]  # fmt: skip


@for_each("topology", MACHINES, ids=lambda t: t.name)
def test_wires_are_the_edges_of_the_undirected_graph(topology):
    edges = {tuple(sorted(e)) for e in topology.to_networkx().to_undirected().edges}
    assert {tuple(w) for w in wires_of(topology).tolist()} == edges


@for_each("topology", MACHINES, ids=lambda t: t.name)
def test_layouts_stay_in_the_unit_square_and_keep_chips_apart(topology):
    for layout in layouts(topology).values():
        assert layout.xy.shape == (topology.chips + topology.switches, 2)
        assert layout.bend.shape == (len(wires_of(topology)), 2)
        assert (layout.xy >= 0).all()
        assert (layout.xy <= 1).all()
        gap = np.abs(layout.xy[:, None] - layout.xy[None]).max(axis=2) + 9 * np.eye(len(layout.xy))
        assert gap.min() > 0.6 * layout.room


@for_each("topology", [m for m in MACHINES if not m.switches], ids=lambda t: t.name)
def test_no_cable_is_drawn_through_a_chip_that_is_not_at_its_end(topology):
    """Judge: the parabola that page and figure draw, point by point, beside each chip's box."""
    wires, t = wires_of(topology), np.linspace(0, 1, 101)[:, None]
    for name, layout in layouts(topology).items():
        xy, bend = layout.xy * [1, 0.86], layout.bend * [1, 0.86]
        for (a, b), middle in zip(wires.tolist(), bend, strict=True):
            curve = (1 - t) * xy[a] + t * xy[b] + 4 * t * (1 - t) * middle
            away = np.abs(curve[:, None] - xy).max(axis=2).min(axis=0) - layout.room / 2
            away[[a, b]] = np.inf
            assert away.min() > 0.002, (name, a, b, away.argmin())


def test_trn1_has_four_drawings_and_a_ring_of_twelve_one():
    assert list(layouts(fabric.trn1_32xlarge())) == ["torus", "hypercube", "ring", "ring2"]
    assert list(layouts(fabric.inf2_48xlarge())) == ["ring"]
    assert list(layouts(fabric.ring(4))) == ["ring", "hypercube"]  # a square is both
    assert "hypercube" not in layouts(fabric.ring(8))  # eight in a ring are no cube


def test_ring_layouts_walk_along_cables():
    topology = fabric.trn1_32xlarge()
    graph = topology.to_networkx().to_undirected()
    for name in ("ring", "ring2"):
        layout = layouts(topology)[name]
        order = sorted(range(16), key=lambda c: int(layout.notes[c][1:]))
        assert all(graph.has_edge(a, b) for a, b in zip(order, order[1:] + order[:1], strict=True))


def test_hypercube_layout_draws_edges_of_one_bit_as_parallel_lines():
    topology = fabric.trn1_32xlarge()
    layout = layouts(topology)["hypercube"]
    outer = [k for k, n in enumerate(layout.notes) if n[0] == "0"]
    for a, b in wires_of(topology).tolist():
        assert sum(p != q for p, q in zip(layout.notes[a], layout.notes[b], strict=True)) == 1
        if a in outer and b in outer and layout.notes[a][1:3] == layout.notes[b][1:3]:
            assert layout.xy[a][1] == pytest.approx(layout.xy[b][1])  # bit 0 lies flat


def test_a_cut_cable_is_drawn_as_missing():
    broken = fabric.without_link(fabric.trn1_32xlarge(), 0, 1)
    assert missing_wires(broken).tolist() == [[0, 1]]
    drawn = draw_topology(broken, path=[0, 4, 5, 1]).shapes
    looks = Counter((shape[3], bool(shape[5])) for shape in drawn if shape[0] == "path")
    red = COLOURS["red"]
    assert looks == {(red, True): 1, ("grid", False): 28, (red, False): 3}
    assert "missing cable 0 - 1" in [shape[-1] for shape in drawn]
    assert sum(shape[0] == "rect" and shape[-1] for shape in drawn) == 16


@for_rows("width", 320.0, 890.0)
@for_rows("layout", "torus", "hypercube", "ring", "ring2")
def test_a_cable_leads_from_chip_to_chip_within_the_picture(layout, width):
    scene = draw_topology(fabric.trn1_32xlarge(), layout=layout, width=width)
    chips = {shape[3]: shape[1] for shape in scene.shapes if shape[0] == "text" and shape[-1]}
    for kind, xs, ys, *_, words in (shape for shape in scene.shapes if shape[0] == "path"):
        assert kind == "path"
        ends = words.removeprefix("cable ").split(" - ")
        assert [xs[0], xs[-1]] == pytest.approx([chips[end] for end in ends], abs=0.1)
        assert min(*xs, *ys) >= 0
        assert (max(xs) <= width, max(ys) <= scene.height) == (True, True)
    assert min(shape[6] for shape in scene.shapes if shape[0] == "text") >= 11


def test_the_busiest_cable_is_the_widest_and_orange():
    topology = fabric.trn1_32xlarge()
    loads = np.ones(topology.links)
    loads[links_of(topology, wires_of(topology))[:, 2].tolist().index(5)] = 2  # one of its two
    drawn = [shape for shape in draw_topology(topology, loads=loads).shapes if shape[0] == "path"]
    widest = max(drawn, key=lambda shape: shape[4])
    assert widest[-1] == "cable {} - {}".format(*wires_of(topology)[5])
    assert widest[3] == COLOURS["orange"]
    assert widest[4] == pytest.approx(4 * min(shape[4] for shape in drawn), rel=0.05)


def test_the_path_is_a_shortest_one():
    topology = fabric.trn1_32xlarge()
    graph = topology.to_networkx()
    for b in range(16):
        assert len(fabric.route(topology, 0, b)) == nx.shortest_path_length(graph, 0, b)


def test_names_of_layouts_and_sizes_are_checked():
    raises(fabric.FabricError, "it has ring", draw_topology, fabric.inf2_48xlarge(), layout="torus")
    raises(fabric.FabricError, "too many to draw", draw_topology, fabric.ring(65))


def test_the_title_and_the_numbers_of_chips_are_on_the_picture():
    scene = draw_topology(fabric.trn1_32xlarge(), layout="hypercube")
    said = {shape[3] for shape in scene.shapes if shape[0] == "text"}
    assert {"0", "15", "1111", "trn1.32xlarge, drawn as hypercube"} <= said
