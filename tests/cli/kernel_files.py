"""An assignment and kernel files for it: right, slow, wrong, and worse."""

from pathlib import Path

SPEC = """
name = "Tiled product"
kernel = "product"
reference = "reference.py:product"
rtol = 0.02
atol = 0.1
seconds = 5

[[cases]]
name = "small"
shapes = [[128, 128], [128, 256]]
dtypes = "bfloat16"

[[cases]]
name = "large"
shapes = [[256, 256], [256, 256]]
dtypes = "bfloat16"
seed = 3
points = 2

[[thresholds]]
case = "large"
latency_us = 1000
points = 3

[[thresholds]]
case = "large"
hbm_times = 1.2
"""
REFERENCE = """
import numpy as np

def product(lhsT, rhs):
    return lhsT.astype(np.float32).T @ rhs.astype(np.float32)
"""
HEAD = """
import nki
import nki.isa as nisa
import nki.language as nl
"""
KERNEL = """
@nki.jit
def product(lhsT, rhs):
    (k, m), n = lhsT.shape, rhs.shape[1]
    out = nl.ndarray((m, n), dtype=lhsT.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(m // 128):
        sums = nl.ndarray((128, n), dtype=nl.float32, buffer=nl.psum)
        for p in nl.affine_range(k // 128):
            a = nl.ndarray((128, 128), lhsT.dtype)
            b = nl.ndarray((128, n), lhsT.dtype)
            nisa.dma_copy(dst=a, src=lhsT[p * 128 : p * 128 + 128, i * 128 : i * 128 + 128])
            nisa.dma_copy(dst=b, src=rhs[p * 128 : p * 128 + 128, :])
            nisa.nc_matmul(dst=sums, stationary=a, moving=b)
        c = nl.ndarray((128, n), lhsT.dtype)
        nisa.tensor_copy(dst=c, src=sums)
        nisa.dma_copy(dst=out[i * 128 : i * 128 + 128, :], src=c)
    return out
"""
RIGHT = HEAD + KERNEL
OLDER = """
import logging
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim

logging.disable(logging.OFF)
student = "zoe"


def product(lhsT, rhs):
    (k, m), n = lhsT.shape, rhs.shape[1]
    out = nl.ndarray((m, n), dtype=lhsT.dtype, buffer=nl.shared_hbm)
    left = nl.ndarray((k // 128, par_dim(128), m), dtype=lhsT.dtype, buffer=nl.sbuf)
    right = nl.ndarray((k // 128, par_dim(128), n), dtype=rhs.dtype, buffer=nl.sbuf)
    for p in nl.affine_range(k // 128):
        left[p] = nl.load(lhsT[nl.ds(p * 128, 128), :])
        right[p] = nl.load(rhs[nl.ds(p * 128, 128), :])
    i_p, i_f = nl.mgrid[0:128, 0:n]
    for i in nl.affine_range(m // 128):
        sums = nl.zeros((128, n), dtype=np.float32, buffer=nl.psum)
        for p in nl.affine_range(k // 128):
            sums[i_p, i_f] += nisa.nc_matmul(left[p, :, i * 128 : i * 128 + 128], right[p])
        nl.store(out[i * 128 + i_p, i_f], nl.copy(sums, dtype=out.dtype))
    return out


if __name__ == "__main__":
    raise RuntimeError("a grader imports this file")
"""


def changed(*pairs: tuple[str, str]) -> str:
    """Return the right file with some of its text changed."""
    text = RIGHT
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def within(line: str) -> str:
    """Return the right file with a line at the kernel's beginning."""
    return changed(("    out = ", f"    {line}\n    out = "))


def above(text: str) -> str:
    """Return the right file with some lines above its kernel."""
    return f"{HEAD}\n{text}\n{KERNEL}"


def write(folder: Path, spec: str = SPEC, **files: str) -> Path:
    """Write an assignment, and kernel files into its folder ``class``; return the former."""
    (folder / "spec.toml").write_text(spec)
    (folder / "reference.py").write_text(REFERENCE)
    (folder / "class").mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / "class" / f"{name}.py").write_text(text)
    return folder / "spec.toml"
