"""Small matrix products on one thread: two threads that wait for each other are slower than one.

A kernel multiplies tiles of at most 128 x 128 x 512.  Beside other work on the machine (a second
notebook, a class being graded) BLAS's threads spin for each other, and such a product was seen to
take twenty times as long; alone on a machine the second thread gains little.
"""

from contextlib import AbstractContextManager
from functools import cache

__all__ = ["one_blas_thread"]


@cache
def _controller():
    from threadpoolctl import ThreadpoolController  # comes with scikit-learn

    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager:
    """Return a context in which BLAS runs on the calling thread alone."""
    return _controller().limit(limits=1, user_api="blas")
