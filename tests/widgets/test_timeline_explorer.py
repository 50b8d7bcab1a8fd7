"""Judges: the timed program's own numbers and the packed bytes; no browser."""

import time

import numpy as np
import pytest

from tests.for_each import raises
from tests.viz.programs import gelu_linear, timed
from tests.viz.test_core_trace import unpack
from trainium_edu.neuroncore import NeuronCore, measure, place, schedule
from trainium_edu.widgets.retiming import Retiming
from trainium_edu.widgets.timeline_explorer import TimelineExplorer, timeline_explorer


@pytest.fixture(scope="module")
def core():
    return timed()


@pytest.fixture
def explorer(core):
    return timeline_explorer(core)


def test_the_page_gets_the_listing_once_and_a_trace_per_timing(explorer, core):
    header, arrays = unpack(explorer.film)
    assert header["makespan"] == header["baseline"] == core.makespan_ns
    assert np.array_equal(arrays["rows_start"], core.start_ns)
    book = explorer.book
    explorer.set(dma=2.0)
    assert explorer.book is book
    header, arrays = unpack(explorer.film)
    assert header["makespan"] == explorer.core.makespan_ns < core.makespan_ns
    assert np.array_equal(arrays["rows_start"], explorer.core.start_ns)


def test_names_in_the_book_are_those_of_the_program(explorer, core):
    book, arrays = unpack(explorer.book)
    assert [book["names"][k] for k in arrays["i_name"]] == [
        i.name for i in core.program.instructions
    ]


def test_sliders_time_as_place_and_schedule_do(explorer, core):
    explorer.set(buffers=1)
    assert (
        explorer.makespan_ns == schedule(core.program, place(core.program, buffers=1)).makespan_ns
    )
    explorer.set(buffers=2, no_dma=True)
    assert explorer.makespan_ns == schedule(core.program, core.placement, without="dma").makespan_ns
    explorer.knobs = dict(explorer.first)
    assert explorer.core is core


def test_the_answer_carries_the_number_of_the_question(explorer):
    explorer.knobs = {**explorer.knobs, "dma": 4.0, "ask": 17}
    assert unpack(explorer.film)[0]["ask"] == 17


def test_the_same_settings_answer_again():
    explorer = timeline_explorer(timed())
    films = []
    explorer.observe(lambda change: films.append(change["new"]), "film")
    explorer.knobs = {**explorer.knobs, "ask": 1}
    explorer.knobs = {**explorer.knobs, "ask": 2}
    assert [unpack(f)[0]["ask"] for f in films] == [1, 2]


@pytest.mark.parametrize(
    ("knobs", "said"),
    [
        ({"dma": 8.0}, "a factor from 0.25 to 4"), ({"clock": 0.0}, "from 0.5 to 2"),
        ({"clock": float("nan")}, "from 0.5 to 2"), ({"buffers": 9}, "1 to 8"),
        ({"buffers": True}, "1 to 8"), ({"buffers": -1}, "1 to 8"), ({"dma": "fast"}, "0.25 to 4"),
        ({"no_dma": 1}, "True or False"), ({"speed": 2}, "no slider 'speed'"),
    ],
)  # fmt: skip
def test_impossible_settings_are_refused_in_a_sentence(explorer, knobs, said):
    before = explorer.makespan_ns
    raises(ValueError, said, explorer.set, **knobs)
    assert explorer.makespan_ns == before


def test_nonsense_from_the_page_counts_as_recorded(explorer, core):
    explorer.knobs = {"dma": "x", "buffers": [3], "clock": None, "ask": 5}
    assert explorer.core is core
    assert unpack(explorer.film)[0]["ask"] == 5


def test_a_plan_that_does_not_fit_is_refused_and_the_old_timing_stays(monkeypatch):
    core = NeuronCore(values=False, name="wide")
    x = core.hbm((128, 4 * 24000), name="x")
    for i in range(4):
        part = (slice(0, 128), slice(24000 * i, 24000 * (i + 1)))
        tile = core.sbuf((128, 24000), name="tile", address=0)
        core.dma_copy(dst=tile, src=x.sliced(*part))
        core.tensor_scalar(dst=tile, data=tile, op0="add", operand0=1.0)
    shown = timeline_explorer(measure(core.program))
    before = shown.makespan_ns

    def too_big(*_args, **_options):
        from trainium_edu.specs.errors import NkiValidationError

        raise NkiValidationError("SBUF is full\nwith a table")

    monkeypatch.setattr(Retiming, "time", too_big)
    shown.set(buffers=3)
    header, _ = unpack(shown.film)
    assert header["refused"] == "SBUF is full"
    assert shown.makespan_ns == before


def test_a_slider_on_two_thousand_instructions_answers_within_a_blink():
    shown = timeline_explorer(measure(gelu_linear(400), buffers=2))
    shown.set(buffers=1)  # compiled and placed once
    spent = []
    for dma in (0.5, 2.0, 4.0):
        begin = time.process_time()
        shown.set(dma=dma, buffers=3)
        spent.append(time.process_time() - begin)
    assert len(shown.core.program) > 1990
    assert min(spent) < 0.25  # about 0.03 s on a quiet laptop; never seconds


def test_the_repr_is_fixed_and_has_the_makespan(explorer):
    assert repr(explorer) == "TimelineExplorer('gelu_linear', 31 instructions, 11.9 µs)"


def test_an_empty_program_is_shown():
    shown = timeline_explorer(NeuronCore(values=False, name="nothing").program)
    assert repr(shown) == "TimelineExplorer('nothing', 0 instructions, 0 ns)"
    assert unpack(shown.film)[0]["makespan"] == 0


def test_a_run_that_no_page_can_hold_is_refused():
    core = NeuronCore(values=False)
    tile = core.sbuf((128, 8))
    with core.repeat(300_000):
        core.tensor_scalar(dst=tile, data=tile, op0="add", operand0=1.0)
    raises(ValueError, "300000 instructions", timeline_explorer, core.program)


def test_the_module_is_one_and_keeps_shortcuts_away_and_motion_down():
    module, styles = str(TimelineExplorer._esm), str(TimelineExplorer._css)
    assert module.count("export default") == 1
    assert module.count("data-lm-suppress-shortcuts") >= 1
    assert "http" not in module.replace("http://www.w3.org", "")
    assert "setInterval" not in module  # nothing moves by itself
    assert "--jp-" in styles


def test_the_page_gets_every_tile_where_place_put_it(core, explorer):
    header, arrays = unpack(explorer.film)
    placed = [(t.address, t.row_bytes, t.allocation) for t in core.placement.tiles()]
    found = np.stack([arrays[f"tiles_{n}"] for n in ("address", "bytes", "allocation")], axis=1)
    assert [tuple(row) for row in found.tolist()] == placed
    assert [m["high"] for m in header["memories"]] == [4352, 4096]
    assert len(header["sites"]) == 4
