"""Judge: the program's accesses, walked one by one."""

from tests.for_each import for_rows
from tests.viz.programs import timed
from trainium_edu.neuroncore import Memory, NeuronCore, measure
from trainium_edu.neuroncore.timing.lifetimes import lifetimes


@for_rows("buffers", 1, 2, 4)
def test_a_tile_lives_from_its_first_access_to_the_end_of_its_last(buffers):
    core = timed(5, buffers=buffers)
    lives = {}
    for row in range(core.rows):
        for access in core.instruction(row).accesses:
            begin = lives.get(access.allocation, (core.start_ns[row],))[0]
            end = core.done_ns[row] if access.is_write else core.release_ns[row]
            before = lives.get(access.allocation, (0, 0, -1))
            if before[-1] == row:  # read and written by the same instruction
                end = max(end, before[1])
            lives[access.allocation] = (begin, end, row)
    which, start, end = lifetimes(core)
    rows = zip(which, start, end, strict=True)
    found = {int(core.placement.run.allocation[i]): (s, e) for i, s, e in rows}
    on_chip = {
        k: v[:2] for k, v in lives.items() if core.program.allocations[k].memory is not Memory.HBM
    }
    assert found == on_chip


def test_an_empty_program_has_no_lives():
    assert [a.size for a in lifetimes(measure(NeuronCore(values=False).program))] == [0, 0, 0]
