"""Several programs of one kernel: the cores of a grid, the ranks of a collective.

Each has a thread of its own, but only one runs at a time, and they hand over in a fixed order and
only where they wait for each other, so every launch gives the same result.
"""

import threading

from trainium_edu.nki.running import Running
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["Launch"]


class _Abandoned(BaseException):
    """Another program failed; this one stops quietly."""


class Launch:
    """Programs that run one after another and meet.

    Parameters
    ----------
    runnings : list of Running
    """

    def __init__(self, runnings: list[Running]):
        self.runnings = runnings
        for running in runnings:
            running.launch = self if len(runnings) > 1 else None
        self._baton = threading.Condition()
        self._turn = 0
        self._waiting = {}  #: program -> what it waits for
        self._done = set()
        self._failure = None
        self._meetings = {}  #: (key, occurrence) -> {program: value}
        self._visits = {}  #: (program, key) -> how many meetings it had
        self._shared = {}  #: (line, occurrence, shape, dtype) -> SharedBytes
        self._allocated = {}  #: (program, line, shape, dtype) -> how many

    def run(self, body) -> list:
        """Call ``body(running)`` in every program and return what each returned."""
        if len(self.runnings) == 1:
            with self.runnings[0] as running:
                return [body(running)]
        results = [None] * len(self.runnings)
        threads = [
            threading.Thread(
                target=self._program, args=(k, body, results), name=f"program {k}", daemon=True
            )
            for k in range(len(self.runnings))
        ]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.2)
        except BaseException as problem:  # Ctrl-C in the main thread stops the programs
            self._fail(problem)
            raise
        if self._failure is not None:
            raise self._failure
        return results

    def _program(self, index, body, results):
        try:
            with self._baton:
                self._wait_for_turn(index)
            with self.runnings[index] as running:
                results[index] = body(running)
        except _Abandoned:
            return
        except BaseException as problem:
            self._fail(problem)
            return
        with self._baton:
            self._done.add(index)
            self._hand_over(index)

    def _fail(self, problem):
        with self._baton:
            if self._failure is None:
                self._failure = problem
            for running in self.runnings:
                running.limit = -1  # who still computes stops at the next instruction or turn
            self._baton.notify_all()

    def check(self) -> None:
        """Stop this program if another one failed."""
        if self._failure is not None:
            raise _Abandoned

    def _wait_for_turn(self, index):
        while self._turn != index or index in self._waiting:
            self.check()
            self._baton.wait()
        self.check()

    def _hand_over(self, index):
        """Give the turn to the next program that can run; raise if none can."""
        count = len(self.runnings)
        for step in range(1, count + 1):
            other = (index + step) % count
            if other not in self._done and other not in self._waiting:
                self._turn = other
                self._baton.notify_all()
                return
        if self._waiting:
            self._failure = NkiValidationError(self._deadlock())
            self._baton.notify_all()

    def _deadlock(self):
        waits = ", ".join(f"program {k} at {key}" for k, (key, _) in sorted(self._waiting.items()))
        ended = ", ".join(map(str, sorted(self._done))) or "none"
        return (
            f"the programs wait for each other for ever: {waits} (ended: {ended}); every program "
            "that takes part has to reach the same barrier, sendrecv or collective"
        )

    def meet(self, index, key, value, members=None) -> dict:
        """See ``Running.meet``."""
        members = frozenset(range(len(self.runnings)) if members is None else members)
        with self._baton:
            self.check()
            visit = self._visits.get((index, key), 0)
            self._visits[index, key] = visit + 1
            meeting = self._meetings.setdefault((key, visit), {})
            meeting[index] = value
            if members <= meeting.keys():
                for member in members:
                    self._waiting.pop(member, None)
            else:
                self._waiting[index] = (key, visit)
                self._hand_over(index)
                if self._failure is not None:
                    raise self._failure
                self._wait_for_turn(index)
            return dict(sorted(meeting.items()))

    def shared_tensor(self, running, shape, dtype, name):
        """Return this program's view of a tensor in shared HBM that all programs allocate alike.

        Programs of one rank share it; the same line, asked as often, with the same shape means the
        same tensor.
        """
        from trainium_edu.neuroncore.program import source_line
        from trainium_edu.nki.shared import SharedBytes

        line = source_line({})
        what = (running.rank, line and line[:2], str(shape), str(dtype), name)
        count = self._allocated.get((running.index, what), 0)
        self._allocated[running.index, what] = count + 1
        view = running.core.hbm(shape, dtype, name=name or None)
        shared = self._shared.setdefault((what, count), SharedBytes(view.buffer))
        view.buffer = shared.buffer_of(view.buffer)
        return view
