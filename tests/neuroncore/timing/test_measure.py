"""Judge: ``place`` and ``schedule`` by hand."""

from tests.for_each import raises
from tests.neuroncore import mamba
from trainium_edu.neuroncore import NeuronCore, measure, optimise, place, schedule
from trainium_edu.specs.errors import NkiValidationError


def test_measure_is_optimise_place_schedule():
    core, _ = mamba.record(2, tiles=1)
    done = optimise(core.program)
    by_hand = schedule(done, place(done, buffers=2))
    assert measure(core.program, buffers=2).makespan_ns == by_hand.makespan_ns
    plain = schedule(core.program, place(core.program, buffers=2))
    assert measure(core.program, buffers=2, optimise=False).makespan_ns == plain.makespan_ns
    assert measure(core.program, buffers=2, optimise=()).makespan_ns == plain.makespan_ns
    assert by_hand.makespan_ns < plain.makespan_ns


def zeros_around(kib):
    """Fill a large tile with zeros twice, with something else large in between."""
    core = NeuronCore(values=False)
    small = core.sbuf((128, 8), name="small")
    for _ in range(2):
        zeros = core.sbuf((128, 96 * 256), name="zeros")
        core.memset(dst=zeros, value=0.0)
        core.tensor_copy(dst=small, src=zeros.sliced(slice(None), slice(0, 8)))
        other = core.sbuf((128, kib * 256), name="other")
        core.dma_copy(dst=other, src=core.hbm((128, kib * 256)))
        core.tensor_copy(dst=small, src=other.sliced(slice(None), slice(0, 8)))
    return core.program


def test_results_are_kept_only_where_everything_alive_fits():
    fits = measure(zeros_around(64), buffers=1)
    assert fits.rows == 7  # the second memset is gone
    assert measure(zeros_around(128), buffers=1).rows == 8


def test_what_does_not_fit_either_way_says_so(timed):
    tiles = [timed.sbuf((128, 100 * 256), name="half") for _ in range(2)]
    for tile in tiles:
        timed.memset(dst=tile, value=0.0)
    timed.tensor_tensor(dst=tiles[0], data1=tiles[0], data2=tiles[1], op="add")
    raises(NkiValidationError, "204800 bytes of each SBUF partition", measure, timed.program)
