"""Judges: the frames' own numbers; no browser."""

import numpy as np

from tests.for_each import raises
from trainium_edu import fabric
from trainium_edu.widgets.collective_player import CollectivePlayer, collective_explorer

PNG = b"\x89PNG"
RING = fabric.ring(4)


def player(**options):
    return CollectivePlayer(
        fabric.plan(RING, "all_reduce", "ring", cycles=1), RING, 4096, **options
    )


def test_the_frames_are_one_bytes_trait_that_the_page_reads():
    p = player()
    assert p.film == p.frames.to_bytes()
    synced = set(p.traits(sync=True)) - {n for n in p.traits(sync=True) if n.startswith("_")}
    assert {"film", "layout_name", "step", "picked"} <= synced


def test_the_modules_are_joined_and_only_the_last_exports():
    assert p_esm().count("export default") == 1
    assert '$modules["shared/playback.js"] = (' in p_esm()
    assert "data-lm-suppress-shortcuts" in p_esm()
    assert "prefers-reduced-motion" in p_esm()


def p_esm():
    return str(CollectivePlayer._esm)


def test_the_repr_is_fixed():
    expected = "CollectivePlayer('all-reduce by ring on ring of 4: 4 ranks, 4 KiB', 6 steps)"
    assert repr(player()) == expected


def test_another_schedule_starts_at_the_beginning_and_keeps_the_drawing_if_it_can():
    p = CollectivePlayer(
        fabric.plan(fabric.torus(4, 4), "all_gather", "ring"), fabric.torus(4, 4), 4096,
        layout="hypercube",
    )  # fmt: skip
    p.step = 2
    trn1 = fabric.trn1_32xlarge()
    p.play(fabric.plan(trn1, "all_reduce", "rdh"), trn1, 2**20)
    assert (p.step, p.layout_name, p.frames.schedule.ranks) == (0, "hypercube", 32)
    p.play(fabric.plan(RING, "all_gather", "mesh"), RING, 2**20)
    assert p.layout_name == "hypercube"  # a ring of four is a square
    inf2 = fabric.inf2_48xlarge()
    p.play(fabric.plan(inf2, "all_gather", "mesh"), inf2, 2**20)
    assert p.layout_name == "ring"


def test_bad_input_is_one_sentence():
    raises(fabric.FabricError, "not a way to draw", player, layout="torus")
    broken = fabric.Schedule.from_moves("reduce_scatter", 4, [(0, 0, 1, 1, "add")])
    raises(fabric.FabricError, "misses", CollectivePlayer, broken, RING, 4096)


def test_the_explorer_offers_only_what_the_machine_can_do():
    panel = collective_explorer()
    panel.menus["machine"].value = "Inf2.48 (12 chips, 24 ranks)"
    assert "rdh" not in panel.menus["algorithm"].options
    assert panel.player.frames.schedule.ranks == 24
    panel.menus["machine"].value = "2 × Trn1 (64 ranks)"
    panel.menus["algorithm"].value = "hierarchical"
    assert "hierarchical" in panel.player.frames.title
    panel.menus["collective"].value = "reduce_scatter"
    assert "reduce-scatter" in panel.player.frames.title


def test_every_choice_of_the_explorer_plays():
    panel = collective_explorer()
    for machine in panel.menus["machine"].options:
        panel.menus["machine"].value = machine
        for algorithm in panel.menus["algorithm"].options:
            panel.menus["algorithm"].value = algorithm
            reel = panel.player.frames
            assert (reel.arrays["have"][-1] == reel.full).all()
            assert np.isfinite(reel.arrays["step_ns"]).all()
    assert repr(panel) == "Panel('collective explorer')"
