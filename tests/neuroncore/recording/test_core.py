"""Judges: the architecture guide's limits and NumPy; what is recorded is counted by hand."""

import numpy as np
import pytest

from tests.for_each import for_each, for_rows, raises
from tests.texts import table_beside
from trainium_edu.neuroncore import NeuronCore
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.instruction_set import INSTRUCTIONS, define
from trainium_edu.specs import INF2, INSTANCES, NkiValidationError


@pytest.fixture(scope="module", autouse=True)
def twice():
    """A little instruction of the tests' own: dst = 2 * src."""

    def execute(call):
        call.dst.write_fp32(2 * call.src.read_fp32(), call.core.rounding)

    yield define(
        "twice", (Engine.VECTOR, Engine.GPSIMD), reads=("src",), check=lambda call: None,
        execute=execute, work=lambda call: (call.dst.free_size,),
        cycles=lambda chip, engine, n: float(n),
    )  # fmt: skip
    del INSTRUCTIONS["twice"]


def test_an_instruction_computes_and_is_recorded_with_its_line(core):
    tile = core.sbuf((128, 4), "bfloat16", name="tile")
    tile.write_bits(np.ones((128, 4)).astype(tile.dtype.storage))
    core.twice(dst=tile, src=tile, name="doubled")
    (found,) = core.program.instructions
    assert (found.name, found.engine, found.label, found.work) == (
        "twice", Engine.VECTOR, "doubled", (4,),
    )  # fmt: skip
    assert [(a.role, a.is_write, a.end_row, a.end_byte) for a in found.accesses] == [
        ("src", False, 128, 8),
        ("dst", True, 128, 8),
    ]
    assert found.line.file == __file__
    this = test_an_instruction_computes_and_is_recorded_with_its_line.__name__
    assert found.line.function == this
    assert (core.value(tile) == 2).all()


def test_the_program_keeps_no_values(core):
    for _ in range(3):
        tile = core.sbuf((128, 4))
        core.twice(dst=tile, src=tile)
    assert len(core.program.allocations) == 3
    assert not any(hasattr(a, "base") for a in core.program.allocations)
    assert len({a.site for a in core.program.allocations}) == 1  # one allocation site


def test_a_function_that_allocates_is_a_site_for_each_line_that_calls_it(timed):
    """Judge: the same tiles written out, which is what inlining gives."""

    def tile():
        return timed.sbuf((128, 4))

    for _ in range(3):
        tile()
        tile()
        [tile() for _ in range(2)]
    sites = [a.site for a in timed.program.allocations]
    assert len(set(sites)) == 3
    assert sites[:4] == sites[4:8] == sites[8:]


def test_without_values_only_shapes_are_recorded(timed):
    tile = timed.sbuf((128, 4))
    timed.twice(dst=tile, src=tile)
    assert len(timed.program) == 1
    raises(ValueError, "values=False", timed.value, tile)


def test_a_loop_body_is_recorded_once_with_its_count(core):
    tile = core.sbuf((128, 4))
    with core.repeat(10):
        core.twice(dst=tile, src=tile)
        with core.repeat(3):
            core.twice(dst=tile, src=tile)
    assert [(loop.start, loop.end, loop.count) for loop in core.program.loops] == [
        (0, 2, 10),
        (1, 2, 3),
    ]
    assert [i.loops for i in core.program.instructions] == [(0,), (0, 1)]
    with pytest.raises(ValueError, match="at least 1"), core.repeat(0):
        pass


def test_reading_what_was_never_written_is_noted(core):
    core.twice(dst=core.sbuf((4, 4)), src=core.sbuf((4, 4), name="empty"))
    (note,) = core.notes
    assert (note[:3], note[3].name) == (("uninitialised", 0, "src"), "empty")


def test_hbm_arrays_are_used_in_place(core):
    data = np.zeros((4, 4), np.float32)
    core.hbm(data).write_bits(np.float32(3))
    assert (data == 3).all()


@for_rows("spec", INF2)
def test_inferentia2_has_the_same_core(spec):
    assert NeuronCore(spec).sbuf_memory.bytes_per_partition == 192 * 1024


@for_rows("spec", None, "trn1", INSTANCES)
def test_what_is_no_neuroncore_raises(spec):
    raises(ValueError, "has no NeuronCore; take specs", NeuronCore, spec)


@for_each("call, error, words", table_beside(__file__, "refused.toml")["calls"])
def test_limits_raise_with_what_limit_and_remedy(call, error, words):
    core, errors = NeuronCore(), {"NkiValidationError": NkiValidationError}
    names = {"c": core, "t": core.sbuf((4, 6)), "np": np, "Engine": Engine}
    raises(eval(error, errors), words, eval, call, names)
