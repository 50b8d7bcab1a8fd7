"""Judges: the artists of the figure, and the film's numbers."""

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

from tests.viz.programs import timed
from trainium_edu.neuroncore import why
from trainium_edu.timeline import Span, Timeline
from trainium_edu.viz import style
from trainium_edu.viz.colours import ENGINE
from trainium_edu.viz.core_film import film_of_timeline
from trainium_edu.viz.core_run import film_of_core
from trainium_edu.viz.core_timeline import describe_core_timeline, plot_core_timeline, time_text


@pytest.fixture(scope="module")
def film():
    core = timed()
    return film_of_core(core, why=why(core))


def boxes(ax, colour):
    """Return (start, end) of all rectangles of a colour."""
    from matplotlib.colors import to_rgba

    found = []
    for artist in ax.collections:
        if not isinstance(artist, PolyCollection) or not len(artist.get_facecolor()):
            continue
        if np.allclose(artist.get_facecolor()[0][:3], to_rgba(colour)[:3]):
            found += [(p.vertices[0, 0], p.vertices[1, 0]) for p in artist.get_paths()]
    return found


def test_every_instruction_of_an_engine_is_a_rectangle_at_its_time(film):
    film_without_path = film.__class__(**{**film.__dict__, "pieces": {
        n: a[:0] for n, a in film.pieces.items()}})  # fmt: skip
    fig = plot_core_timeline(film_without_path)
    tensor = film.spans["track"] == 0
    drawn = sorted(boxes(fig.axes[0], ENGINE["tensor"]))
    assert drawn == sorted(zip(film.spans["start"][tensor], film.spans["end"][tensor], strict=True))


def test_lanes_are_named_in_the_usual_order(film):
    names = [t.get_text() for t in plot_core_timeline(film).axes[0].get_yticklabels()]
    assert names == ["Critical path", "Tensor", "Vector", "Scalar", "GpSimd", "DMA queues\nat work"]
    names = [t.get_text() for t in plot_core_timeline(film, queues=True).axes[0].get_yticklabels()]
    assert "queue 0" in names
    assert len(names) == 5 + 16


def test_the_critical_path_fills_the_whole_length(film):
    fig = plot_core_timeline(film)
    covered = 0.0
    for artist in fig.axes[0].collections:
        for path in artist.get_paths():
            x, y = path.vertices[:, 0], path.vertices[:, 1]
            if isinstance(artist, PolyCollection) and (y.min(), y.max()) == (0.0, 0.9):
                covered += x.max() - x.min()
    assert covered == pytest.approx(film.makespan_ns)


def test_memory_comes_below_on_the_same_time(film):
    fig = plot_core_timeline(film, memory=True, window=(1000, 9000))
    assert len(fig.axes) == 3
    assert all(ax.get_xlim() == (1000.0, 9000.0) for ax in fig.axes)


def test_an_impossible_window_is_refused(film):
    with pytest.raises(ValueError, match="from before to"):
        plot_core_timeline(film, window=(5, 5))
    with pytest.raises(ValueError, match="from before to"):
        plot_core_timeline(film, window=(0, float("nan")))


def test_a_plain_and_an_empty_timeline_are_drawn():
    spans = [Span("link 0→1", "chunk 0", 0, 500), Span("link 1→0", "chunk 1", 200, 900)]
    fig = plot_core_timeline(film_of_timeline(Timeline(spans)))
    assert [t.get_text() for t in fig.axes[0].get_yticklabels()] == ["link 0→1", "link 1→0"]
    assert style.to_png(plot_core_timeline(film_of_timeline(Timeline()))).startswith(b"\x89PNG")


def test_dark_and_light_are_drawn_and_differ(film):
    with style.theme(True):
        dark = style.to_png(plot_core_timeline(film, memory=True))
    assert dark != style.to_png(plot_core_timeline(film, memory=True))


def test_the_description_has_the_makespan_and_the_busy_shares(film):
    said = describe_core_timeline(film)
    assert time_text(film.makespan_ns) in said
    assert f"Vector Engine {film.busy_ns(1) / film.makespan_ns:.0%}" in said
    assert "Critical path" in said


@pytest.mark.parametrize(
    ("ns", "text"), [(0, "0 ns"), (999.4, "999.4 ns"), (1500, "1.5 µs"), (2.34e6, "2.34 ms")]
)
def test_times_have_a_unit(ns, text):
    assert time_text(ns) == text
