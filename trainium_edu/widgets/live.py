"""Run a long computation in slices, so that the page stays alive and "stop" is heard.

A widget's handler blocks the kernel until it returns: no other message is read meanwhile.  A
``LiveRun`` works for a fraction of a second, shows what there is, hands the kernel back, and goes
on.  Where no event loop runs (a script, a test), it works to the end at once.
"""

import asyncio
import math
import time
from collections.abc import Callable, Iterable, Iterator

__all__ = ["LiveRun"]

_SLICE_S = 0.06
_PAUSE_S = 0.01  # long enough for the kernel to read a click


class LiveRun:
    """Work through an iterable in slices; a new :meth:`start` ends the run before.

    Parameters
    ----------
    show : callable
        Called without arguments after every slice, and at the end.
    """

    def __init__(self, show: Callable[[], object]):
        self._show = show
        self._work: Iterator | None = None  #: what is left of the present run
        self._task: asyncio.Task | None = None

    @property
    def running(self) -> bool:
        """Whether there is work left."""
        return self._work is not None

    def start(self, work: Iterable, *, at_once: bool = False):
        """Begin; with ``at_once`` (a first picture) return when all is done.

        Parameters
        ----------
        work : iterable
            Each item is one small piece of work, done when it is asked for.
        at_once : bool, optional
        """
        self._work = work = iter(work)
        try:
            loop = None if at_once else asyncio.get_running_loop()
        except RuntimeError:
            loop = None
        if loop is None:
            self._slice(work, math.inf)
            self._show()
        else:
            self._task = loop.create_task(self._live(work))

    def stop(self):
        """End the present run after the piece it is working on."""
        self._work = None

    async def ended(self):
        """Wait until the last run has ended; raise what ended it, if it failed."""
        if self._task is not None:
            await self._task

    def _slice(self, work, seconds):
        """Work for some seconds, or until the work or this run's turn is over."""
        begin = time.perf_counter()
        for _ in work:
            if self._work is not work or time.perf_counter() - begin > seconds:
                return
        self._work = None

    async def _live(self, work):
        try:
            while self._work is work:
                self._slice(work, _SLICE_S)
                self._show()
                await asyncio.sleep(_PAUSE_S)
        finally:
            if self._work is work:
                self._work = None
                self._show()
