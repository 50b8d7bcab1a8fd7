"""Judge: the values of the first run, and the limits of the chip replayed on."""

import numpy as np

from tests.for_each import raises
from tests.neuroncore import mamba
from trainium_edu.exercises.replay import replay
from trainium_edu.neuroncore import NeuronCore
from trainium_edu.neuroncore.recording.indirect import IndirectView
from trainium_edu.specs import INF2


def recorded(core):
    return [(i.name, i.engine, i.work, i.options, i.loops, i.after, i.accesses, i.is_free, i.line)
            for i in core.program.instructions]  # fmt: skip


def test_replay_records_the_same_program_on_another_chip():
    core, _ = mamba.record(3, tiles=1, length=1024)
    with core.repeat(3):
        core.memset(dst=core.sbuf((64, 4), address=64, start_partition=64), value=1.0)
        with core.repeat(2):
            core.memset(dst=core.psum((64, 4)), value=1.0)
    core.program.instructions[-1].after = (0, 2)
    again = NeuronCore(INF2, values=False)
    replay(core.program, again)
    assert (recorded(again), again.program.loops) == (recorded(core), core.program.loops)


def test_replay_refuses_where_data_decided():

    core = NeuronCore()
    rows = core.hbm(np.arange(32, dtype=np.float32).reshape(16, 2))
    index = core.hbm(np.array([[3], [1]], np.int32))
    which = core.sbuf((2, 1), "int32")
    core.dma_copy(dst=which, src=index)
    core.dma_copy(dst=core.sbuf((2, 2)), src=IndirectView.of(rows, which, is_vector=True))
    raises(ValueError, "where data decided", replay, core.program, NeuronCore())
