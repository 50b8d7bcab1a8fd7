"""Write SCALE-Sim v3's cycle and read counts for many shapes and all three dataflows.

Needs an environment of its own, as SCALE-Sim runs on NumPy below 2.4 only:

    python -m venv judge && judge/bin/pip install "scalesim==3.0.0" "numpy<2.4"
    judge/bin/python tests/golden/make_scale_sim.py tests/golden/scale_sim.csv

In SCALE-Sim's words a product is M x K (ifmap) times K x N (filter); in ours its M vectors are the
moving operand, and its N filters the stationary's columns.
"""

import contextlib
import io
import random
import sys
import tempfile
import time
from pathlib import Path

from scalesim.scale_sim import scalesim

COMMAND = (
    'python -m venv judge && judge/bin/pip install "scalesim==3.0.0" "numpy<2.4" && '
    "judge/bin/python tests/golden/make_scale_sim.py tests/golden/scale_sim.csv"
)
FLOWS = {"ws": "weight-stationary", "is": "input-stationary", "os": "output-stationary"}
CONFIG = Path(__file__).with_name("scale_sim.cfg").read_text("utf-8")


def simulate(rows, columns, flow, k, m, n):
    """Return (cycles, stall cycles, ifmap reads, filter reads, seconds) of our K, M, N."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        folder = Path(folder)
        (folder / "c.cfg").write_text(CONFIG.format(rows=rows, columns=columns, flow=flow))
        (folder / "t.csv").write_text(f"Layer,M,N,K,\none,{n},{m},{k},\n")
        ones = ",".join(["1"] * 6 + ["0"] * 14)
        (folder / "l.csv").write_text(f"{','.join(['Layer'] + ['order'] * 20)},\none,{ones},\n")
        before = time.perf_counter()
        simulator = scalesim(
            save_disk_space=True, verbose=False, input_type_gemm=True,
            config=str(folder / "c.cfg"), topology=str(folder / "t.csv"),
            layout=str(folder / "l.csv"),
        )  # fmt: skip
        simulator.run_scale(top_path=str(folder))
        seconds = time.perf_counter() - before
        layer = simulator.runner.single_layer_sim_object_list[0]
        compute, detail = layer.get_compute_report_items(), layer.get_detail_report_items()
    return int(compute[1]), int(compute[2]), int(detail[2]), int(detail[5]), seconds


def shapes():
    """Return (rows, columns, K, M, N): chosen corners, then shapes drawn with a fixed seed."""
    chosen = [
        (8, 8, 8, 8, 1), (8, 8, 8, 8, 20), (8, 8, 1, 1, 1), (8, 8, 3, 5, 7), (8, 8, 16, 8, 8),
        (8, 8, 17, 9, 33), (4, 8, 4, 8, 5), (4, 8, 9, 17, 6), (8, 4, 8, 4, 5), (8, 4, 9, 17, 6),
        (16, 16, 16, 16, 64), (16, 16, 40, 24, 50), (32, 32, 64, 64, 100), (32, 8, 70, 20, 33),
        (1, 1, 3, 4, 5), (1, 8, 5, 16, 9), (8, 1, 16, 5, 9), (128, 128, 128, 128, 64),
        (128, 128, 128, 128, 512), (128, 128, 200, 100, 130),
    ]  # fmt: skip
    draw = random.Random(4)
    while len(chosen) < 40:
        rows, columns = draw.choice([4, 6, 8, 12, 16]), draw.choice([4, 6, 8, 12, 16])
        chosen.append((rows, columns, *(draw.randint(1, 60) for _ in range(3))))
    return chosen


def main(path):
    """Write one row per shape and dataflow."""
    lines = [
        f"# {COMMAND}",
        "dataflow,rows,columns,k,m,n,cycles,stalls,moving_reads,stationary_reads",
    ]
    for shape in shapes():
        for short, name in FLOWS.items():
            rows, columns, k, m, n = shape
            cycles, stalls, ifmap, filters, _ = simulate(rows, columns, short, k, m, n)
            row = (name, *shape, cycles, stalls, ifmap, filters)
            lines.append(",".join(map(str, row)))
    Path(path).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
