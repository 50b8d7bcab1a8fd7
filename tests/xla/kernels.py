"""Kernels of both interfaces for the tests of graphs and of PyTorch scripts."""

from trainium_edu import nki
from trainium_edu.nki import beta1
from trainium_edu.nki import language as nl
from trainium_edu.nki.beta1 import language as older


@nki.jit
def exps(x, count=1):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    for _ in range(count):
        tile = nl.exp(tile)
    nl.store(out, tile)
    return out


@beta1.jit
def older_exps(x, count=1):
    out = older.ndarray(x.shape, dtype=x.dtype, buffer=older.shared_hbm)
    tile = older.load(x)
    for _ in range(count):
        tile = older.exp(tile)
    older.store(out, tile)
    return out
