"""The array's speed beside SCALE-Sim v3 and np.matmul, in one run.

SCALE-Sim needs NumPy below 2.4, so it gets an environment of its own in ``.benchmarks/`` (made at
the first run).  It simulates addresses only; we move real numbers.
"""

import base64
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from tests.benchmarks.timed import Table, best_of
from tests.texts import text_beside
from trainium_edu.neuroncore import systolic_array
from trainium_edu.numerics import cast
from trainium_edu.widgets.systolic_array import array_player

_ROOT = Path(__file__).resolve().parents[2]
_JUDGE = _ROOT / ".benchmarks" / "scale_sim"
TILE, GEMM = (128, 128, 512), (1024, 512, 2048)  # K, M, N
PLAYERS = {"32 x 32 with numbers": (32, 64), "128 x 128 heat map": (128, 64)}  # rows, N


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


_TIME_FRAMES, _RENDER = (
    text_beside(__file__, f"{name}.js.txt") for name in ("time_frames", "render")
)


def frames_per_second(page, rows, n, seconds=3.0):
    """Play a run in Chromium, outside Jupyter; return frames a second and script ms a frame."""
    draw = np.random.default_rng(1)
    w, x = draw.standard_normal((rows, rows)), draw.standard_normal((rows, n))
    player = array_player(w, x, array=systolic_array.SystolicArray(rows, rows), cycle=0)
    film = base64.b64encode(player.film).decode()
    esm = base64.b64encode(player._esm.encode()).decode()
    page.set_content(f"<style>{player._css}</style><div id=here style='width:1160px'></div>")
    page.evaluate(_TIME_FRAMES)
    page.evaluate(_RENDER, [esm, film])
    page.wait_for_selector(".te-playback")
    page.select_option(".te-speed", "2")  # the heat map then changes in every frame
    page.click("button[aria-label^='Play:']")
    page.wait_for_timeout(500)
    page.evaluate("() => { frameTimes.length = 0; }")
    drawn = "() => Number(document.querySelector('.te-playback').dataset.drawn)"
    before, start = page.evaluate(drawn), time.perf_counter()
    page.wait_for_timeout(seconds * 1000)
    rate = (page.evaluate(drawn) - before) / (time.perf_counter() - start)
    times = np.sort(page.evaluate("() => frameTimes"))
    return rate, times.mean(), times[int(0.95 * len(times))]


def frame_rates():
    """Return {player: frames a second, ms of script a frame, ms that 95 % stay below}.

    Empty where Chromium or Playwright is missing.
    """
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        return {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 1100})
        found = {what: frames_per_second(page, rows, n) for what, (rows, n) in PLAYERS.items()}
        browser.close()
    return found


def rows_of_players():
    """Print the players' frame rates; return their rows for pages."""
    found = frame_rates()
    if not found:
        print("\nframe rates: not measured, Playwright or Chromium is missing")
        return {}
    print("\nIn headless Chromium, drawn without a graphics card:\n")
    table = Table("player", "frames a second", "asked", "script a frame, mean", "95 % below")
    for what, (rate, mean, most) in found.items():
        page = f"{rate:.0f} frames a second", f"{mean:.1f} ms of script a frame"
        table.row(f"the array's player in Chromium, {what}", f"{rate:.0f}", "60",
                  f"{mean:.1f} ms", f"{most:.1f} ms", page=page)  # fmt: skip
    return table.found


def main():
    """Print the tables; return the rows for pages."""
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
    gemm = best_of(8, lambda: systolic_array.run(w, x))
    gemm_judge = scale_sim_seconds(*GEMM)
    table = Table("cycle by cycle on 128 x 128 PEs, BF16", "ours", "beside", "ratio", "asked")
    for what, ours, name, theirs, ratio, asked in (
        ("one tile, 1 thread", tile, "SCALE-Sim v3", tile_judge, tile_judge / tile, "≥ 40"),
        ("one tile, 1 thread", tile, "np.matmul", matmul, tile / matmul, "≤ 35"),
        ("one tile, every cycle kept", recorded, "not kept", tile, recorded / tile, "≤ 6"),
        ("1024 x 512 x 2048, 2 threads", gemm, "SCALE-Sim v3", gemm_judge, gemm_judge / gemm,
         "≥ 100"),
    ):  # fmt: skip
        table.row(
            what, f"{ours * 1e3:.2f} ms", f"{name} {theirs * 1e3:.2f} ms", f"{ratio:.1f} x", asked
        )
    rows = {
        "systolic array, 128 × 128 × 512, cycle by cycle":
            (f"{tile * 1e3:.1f} ms", f"{tile_judge / tile:.0f} × SCALE-Sim v3's addresses; "
             f"np.matmul is {tile / matmul:.0f} × as fast"),
        "the systolic array's tile of 128 × 128 × 512 with every cycle kept":
            (f"{recorded * 1e3:.1f} ms", f"{recorded / tile:.1f} × longer"),
        "GEMM 1024 × 512 × 2048, cycle by cycle, two threads":
            (f"{gemm:.2f} s", f"{gemm_judge / gemm:.0f} × SCALE-Sim v3"),
    }  # fmt: skip
    return rows | rows_of_players()
