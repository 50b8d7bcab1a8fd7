"""Tiling: judged by the product itself (every multiply-add once) and by the hardware's limits."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trainium_edu.neuroncore.systolic_array import SystolicArray, plan_gemm

side = st.integers(1, 40)


@given(side, side, side, st.integers(1, 16), st.booleans())
def test_every_multiply_add_happens_exactly_once(k, m, n, moving_max, reuse):
    array = SystolicArray(7, 5)
    seen = np.zeros((k, m, n), int)
    written = np.zeros((m, n), bool)
    for p in plan_gemm(k, m, n, array=array, moving_max=moving_max, reuse=reuse):
        pk, pm, pn = p.shape
        assert pk <= 7
        assert pm <= 5
        assert pn <= moving_max
        seen[p.k0 : p.k1, p.m0 : p.m1, p.n0 : p.n1] += 1
        assert (written[p.m0 : p.m1, p.n0 : p.n1] == p.accumulate).all()  # overwrite, then add
        written[p.m0 : p.m1, p.n0 : p.n1] = True
    assert (seen == 1).all()


def test_reuse_loads_each_stationary_tile_once():
    plan = plan_gemm(256, 256, 2048)
    assert (len(plan), sum(p.load for p in plan)) == (16, 4)
    assert all(p.load for p in plan_gemm(256, 256, 2048, reuse=False))


def test_open_accumulations_fit_the_eight_banks():
    """Between first write and last add of a bank, no more than 8 banks of 512 are open."""
    plan = plan_gemm(256, 128, 9000)
    first_of = {}
    last_of = {}
    for i, p in enumerate(plan):
        first_of.setdefault((p.m0, p.n0), i)
        last_of[p.m0, p.n0] = i
    for i in range(len(plan)):
        assert sum(first_of[t] <= i <= last_of[t] for t in first_of) <= 8
