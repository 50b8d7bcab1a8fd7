"""Questions of lesson 03: the last result, enough vectors to hide a load, which operand stays."""

import numpy as np

from trainium_edu.exercises.predict import Answer, question
from trainium_edu.neuroncore import systolic_array
from trainium_edu.viz.numbers import Numbers
from trainium_edu.widgets.systolic_array import array_player, reuse_explorer, stationary_explorer

_VECTORS_SHOWN = 48  # of the full array: enough to see the wave, few enough for the page


def _full_array(array):
    """Return the player of the whole array, with few vectors."""
    draw = np.random.default_rng(0)
    w = draw.standard_normal((array.rows, array.columns))
    x = draw.standard_normal((array.rows, _VECTORS_SHOWN))
    return array_player(w, x, array=array, cycle=150)


@question("03/last-result")
def last_result(array, m, n):
    """Return the cycles of one tile alone."""
    load, rows = systolic_array.load_cycles(m, array), array.rows
    total = systolic_array.tile_cycles(m, n, array)
    parts = {"load": load, "feed": n, "fall": rows - 1, "skew": m - 1}
    spelled = ", ".join(f"{name} {cycles}" for name, cycles in parts.items())
    text = f"{spelled} cycles, together {total}"
    return Answer(
        total,
        wrong={
            "load and feed only": load + n,
            "fall or skew, not both": total - (m - 1),
            "weights are there already": total - load,
            "one column a cycle": total - load + m,
            "rows and columns in full": load + n + rows + m,
            "textbook, weights inside": n + rows + m - 1,
            "the feed alone": n,
            "the feed and one crossing": n + rows,
        },
        terms={"load": load, "down": rows - 1, "across": m - 1, "total": total, "busy": n / total},
        show=lambda guess: [
            Numbers(text, "First weight in to last result out, in cycles", {"one tile": parts}),
            f"The same array with {_VECTORS_SHOWN} vectors. The wave that crosses it is the skew:"
            " the PE in row k and column m lives k + m cycles after the corner.",
            _full_array(array),
        ],
    )


@question("03/enough-vectors")
def enough_vectors(array, m):
    """Return the smallest N whose feed is as long as a load."""
    n = next(n for n in range(1, 10**6) if systolic_array.steady_interval(m, n, array) == n)
    load, crossing = systolic_array.load_cycles(m, array), array.rows + m - 2
    return Answer(
        n,
        wrong={
            "price of an instruction": systolic_array.documented_issue_cycles(1, array=array),
            "one column a cycle": m,
            "waits until the array is empty": load + crossing,
            "the largest tile": array.moving_max,
            "fall and skew": crossing,
        },
        terms={"load": load},
        show=lambda guess: [
            reuse_explorer(m=m, array=array, guess=guess),
            Numbers(systolic_array.interval_table(array=array)),
        ],
    )


def _cheaper(k, rows, columns):
    prices = systolic_array.choice_cycles(k, rows, columns)
    x, w = (prices[name]["documented"] for name in ("x stays", "W stays"))
    if x == w:
        return "no difference"
    return "the vector" if x < w else "the matrix"


@question("03/who-stays")
def who_stays(k, rows, columns):
    """Return which choice the documented prices favour."""
    cases = [(1, 128, 4096), (64, 128, 4096), (512, 128, 4096), (4096, 128, 64)]
    return Answer(
        _cheaper(k, rows, columns),
        wrong={"less to load": "the vector" if rows < columns else "the matrix"},
        show=lambda guess: [
            stationary_explorer(k=k, rows=rows, columns=columns),
            Numbers(systolic_array.choice_table(cases)),
        ],
    )
