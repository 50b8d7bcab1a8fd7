"""The array's speed beside SCALE-Sim v3 and np.matmul, in one run.

SCALE-Sim needs NumPy below 2.4, so it gets an environment of its own in ``.benchmarks/`` (made at
the first run).  It simulates addresses only; we move real numbers.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from trainium_edu.neuroncore import systolic_array
from trainium_edu.numerics import cast

_ROOT = Path(__file__).resolve().parents[2]
_JUDGE = _ROOT / ".benchmarks" / "scale_sim"
TILE, GEMM = (128, 128, 512), (1024, 512, 2048)  # K, M, N


def best_of(repeats, call):
    """Return the shortest of some runs in seconds."""
    times = []
    for _ in range(repeats):
        before = time.perf_counter()
        call()
        times.append(time.perf_counter() - before)
    return min(times)


def scale_sim_seconds(k, m, n):
    """Return SCALE-Sim's seconds for one product on 128 x 128, weight-stationary."""
    python = _JUDGE / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", _JUDGE], check=True)
        install = [python, "-m", "pip", "install", "--quiet", "scalesim==3.0.0", "numpy<2.4"]
        subprocess.run(install, check=True)
    code = (
        f"import json, sys; sys.path.insert(0, {str(_ROOT / 'tests' / 'golden')!r});"
        "from make_scale_sim import simulate;"
        f"print(json.dumps(simulate(128, 128, 'ws', {k}, {m}, {n})))"
    )
    done = subprocess.run(
        [python, "-c", code], check=True, capture_output=True, text=True, cwd=_ROOT
    )
    return json.loads(done.stdout.splitlines()[-1])[-1]


def operands(k, m, n):
    """Return BF16 operands, and the same in float32 as BLAS likes them."""
    draw = np.random.default_rng(0)
    w = cast(draw.standard_normal((k, m)).astype(np.float32), "bf16")
    x = cast(draw.standard_normal((k, n)).astype(np.float32), "bf16")
    return w, x, np.ascontiguousarray(w.astype(np.float32).T), x.astype(np.float32)


def main():
    """Print the table."""
    w, x, left, right = operands(*TILE)
    with threadpool_limits(1):
        systolic_array.run(w, x, threads=1, record=True)
        systolic_array.run(w, x, threads=1)
        matmul = best_of(200, lambda: left @ right)
        tile = best_of(20, lambda: systolic_array.run(w, x, threads=1))
        recorded = best_of(10, lambda: systolic_array.run(w, x, threads=1, record=True))
        matmul = min(matmul, best_of(200, lambda: left @ right))
    tile_judge = min(scale_sim_seconds(*TILE) for _ in range(3))
    w, x, *_ = operands(*GEMM)
    gemm = best_of(3, lambda: systolic_array.run(w, x))
    gemm_judge = scale_sim_seconds(*GEMM)
    print("| cycle by cycle on 128 x 128 PEs, BF16 | ours | beside | ratio | asked |")
    print("| --- | --- | --- | --- | --- |")
    for what, ours, name, theirs, ratio, asked in (
        ("one tile, 1 thread", tile, "SCALE-Sim v3", tile_judge, tile_judge / tile, "≥ 40"),
        ("one tile, 1 thread", tile, "np.matmul", matmul, tile / matmul, "≤ 35"),
        ("one tile, every cycle kept", recorded, "not kept", tile, recorded / tile, "≤ 6"),
        ("1024 x 512 x 2048, 2 threads", gemm, "SCALE-Sim v3", gemm_judge, gemm_judge / gemm,
         "≥ 100"),
    ):  # fmt: skip
        print(
            f"| {what} | {ours * 1e3:.2f} ms | {name} {theirs * 1e3:.2f} ms | {ratio:.1f} x "
            f"| {asked} |"
        )


if __name__ == "__main__":
    main()
