"""How long kernels take here: a blocked matmul against NumPy's, and many small instructions."""

import subprocess
import sys

import ml_dtypes
import numpy as np

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.benchmarks.timed import Table, best_of
from trainium_edu.nki.examples import matmul


@nki.jit
def small_instructions(x, count):
    """Issue `count` instructions on [128, 128] tiles."""
    a = nl.load(x)
    b = nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf)
    for _ in range(count // 2):
        nisa.tensor_tensor(dst=b, data1=a, data2=a, op=nl.add)
        nisa.tensor_scalar(dst=a, data=b, op0=nl.multiply, operand0=0.5)
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nl.store(out, a)
    return out


def import_seconds():
    """Return how long a fresh Python takes to import nki, beyond starting."""

    def start(code):
        return best_of(3, lambda: subprocess.run([sys.executable, "-c", code], check=True))

    return start("import trainium_edu.nki") - start("pass")


def main():
    """Print the measured ratios as a Markdown table; return its rows for pages."""
    rng = np.random.default_rng(0)
    lhs, rhs = (rng.standard_normal((2048, 2048)).astype(np.float32) for _ in range(2))
    narrow = [a.astype(ml_dtypes.bfloat16) for a in (lhs, rhs)]
    nki.run(matmul.fully_blocked, *narrow)
    numpys = best_of(3, lambda: np.matmul(lhs.T, rhs))
    recorded = best_of(3, lambda: matmul.fully_blocked(*narrow))
    timed = best_of(3, lambda: nki.run(matmul.fully_blocked, *narrow))
    tile = np.ones((128, 128), np.float32)
    small = best_of(3, lambda: small_instructions(tile, 10_000))
    small_timed = best_of(3, lambda: nki.run(small_instructions, tile, 10_000))
    loaded = import_seconds()
    table = Table("what", "seconds", "bound")
    for what, seconds, bound in (
        ("np.matmul, 2048³, float32", f"{numpys:.3f}", ""),
        ("the fully blocked kernel, BF16, values",
         f"{recorded:.3f} ({recorded / numpys:.2f} ×)", ""),
        ("the same, recorded and timed", f"{timed:.3f} ({timed / numpys:.2f} ×)", "3 ×"),
        ("10,000 instructions of 128 × 128", f"{small:.3f}", "0.5"),
        ("the same, placed and scheduled too", f"{small_timed:.3f}", ""),
    ):  # fmt: skip
        table.row(what, seconds, bound)
    table.row("import trainium_edu.nki", f"{loaded:.3f}", "0.3", page=(f"{loaded:.2f} s", ""))
    with_time = f"{small_timed:.2f} s with placement and schedule"
    return table.found | {
        "2048³ BF16 matmul, fully blocked kernel, values and timeline":
            (f"{timed:.2f} s", f"np.matmul in float32 is {timed / numpys:.1f} × as fast"),
        "10,000 instructions of 128 × 128 in a kernel, with values": (f"{small:.2f} s", with_time),
    }  # fmt: skip
