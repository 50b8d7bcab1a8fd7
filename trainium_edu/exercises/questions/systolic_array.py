"""Questions of lesson 03: the last result, enough vectors to hide a load, which operand stays."""

import numpy as np

from trainium_edu.exercises.predict import Answer, Misconception, question
from trainium_edu.neuroncore.systolic_array import (
    choice_cycles,
    choice_table,
    interval_table,
    load_cycles,
    steady_interval,
    tile_cycles,
)
from trainium_edu.specs import SOURCES, TRN1
from trainium_edu.viz.systolic_array import plot_tile_cycles
from trainium_edu.widgets.card import Prose
from trainium_edu.widgets.picture import Picture
from trainium_edu.widgets.systolic_array import array_player, reuse_explorer, stationary_explorer

_VECTORS_SHOWN = 48  # of the full array: enough to see the wave, few enough for the page


def _full_array(array):
    """Return the player of the whole array, with few vectors."""
    draw = np.random.default_rng(0)
    w = draw.standard_normal((array.rows, array.columns))
    x = draw.standard_normal((array.rows, _VECTORS_SHOWN))
    return array_player(w, x, array=array, cycle=150)


@question(
    "03/last-result",
    "How many cycles for one tile of 128 × 128 × 512?",
    unit="cycles",
    whole=True,
    wrong=[
        Misconception("load and feed only", lambda array, m, n: load_cycles(m, array) + n, "Then"
                      " the last vector has just entered row 0. Its sum still falls through the"
                      " other rows, and the last column works later than the first."),
        Misconception("fall or skew, not both", lambda array, m, n:
                          tile_cycles(m, n, array) - (m - 1),
                      "You count one way across the array. The last sum has two behind it: right"
                      " to the last column, then down to the last row."),
        Misconception("weights are there already", lambda array, m, n:
                          tile_cycles(m, n, array, loaded=True),
                      "You begin with the first vector. The question begins with the first weight:"
                      " the stationary operand has to come in first."),
        Misconception("one column a cycle", lambda array, m, n:
                          tile_cycles(m, n, array, loaded=True) + m,
                      "You load one column per cycle, as the small array above did. This one loads"
                      " four."),
    ],
)  # fmt: skip
def last_result(array, m, n):
    """Return the cycles of one tile alone."""
    load, rows = load_cycles(m, array), array.rows
    total = tile_cycles(m, n, array)
    return Answer(
        total,
        f"{load} to load, {n} to feed, {rows - 1} rows to fall through, {m - 1} columns of skew:"
        f" S + N + (R − 1) + (M − 1), with S = ⌈M / {array.load_speed}⌉. {n} of {total} cycles"
        f" feed: {n / total:.0%} utilisation. K does not appear: a sum falls through all rows,"
        " whether they hold weights or not.",
        lambda guess: [
            Picture(
                lambda: plot_tile_cycles(m, n, array=array, guess=guess),
                alt=f"One tile: load {load}, feed {n}, fall {rows - 1}, skew {m - 1} cycles,"
                f" together {total}",
            ),
            f"The same array with {_VECTORS_SHOWN} vectors. The wave that crosses it is the skew:"
            " the PE in row k and column m lives k + m cycles after the corner.",
            _full_array(array),
        ],
    )


@question(
    "03/enough-vectors",
    "New weights for every tile, loaded behind the work. From which N does the feed never stop?",
    unit="vectors",
    whole=True,
    wrong=[
        Misconception("one column a cycle", lambda array, m: m, "That would be so with one column"
                      " of weights per cycle. Four come in at once, so a shorter feed is enough."),
        Misconception("waits until the array is empty", lambda array, m:
                          load_cycles(m, array) + array.rows + m - 2,
                      "You wait until the previous tile has left. The next may enter right behind"
                      " its last vector: fall and skew of the two overlap."),
        Misconception("price of an instruction", lambda array, m:
                          int(TRN1.tensor_engine.min_initiation_cycles),
                      "That is the documented price of issuing an instruction. It is a floor too,"
                      " but not this one: ask only how long the weights take to come in."),
    ],
)  # fmt: skip
def enough_vectors(array, m):
    """Return the smallest N whose feed is as long as a load."""
    n = next(n for n in range(1, 10**6) if steady_interval(m, n, array) == n)
    return Answer(
        n,
        f"Loading {m} columns takes S = {load_cycles(m, array)} cycles; a shorter feed has to wait"
        " for it. In a stream a further tile costs max(N, S) cycles with new weights and N with"
        " the same ones; load, fall and skew are paid in full only by a tile alone.",
        lambda guess: [
            reuse_explorer(m=m, array=array, guess=guess),
            interval_table(array=array),
            Prose(
                "The red line is not our array's: max(N, 64) cycles from one MultiplyMoving to the"
                f" next, four times that for FP32 ({SOURCES['nki-trn1-arch'].cited}, Cost Model)."
                " Those 64 are the price of issuing an instruction, and our bare array has no"
                " instructions. Below N = 64 believe the document.",
            ),
        ],
    )


def _cheaper(k, rows, columns):
    prices = choice_cycles(k, rows, columns)
    x, w = (prices[name]["documented"] for name in ("x stays", "W stays"))
    return "no difference" if x == w else "the vector" if x < w else "the matrix"


@question(
    "03/who-stays",
    "Vector times matrix: which operand should be the stationary one?",
    options=["the vector", "the matrix", "no difference"],
    wrong=[
        Misconception("less to load", lambda k, rows, columns:
                          "the vector" if rows < columns else "the matrix",
                      "It loads in one cycle, but then all columns of the matrix have to march, one"
                      " per cycle."),
        Misconception("multiply-adds decide", lambda k, rows, columns: "no difference",
                      "The multiply-adds are the same. The cycles are not: what stays and what"
                      " moves enter at different speeds."),
    ],
)  # fmt: skip
def who_stays(k, rows, columns):
    """Return which choice the documented prices favour."""
    cases = [(1, 128, 4096), (64, 128, 4096), (512, 128, 4096), (4096, 128, 64)]
    return Answer(
        _cheaper(k, rows, columns),
        "What stays loads up to four columns per cycle; what moves costs a cycle per column. The"
        " guide says the same: of a small and a large free axis, prefer the large one as the"
        f" stationary operand ({SOURCES['nki-trn1-arch'].cited}, Fast LoadStationary).",
        lambda guess: [
            stationary_explorer(k=k, rows=rows, columns=columns),
            choice_table(cases),
        ],
    )
