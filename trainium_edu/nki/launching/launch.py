"""Several programs of one kernel: the cores of a grid, the ranks of a collective.

Each is a coroutine (a greenlet) of the caller's thread.  They take turns in a fixed order and only
where they wait for each other, so every launch gives the same result, needs no locks, and is
interrupted like any function.
"""

from contextlib import suppress
from contextvars import copy_context

from trainium_edu.neuroncore.recording.source import source_line
from trainium_edu.nki.launching.shared import SharedBytes
from trainium_edu.nki.refusals import refusal
from trainium_edu.nki.running import Running

__all__ = ["Launch"]


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
        self._waiting = {}  #: program -> what it waits for
        self._meetings = {}  #: (key, occurrence) -> {program: value}
        self._visits = {}  #: (program, key) -> how many meetings it had
        self._shared = {}  #: (line, occurrence, shape, dtype) -> SharedBytes
        self._allocated = {}  #: (program, line, shape, dtype) -> how many

    def run(self, body) -> list:
        """Call ``body(running)`` in every program and return what each returned."""
        __tracebackhide__ = True
        if len(self.runnings) == 1:
            return [copy_context().run(self.runnings[0].call, body)]
        from greenlet import getcurrent, greenlet  # one program alone does without

        self._caller = getcurrent()  #: where programs that wait switch to
        results = [None] * len(self.runnings)
        programs = [greenlet(running.call) for running in self.runnings]
        for program in programs:
            program.gr_context = copy_context()  # with the caller's np.errstate
        try:
            index = 0
            while index is not None:
                result = programs[index].switch(*([] if programs[index] else [body]))
                if programs[index].dead:
                    results[index] = result
                index = self._next(index, programs)
        finally:  # after a failure or Ctrl-C the others end where they wait
            for running, program in zip(self.runnings, programs, strict=True):
                running.limit = -1  # who goes on all the same stops at the next instruction
                with suppress(Exception):
                    if program:
                        program.throw()
        return results

    def _next(self, index, programs):
        """Return the next program that can run, None if all have ended; raise if all wait."""
        count = len(programs)
        for step in range(1, count + 1):
            other = (index + step) % count
            if not programs[other].dead and other not in self._waiting:
                return other
        if not self._waiting:
            return None
        waits = ", ".join(f"program {k} at {key}" for k, (key, _) in sorted(self._waiting.items()))
        ended = ", ".join(str(k) for k in range(count) if programs[k].dead) or "none"
        raise refusal("collectives.deadlock", waits=waits, ended=ended)

    def meet(self, index, key, value, members=None) -> dict:
        """See ``Running.meet``."""
        members = frozenset(range(len(self.runnings)) if members is None else members)
        visit = self._visits.get((index, key), 0)
        self._visits[index, key] = visit + 1
        meeting = self._meetings.setdefault((key, visit), {})
        meeting[index] = value
        if members <= meeting.keys():
            for member in members:
                self._waiting.pop(member, None)
        else:
            self._waiting[index] = (key, visit)
            self._caller.switch()
        return dict(sorted(meeting.items()))

    def shared_tensor(self, running, shape, dtype, name):
        """Return this program's view of a tensor in shared HBM that all programs allocate alike.

        Programs of one rank share it; the same line, asked as often, with the same shape means the
        same tensor.
        """
        line = source_line({})
        what = (running.rank, line and line[:2], str(shape), str(dtype), name)
        count = self._allocated.get((running.index, what), 0)
        self._allocated[running.index, what] = count + 1
        view = running.core.hbm(shape, dtype, name=name or None)
        shared = self._shared.setdefault((what, count), SharedBytes(view.buffer))
        view.buffer = shared.buffer_of(view.buffer)
        return view
