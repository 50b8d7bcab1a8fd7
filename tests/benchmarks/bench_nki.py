"""How long kernels take here: a blocked matmul against NumPy's, and many small instructions."""

import subprocess
import sys
import time

import ml_dtypes
import numpy as np

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from trainium_edu.nki.examples import matmul


def best(call, times=3):
    """Return the shortest of a few times, in seconds."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)


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
        return best(lambda: subprocess.run([sys.executable, "-c", code], check=True))

    return start("import trainium_edu.nki") - start("pass")


def main():
    """Print the measured ratios as a Markdown table; return its rows for pages."""
    rng = np.random.default_rng(0)
    lhs, rhs = (rng.standard_normal((2048, 2048)).astype(np.float32) for _ in range(2))
    narrow = [a.astype(ml_dtypes.bfloat16) for a in (lhs, rhs)]
    nki.run(matmul.fully_blocked, *narrow)
    numpys = best(lambda: np.matmul(lhs.T, rhs))
    recorded = best(lambda: matmul.fully_blocked(*narrow))
    timed = best(lambda: nki.run(matmul.fully_blocked, *narrow))
    tile = np.ones((128, 128), np.float32)
    small = best(lambda: small_instructions(tile, 10_000))
    small_timed = best(lambda: nki.run(small_instructions, tile, 10_000))
    print("| what | seconds | bound |")
    print("|---|---|---|")
    print(f"| np.matmul, 2048³, float32 | {numpys:.3f} | |")
    print(
        f"| the fully blocked kernel, BF16, values | {recorded:.3f} ({recorded / numpys:.2f} ×) | |"
    )
    print(f"| the same, recorded and timed | {timed:.3f} ({timed / numpys:.2f} ×) | 3 × |")
    print(f"| 10,000 instructions of 128 × 128 | {small:.3f} | 0.5 |")
    print(f"| the same, placed and scheduled too | {small_timed:.3f} | |")
    loaded = import_seconds()
    print(f"| import trainium_edu.nki | {loaded:.3f} | 0.3 |")
    with_time = f"{small_timed:.2f} s with placement and schedule"
    return {
        "2048³ BF16 matmul, fully blocked kernel, values and timeline":
            (f"{timed:.2f} s", f"np.matmul in float32 is {timed / numpys:.1f} × as fast"),
        "10,000 instructions of 128 × 128 in a kernel, with values": (f"{small:.2f} s", with_time),
        "import trainium_edu.nki": (f"{loaded:.2f} s", ""),
    }  # fmt: skip


if __name__ == "__main__":
    main()
