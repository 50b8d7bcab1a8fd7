"""Judges: the critical path's own pieces, line by line; no browser."""

import pytest

from tests.for_each import raises
from tests.viz.programs import timed
from tests.viz.test_core_trace import unpack
from trainium_edu.neuroncore import why
from trainium_edu.timeline import Timeline
from trainium_edu.widgets.kernel_view import kernel_view


def test_the_page_can_add_up_each_lines_time_on_the_critical_path():
    core = timed()
    shown = kernel_view(core)
    book, lines = unpack(shown.book)
    _, film = unpack(shown.film)
    spent = {}
    for start, end, row in zip(
        film["pieces_start"], film["pieces_end"], film["pieces_row"], strict=True
    ):
        line = book["lines"][lines["i_line"][film["rows_instruction"][row]]]["line"]
        spent[line] = spent.get(line, 0.0) + end - start
    assert spent == pytest.approx(why(core).ns_by(lambda p: p.instruction.line.line))
    assert sum(spent.values()) == pytest.approx(core.makespan_ns)


def test_source_time_and_memory_stand_together():
    shown = kernel_view(timed(2))
    assert shown.panels == ["source", "timeline", "memory"]
    assert kernel_view(timed(2), memory=False).panels == ["source", "timeline"]
    assert repr(shown).startswith("KernelView('gelu_linear', 11 instructions, ")


def test_every_source_line_that_recorded_something_is_in_the_book():
    book, arrays = unpack(kernel_view(timed(2)).book)
    listed = {k for part in book["sources"] for k in part["lines"] if k >= 0}
    assert set(arrays["i_line"].tolist()) <= listed


def test_a_plain_timeline_has_no_source():
    raises(TypeError, "no timeline of a NeuronCore", kernel_view, Timeline())
