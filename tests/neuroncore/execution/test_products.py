"""Products and their helpers.  Judges: NumPy, threadpoolctl for BLAS's own threads."""

import subprocess
import sys
import threading

import numpy as np
import pytest
import threadpoolctl

from trainium_edu.neuroncore.execution import products as blas


@pytest.fixture
def helpers(monkeypatch):
    monkeypatch.setattr(blas, "_cpus", lambda: 3)
    monkeypatch.setattr(blas, "_WORTH_HELP", 1)
    with blas.one_blas_thread():
        yield


def blas_threads():
    """Return the threads of NumPy's BLAS."""
    return {
        found["num_threads"]
        for found in threadpoolctl.threadpool_info()
        if found["user_api"] == "blas" and "numpy" in found["filepath"]
    }


@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("shape", [(6, 10), (6, 2, 5)])
def test_products_are_numpys(helpers, adds, shape):
    draw = np.random.default_rng(0)
    made = []
    for _ in range(50):
        left, right = draw.integers(-3, 4, (6, 7)), draw.integers(-3, 4, (7, 10))
        out = np.ones(shape, np.float32)
        product = blas.Product(left.astype(np.float32), right.astype(np.float32), out, adds)
        product.offer()
        made.append((product, out, (left @ right).reshape(shape) + adds))
    for product, out, expected in made:
        product.wait()
        product.wait()  # once more is no harm
        np.testing.assert_array_equal(out, expected)


def test_helpers_do_compute(helpers):
    """The caller only waits, so somebody else did it."""
    out = np.zeros((4, 5), np.float32)
    product = blas.Product(np.ones((4, 3), np.float32), np.ones((3, 5), np.float32), out, False)
    product.offer()
    assert product._done.acquire(timeout=30)
    assert (out == 3).all()


def test_an_error_in_a_helper_is_raised_where_the_product_is_waited_for(helpers):
    bad = blas.Product(np.ones((4, 3), np.float32), np.ones((2, 5), np.float32), None, False)
    bad.offer()
    with pytest.raises((ValueError, AttributeError)):
        bad.wait()
    test_helpers_do_compute(None)  # and the helper lives


def test_with_one_cpu_nobody_is_asked(monkeypatch):
    monkeypatch.setattr(blas, "_cpus", lambda: 1)
    monkeypatch.setattr(blas, "_offers", None)
    with blas.one_blas_thread():
        out = np.zeros((256, 256), np.float32)
        ones = np.ones((256, 256), np.float32)
        product = blas.Product(ones, ones, out, False)
        product.offer()
        assert not product.is_done
        product.wait()
    assert (out == 256).all()


def test_kernels_that_overlap_in_two_threads_give_blas_its_threads_back():
    before = blas_threads()
    inside, leave = threading.Event(), threading.Event()

    def other():
        with blas.one_blas_thread():
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=other)
    with blas.one_blas_thread():
        assert blas_threads() == {1}
        thread.start()
        assert inside.wait(30)
        assert blas_threads() == {1}
    leave.set()
    thread.join()
    assert blas_threads() == before


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_forked_process_starts_helpers_of_its_own():
    code = """
import os, numpy as np
from trainium_edu.neuroncore.execution import products as blas
blas._cpus, blas._WORTH_HELP = lambda: 3, 1
def work():
    ones, out = np.ones((8, 8), np.float32), np.zeros((8, 8), np.float32)
    product = blas.Product(ones, ones, out, False)
    product.offer()
    assert product._done.acquire(timeout=30) and out[0, 0] == 8
with blas.one_blas_thread():
    work()
    child = os.fork()
    work()
    if not child:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=120)
