"""Exercises of lesson 03: count cycles, plan tiles, choose who stays, find a faulty feed."""

import math

import numpy as np

from trainium_edu.exercises.exercise import exercise
from trainium_edu.exercises.judge import compare, has_form, recognise, reject, reject_if
from trainium_edu.neuroncore import systolic_array
from trainium_edu.neuroncore.systolic_array import Pass, SystolicArray
from trainium_edu.neuroncore.systolic_array.frames import Frames

_MOST_PASSES = 20_000


# --- the cycle-count formula --------------------------------------------------------------------


def _streams(draw):
    """Draw streams bound by the feed, by the load, of one tile, and with odd sizes."""
    cases = []
    for i in range(8):
        speed = draw.choice(f"speed {i}", (1, 2, 4))
        m = draw.integer(f"m {i}", 5, 128)
        load = -(-m // speed)
        n = draw.integer(f"n {i}", 1, load - 1) if i % 2 else draw.integer(f"n {i}", load + 1, 512)
        rows = draw.integer(f"rows {i}", 4, 128)
        cases.append((rows, m, n, speed, draw.integer(f"tiles {i}", 2, 40) if i > 1 else 1))
    return {"cases": cases}


def _cycles(rows, m, n, speed, tiles):
    load = math.ceil(m / speed)
    return load + (tiles - 1) * max(n, load) + n + (rows - 1) + (m - 1)


@exercise("03/cycle-count", numbers=_streams)
def cycle_count(answer, numbers):
    """Return the cycles of equal tiles back to back, each with new weights."""
    beliefs = {
        "forgets the load": lambda r, m, n, s, t: _cycles(r, m, n, s, t) - math.ceil(m / s),
        "forgets the skew": lambda r, m, n, s, t: _cycles(r, m, n, s, t) - (m - 1),
        "forgets the fall": lambda r, m, n, s, t: _cycles(r, m, n, s, t) - (r - 1),
        "hides nothing": lambda r, m, n, s, t: t * (math.ceil(m / s) + n) + r + m - 2,
        "drains between tiles": lambda r, m, n, s, t: t * (math.ceil(m / s) + n + r + m - 2),
        "hides everything": lambda r, m, n, s, t: math.ceil(m / s) + t * n + r + m - 2,
        "loads one column per cycle": lambda r, m, n, s, t: m + (t - 1) * max(n, m) + n + r + m - 2,
        "index of the last cycle": lambda r, m, n, s, t: _cycles(r, m, n, s, t) - 1,
    }
    compare(answer, numbers.cases, _cycles, beliefs, ("no count", float), what="counts")


# --- a tiling plan ------------------------------------------------------------------------------


def slow_array() -> SystolicArray:
    """Return the array of the tiling exercise: it loads slowly, and never in the background."""
    return SystolicArray(128, 128, load_speed=1, background_load=False, min_issue_cycles=64)


@exercise("03/tiling-plan")
def tiling_plan(answer, numbers):
    """Return (who stays, passes) for x[rows, k] @ W[k, columns]."""
    k, sides = numbers.k, (numbers.narrow, numbers.wide)
    rows, columns = sides[::-1] if numbers.turned else sides
    got = answer(rows, k, columns)
    reject_if(not has_form(got, str, (list, tuple)) or got[0] not in ("x", "W"), "wrong form")
    who, plan = got
    if not 0 < len(plan) <= _MOST_PASSES or not all(isinstance(p, Pass) for p in plan):
        reject("no passes")
    m, n = (rows, columns) if who == "x" else (columns, rows)
    _check_complete(plan, k, m, n)
    array = slow_array()
    timed = systolic_array.schedule(plan, array)
    share = timed.macs / (array.pes * timed.cycles)
    if share >= 0.9:
        return lambda: f"Your plan: {share:.1%} of all PE-cycles useful, {timed.cycles} cycles."
    said = f"It computes the product, at {share:.0%} utilisation."
    small = min(p.shape[:2] for p in plan)
    if small[0] < 128 or small[1] < 128:
        reject("tiles smaller than the array", said=said, rows=small[0], columns=small[1])
    per_load = n * k * m / (128 * 128) / timed.loads
    if timed.loads > k * m // 128**2:
        reject("loads again and again", said=said, loads=timed.loads, least=k * m // 128**2)
    if n < (columns if who == "W" else rows):
        reject("the wrong operand stays", said=said, per_load=per_load)
    reject("short moving tiles", said=said)


def _check_complete(plan, k, m, n):
    """Refuse plans that miss, repeat or exceed something."""
    written = np.zeros((m, n), bool)
    done = np.zeros((m, n), np.int64)
    stands, covered = None, {}
    for i, p in enumerate(plan):
        pk, pm, pn = p.shape
        inside = 0 <= p.k0 < p.k1 <= k and 0 <= p.m0 < p.m1 <= m and 0 <= p.n0 < p.n1 <= n
        if not inside or pk > 128 or pm > 128 or pn > 512:
            reject("a tile outside the limits", step=i, at=p, k=pk, m=pm, n=pn, most=(k, m, n))
        spot = (slice(p.m0, p.m1), slice(p.n0, p.n1))
        before = written[spot]
        reject_if(p.accumulate and not before.all(), "adds to nothing", step=i)
        reject_if(not p.accumulate and before.any(), "overwrites", step=i)
        written[spot] = True
        done[spot] += pk
        key = (p.k0, p.k1, p.m0, p.m1)
        reject_if(not p.load and stands != key, "no weights", step=i)
        stands = key
        covered.setdefault((p.m0, p.n0), set()).update(range(p.k0, p.k1))
    whole = all(len(ks) == k for ks in covered.values())
    reject_if(not whole or not (done == k).all(), "an incomplete product")


# --- who stays ----------------------------------------------------------------------------------


def _prices(rows, k, columns):
    prices = systolic_array.choice_cycles(k, rows, columns)
    return [prices[name]["documented"] for name in ("W stays", "x stays")]


def _stays(*case):
    by_w, by_x = _prices(*case)
    return "W" if by_w < by_x else "x"


@exercise("03/who-stays")
def who_stays(answer, numbers):
    """Say which operand of x[rows, k] @ W[k, columns] should stay, by documented prices."""
    beliefs = {
        "weights always stay": lambda r, k, c: "W",
        "the larger one moves": lambda r, k, c: "W" if c < r else "x",
        "exchanged": lambda r, k, c: "x" if _stays(r, k, c) == "W" else "W",
        "counts tiles only": lambda r, k, c: (
            "W" if -(-c // 128) * -(-r // 512) < -(-r // 128) * -(-c // 512) else "x"
        ),
        "the larger one stays": lambda r, k, c: "W" if c > r else "x",
    }
    form = "wrong form", lambda value: value in ("x", "W")
    cases = [case for case in numbers.cases if len({*_prices(*case)}) > 1][:24]
    compare(answer, cases, _stays, beliefs, form, what="choices")


# --- the faulty feed ----------------------------------------------------------------------------

_SIDE, _VECTORS = 6, 7


def _faulty_run(numbers, *, healthy=False):
    draw = np.random.default_rng(numbers.seed)
    delays = [k + numbers.late * (k == numbers.row) for k in range(_SIDE)]
    weights = draw.choice([-3, -2, -1, 1, 2, 3], (_SIDE, _SIDE))
    vectors = draw.integers(1, 100, (_SIDE, _VECTORS))
    array, skew = SystolicArray(_SIDE, _SIDE, load_speed=2), None if healthy else delays
    return systolic_array.run(weights, vectors, array=array, fmt="bf16", record=True, skew=skew)


def faulty_frames(student="") -> Frames:
    """Return the frames of the array whose feed is faulty in one row.

    Parameters
    ----------
    student : str
        A student id; everyone has another fault.
    """
    return systolic_array.frames_of_run(_faulty_run(find_fault.numbers(student)))


def faulty_player(student=""):
    """Return the player of :func:`faulty_frames`."""
    from trainium_edu.widgets.systolic_array import SystolicArrayPlayer

    return SystolicArrayPlayer(faulty_frames(student), cycle=0, follow=(0, 0))


@exercise("03/find-fault")
def find_fault(answer, numbers):
    """Name the row fed at the wrong time, by how many cycles, and what dst[0, 0] becomes."""
    reject_if(not has_form(answer, float, float, float), "wrong form")
    row, late, value = answer
    true_row, true_late = numbers.row, numbers.late
    if (row, late) == (true_row, true_late):
        if value == float(_faulty_run(numbers).result[0, 0]):
            return
        if value == float(_faulty_run(numbers, healthy=True).result[0, 0]):
            reject("the healthy result")
        reject("wrong result")
    beliefs = {
        "early and late": (true_row, -true_late),
        "delay instead of fault": (true_row, true_row + true_late),
        "counts from one": (true_row + 1, true_late),
    }
    recognise((row, late), beliefs)
    reject_if(row == true_row, "wrong by how much")
    reject_if(row in range(_SIDE), "a healthy row", row=row)
    reject("no such row", last=_SIDE - 1)
