"""Matrix products for kernels and replicas: each on one BLAS thread, several at a time.

A kernel multiplies tiles of at most 128 x 128 x 512.  Beside other work on the machine (a second
notebook, a class being graded) BLAS's own threads spin for each other, and such a product was seen
to take twenty times as long.  So while kernels run BLAS keeps to the thread that calls it, and
whole sums of products are offered to helpers, one for each further CPU.  Who asked for a sum takes
it back if no helper has begun; each is computed by one thread, product by product in the program's
order, so the bits depend neither on who did nor on when.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from queue import SimpleQueue

import numpy as np

from trainium_edu.aside import aside, load
from trainium_edu.neuroncore.recording.executor import product_of

__all__ = ["Sum", "Work", "cpus", "one_blas_thread", "side_by_side"]

_WORTH_HELP = 2**22  # multiply-adds: 0.1 ms
_MOST_HELPERS = 3


class Work:
    """A call that its caller or a helper makes, the one that is free first.

    Parameters
    ----------
    call : callable
    """

    __slots__ = ("_claim", "_done", "_problem", "call")

    def __init__(self, call: Callable[[], object]):
        self.call: Callable[[], object] | None = call
        self._claim, self._done = threading.Lock(), threading.Lock()
        self._done.acquire()
        self._problem: BaseException | None = None

    def compute(self) -> None:
        """Make the call, unless somebody else has begun."""
        if not self._claim.acquire(blocking=False):
            return
        try:
            assert self.call is not None
            self.call()
        except BaseException as problem:
            self._problem = problem  # raised where the call is waited for
        finally:
            self.call = None
            self._done.release()

    @property
    def is_done(self) -> bool:
        """Whether the call has been made."""
        return self.call is None

    def wait(self) -> None:
        """Wait until the call has been made (for the thread that made this object)."""
        self.compute()
        if self.call is not None:
            self._done.acquire()
            self._done.release()
        if self._problem is not None:
            raise self._problem


class Sum(Work):
    """The value that one tile will hold: ``left.T @ right`` of its factors, added up in order.

    Parameters
    ----------
    place : tuple
        Offset, shape and strides of the tile in its buffer.
    out : float32[...]
        The tile; nobody looks at it until the sum is computed.
    adds : bool
        Whether the first product is added to what the tile holds.
    finish : callable
        Computes all that waits; called when the tile is read.
    """

    __slots__ = ("_adds", "_is_offered", "factors", "finish", "out", "place")

    def __init__(self, place, out, adds, finish):
        super().__init__(self._add_up)
        self.place, self.out, self.finish = place, out, finish
        self.factors: list = []  #: (float32[k, m], float32[k, n]) that stay unchanged
        self._adds = adds
        self._is_offered = False

    def offer(self) -> None:
        """Hand it to a helper, if there are CPUs for helpers and it is worth waking one."""
        if _owner and not self._is_offered:
            left, right = self.factors[0]
            self._is_offered = True
            if len(self.factors) * left.size * right.shape[1] >= _WORTH_HELP:
                _offer(self)

    def _add_up(self):
        product, adds, out = None, self._adds, self.out
        try:
            for left, right in self.factors:
                product = product_of(left, right, product)
                shaped = product.reshape(out.shape)
                if adds:
                    np.add(out, shaped, out)
                else:
                    out[...] = shaped
                adds = True
        finally:
            self.factors = []


def side_by_side(call: Callable[[int, int], object], count: int) -> None:
    """Call for parts of range(count), ``call(begin, end)``, one part for each CPU.

    Which CPU does what must not matter.  What a part raises is raised here.
    """
    parts = min(count, 1 + min(cpus() - 1, _MOST_HELPERS))
    ends = [count * i // parts for i in range(parts + 1)]
    works = [Work(partial(call, *ends[i : i + 2])) for i in range(parts)]
    for one in works[1:]:
        _offer(one)
    for one in works:
        one.wait()


# -- helpers ----------------------------------------------------------------------------------

_offers: SimpleQueue[Work] = SimpleQueue()
_helpers: list[threading.Thread] = []
_lock = threading.Lock()


def _offer(work):
    helper_count = min(cpus() - 1, _MOST_HELPERS)
    if len(_helpers) < helper_count:
        with _lock:
            while len(_helpers) < helper_count:
                helper = threading.Thread(target=_help, name="products of kernels", daemon=True)
                helper.start()
                _helpers.append(helper)
    if helper_count > 0:
        _offers.put(work)


def _help():
    np.seterr(all="ignore")  # infinity and NaN are values here, as on the chip
    while True:
        _offers.get().compute()


def cpus() -> int:
    """Return how many CPUs this process may use now."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


# -- BLAS's own threads -----------------------------------------------------------------------

_owner: dict = {}  #: "thread" -> the number of the thread that limits BLAS now
_before: dict = {}  #: library -> how many threads it had


@cache
def _libraries() -> list:
    found = aside(load("threadpoolctl").ThreadpoolController)
    return found.select(user_api="blas").lib_controllers


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Return a context in which BLAS runs on the calling thread alone.

    Where several threads are inside, the one that came first sets the limit and takes it away;
    if an interrupt prevents that, it does so when it leaves the next time.
    """
    me = threading.get_ident()
    try:
        if _owner.setdefault("thread", me) == me:
            for library in _libraries():
                _before.setdefault(library, library.num_threads)
                library.set_num_threads(1)
        yield
    finally:
        if _owner.get("thread") == me:
            for library, threads in _before.items():
                library.set_num_threads(threads)
                if hasattr(library, "clear_controlling_thread"):
                    library.clear_controlling_thread()  # or no other thread may set it later
            _before.clear()
            _owner.clear()


def _after_fork():
    """Reset the helpers in a forked process, which inherits no threads."""
    global _lock, _offers
    _helpers.clear()
    _lock, _offers = threading.Lock(), SimpleQueue()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
