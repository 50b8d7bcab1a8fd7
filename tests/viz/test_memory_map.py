"""Judges: the artists of the figure against the placement's tiles."""

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

from tests.viz.programs import timed
from trainium_edu.timeline import Timeline
from trainium_edu.viz.core_film import film_of_timeline
from trainium_edu.viz.core_run import film_of_core
from trainium_edu.viz.memory_map import SITES, describe_memory_map, plot_memory_map


@pytest.fixture(scope="module")
def core():
    return timed()


@pytest.fixture(scope="module")
def fig(core):
    return plot_memory_map(film_of_core(core))


def test_each_tile_is_a_rectangle_of_its_address_and_life(core, fig):
    for ax, memory in zip(fig.axes, ("sbuf", "psum"), strict=True):
        (drawn,) = [c for c in ax.collections if isinstance(c, PolyCollection)]
        found = sorted(
            (p.vertices[:, 1].min(), p.vertices[:, 1].max(), p.vertices[:, 0].min())
            for p in drawn.get_paths()
        )
        wanted = sorted(
            (t.address, t.address + t.row_bytes, core.start_ns[t.first_row])
            for t in core.placement.tiles()
            if t.memory == memory
        )
        assert np.allclose(found, wanted)


def test_a_tile_lives_until_its_last_access_has_read_it(core, fig):
    ends = sorted(p.vertices[:, 0].max() for c in fig.axes[1].collections for p in c.get_paths())
    activations = [
        r for r in range(core.rows) if core.instruction(r).name == "activation"
    ]  # the last reader of each PSUM tile
    assert ends == sorted(core.release_ns[activations])


def test_high_water_and_capacity_are_lines(core, fig):
    sbuf, psum = fig.axes
    high = [line.get_ydata()[0] for line in sbuf.lines]
    assert high == [core.placement.high_water_bytes["sbuf"]]
    assert [line.get_ydata()[0] for line in psum.lines][-1] == 16 * 1024
    assert any("high water" in t.get_text() for t in sbuf.texts)


def test_psum_shows_its_eight_banks(fig):
    labels = [t.get_text() for t in fig.axes[1].get_yticklabels()]
    assert labels == [f"bank {k}" for k in range(8)]


def test_tiles_of_one_line_have_one_colour():
    film = film_of_core(timed(3))
    assert len(SITES) == len(set(SITES)) == 8
    assert film.tiles["allocation"].size


def test_the_description_names_both_memories(core):
    said = describe_memory_map(film_of_core(core))
    assert "SBUF: 13 tiles, high water 4.25 KiB of 192 KiB" in said
    assert "PSUM: 6 tiles, high water 4 KiB of 16 KiB" in said


def test_an_empty_run_is_drawn():
    assert plot_memory_map(film_of_timeline(Timeline())).axes
