"""The judge of values: ``xla``'s own executor runs each graph on the data that came in.

PyTorch computed every value when it was recorded; the graph, made by the rows of ``operations``
and run by ``trainium_edu.xla.executor``, has to give the same.  So has the chip's memory: data that
come onto a tape are what graphs left there before, unless the host has written them.
"""

from contextlib import contextmanager
from weakref import WeakKeyDictionary

import numpy as np

from trainium_edu.torch import core as cores
from trainium_edu.torch import tensor as tensors
from trainium_edu.torch.device import register
from trainium_edu.torch.tape import Storage, Tape
from trainium_edu.torch.translate import translate
from trainium_edu.xla.executor import Plan, Setting, as_held


@contextmanager
def core_of_a_test(**options):
    """Give a core of its own, and the one before back."""
    register()
    core = cores.Core(**options)
    before = cores.make_current(core)
    try:
        yield core
    finally:
        cores.make_current(before)


class Replay:
    """What the executor gave, beside what PyTorch gave."""

    def __init__(self, core, setting=None):
        self.core, self.setting, self.came_in, self.compared = core, setting, {}, 0
        self.pairs, self.graphs = [], []
        self.memory = WeakKeyDictionary()  # cell or storage -> what the chip holds

    def leaf(self, core, tape, cell):
        """Keep a copy of data as they come onto the tape."""
        before = len(tape.path)
        slot = _leaf(core, tape, cell)
        for place in tape.path[before:]:
            if place.call is None:
                value = self.came_in[tape.number, place.first] = _whole(cell).clone()
                there = self._there(cell)
                if there is not None:
                    self.pairs.append((_numpy(value), there.reshape(value.shape)))
                for key in (cell.storage, *_firsts(cell.storage or cell)):
                    if key is not None:
                        self.memory[key] = _numpy(value)
        return slot

    def _there(self, cell):
        keys = [cell] if cell.storage is None else [cell.storage, *_firsts(cell.storage)]
        found = (self.memory.get(key) for key in keys)
        return next((value for value in found if value is not None), None)

    def leave(self, tape, cell):
        """Forget what the host has written."""
        _leave(tape, cell)
        for key in (cell, cell.storage, *_firsts(cell.storage or cell)):
            if key is not None:
                self.memory.pop(key, None)

    def execute(self, tape, live, kind, operation=""):
        """Run a graph by the executor, and keep its results beside PyTorch's."""
        found = translate(tape.path, live, tape.fed, self.core.recorder)  # with this step's numbers
        self.graphs.append(found.graph)
        feeds = []
        for source, leaf in zip(found.sources, found.graph.parameters, strict=True):
            value = self.came_in[tape.number, source] if isinstance(source, int) else source
            feeds.append(as_held(_numpy(value).reshape(leaf.type.shape), leaf.type))
        setting = self.setting or Setting()
        results = Plan(self.graph_of(found.graph)).run(feeds, setting)
        for slot, number in found.outputs:
            weak = tape.made[slot]
            cell = None if weak is None else weak()
            if cell is None:
                storage = next(s for s in tape.writes if s.slot == slot)
                value, holder = _whole(storage.cells()[0]), storage
            else:
                value, holder = cell.value, cell.storage or cell
            if kind == "step" and (cell is None or not cell.way):
                self.memory[holder] = results[number]
                for one in _firsts(holder):
                    self.memory[one] = results[number]
            self.pairs.append((_numpy(value).copy(), results[number].reshape(value.shape)))
            self.compared += 1

    def graph_of(self, graph):
        """Return the graph that runs: as it was recorded."""
        return graph

    def assert_equal(self):
        """Every number is the same."""
        for ours, theirs in self.pairs:
            np.testing.assert_array_equal(ours, theirs)

    def assert_close(self, rtol, atol=0.0):
        """Every number is the same but for rounding."""
        for ours, theirs in self.pairs:
            np.testing.assert_allclose(ours, theirs, rtol, atol * max(1.0, np.abs(theirs).max()))


_leaf, _leave = tensors.leaf, Tape.leave


def _whole(cell):
    """Return the value of the first of the tensors that share data."""
    if cell.storage is None:
        return cell.value
    shape, strides, _ = cell.storage.meta
    return cell.value.as_strided(shape, strides, 0)


def _firsts(holder):
    """Return the tensors that hold all of the data."""
    cells = holder.cells() if isinstance(holder, Storage) else [holder]
    return [cell for cell in cells if not cell.way]


def _numpy(value):
    if isinstance(value, np.ndarray):
        return value
    return value.float().numpy() if value.is_floating_point() else value.numpy()


@contextmanager
def replayed(core, setting=None):
    """Judge all graphs that run inside."""
    replay = Replay(core, setting)
    tensors.leaf, core._execute = replay.leaf, replay.execute
    Tape.leave = lambda tape, cell: replay.leave(tape, cell)
    try:
        yield replay
    finally:
        tensors.leaf, Tape.leave = _leaf, _leave
        del core._execute
