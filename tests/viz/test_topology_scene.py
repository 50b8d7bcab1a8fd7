"""A topology in space.  Judges: the geometry of hypercube and Clifford torus, in closed form."""

import numpy as np

from tests.for_each import for_each
from trainium_edu import fabric
from trainium_edu.viz.topology import wires_of
from trainium_edu.viz.topology_scene import turn_layouts

TRN1 = fabric.trn1_32xlarge()
MACHINES = [TRN1, fabric.inf2_48xlarge(), fabric.machine("inf2.24xlarge")]
CASES = [(m, name) for m in MACHINES for name in turn_layouts(m)]


@for_each("machine, name", CASES)
def test_every_cable_begins_and_ends_at_its_chips_and_keeps_away_from_others(machine, name):
    layout, wires = turn_layouts(machine)[name], wires_of(machine)
    np.testing.assert_allclose(layout.cables[:, 0], layout.chips[wires[:, 0]], atol=1e-12)
    np.testing.assert_allclose(layout.cables[:, -1], layout.chips[wires[:, 1]], atol=1e-12)
    apart = np.linalg.norm(layout.cables[:, :, None] - layout.chips, axis=-1).min(axis=1)
    apart[np.arange(len(wires))[:, None], wires] = np.inf
    assert apart.min() > 0.115 * 2**0.5  # half a chip, as topology.js draws it, to its corner


@for_each("machine, name", CASES)
def test_at_first_no_chip_hides_another_and_no_cable_passes_behind_a_chip_not_its_own(
    machine, name
):
    """Judge: the projection of turning.js, written down once more with matrices."""
    layout, wires = turn_layouts(machine)[name], wires_of(machine)
    (yaw, pitch), turn = layout.view, np.eye(3)
    for i, j, angle in ((0, 2, yaw), (2, 1, pitch)):
        plane = np.eye(3)
        plane[[i, i, j, j], [i, j, i, j]] = [np.cos(angle), np.sin(angle),
                                             -np.sin(angle), np.cos(angle)]  # fmt: skip
        turn = plane @ turn

    def seen(points):
        places = points[..., :3] * 2.4 / (2.4 - points[..., 3:]) @ turn.T
        near = 6 / (6 - places[..., 2:])
        return places[..., :2] * near, 0.115 * near[..., 0] ** 1.4

    chips, half = seen(layout.chips)
    apart = abs(chips[:, None] - chips).max(axis=-1) - half - half[:, None]
    assert (apart + 9 * np.eye(len(chips))).min() > 0
    cables = seen(layout.cables)[0]
    t = np.linspace(0, 1, 4, endpoint=False)[:, None, None]
    dense = [a * (1 - t) + b * t for a, b in zip(cables[:, :-1], cables[:, 1:], strict=True)]
    gap = np.array(
        [(abs(d.reshape(-1, 1, 2) - chips).max(axis=-1) - half).min(axis=0) for d in dense]
    )
    gap[np.arange(len(wires))[:, None], wires] = np.inf
    assert gap.min() > -1e-3


def test_the_hypercubes_cables_are_its_edges():
    """Corners (±1, ±1, ±1, ±1) / √2, all different; an edge changes one sign."""
    corners = np.round(turn_layouts(TRN1)["hypercube"].chips * np.sqrt(2)).astype(int)
    assert (abs(corners) == 1).all()
    assert len({tuple(c) for c in corners.tolist()}) == 16
    a, b = wires_of(TRN1).T
    assert ((corners[a] != corners[b]).sum(axis=1) == 1).all()


def test_the_torus_is_the_hypercube_turned():
    """All distances between chips are the same, so one is the other turned, in four dimensions."""

    def gaps(name):
        chips = turn_layouts(TRN1)[name].chips
        return np.linalg.norm(chips[:, None] - chips, axis=-1)

    np.testing.assert_allclose(gaps("torus"), gaps("hypercube"), atol=1e-12)


def test_the_cables_of_the_torus_are_quarters_of_circles():
    cables = turn_layouts(TRN1)["torus"].cables
    for circle in (cables[..., :2], cables[..., 2:]):
        np.testing.assert_allclose(np.linalg.norm(circle, axis=-1), 1, atol=1e-12)
    long = np.linalg.norm(np.diff(cables, axis=1), axis=-1).sum(axis=1)
    np.testing.assert_allclose(long, np.pi / 2, rtol=2e-3)
