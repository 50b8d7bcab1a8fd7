"""Questions of lesson 06: what a print makes, the last batch, four times the work, auto-cast."""

from collections import Counter

from trainium_edu.exercises.predict import Answer, question
from trainium_edu.training.auto_cast import error_table
from trainium_edu.viz.numbers import Numbers
from trainium_edu.widgets.compiled_steps import explore, fusion_table, history, where_time_goes


def _compiled(device) -> int:
    return sum(event.kind == "compiled" for event in device.compiler.history)


def _ran(device) -> int:
    return len(device.compiler.history)


@question("06/print")
def prints(device):
    """Return how many graphs the loop's device has compiled."""
    nodes = [len(e.graph.nodes) for e in device.compiler.executables]
    return Answer(
        _compiled(device),
        wrong={
            "a print is free": _compiled(device) - 1,
            "a graph for each print": 1 + _ran(device) // 2,
            "runs for compiles": _ran(device),
            "every step anew": _ran(device) // 2,
        },
        terms={"least": min(nodes), "most": max(nodes), "ran": _ran(device)},
        show=lambda guess: history(device),
    )


def _us(executable) -> float:
    return executable.makespan_ns / 1e3


@question("06/four-times")
def four_times(small, large):
    """Return how many times as long the large batch's step takes."""
    opened = explore(large)
    flops = [sum(one.flops for one in each.operations()) for each in (small, large)]
    return Answer(
        round(_us(large) / _us(small), 2),
        wrong={"time is arithmetic": flops[1] / flops[0]},
        terms={"small_us": _us(small), "large_us": _us(large)},
        show=lambda guess: [
            opened,
            f"batch 256: {_us(large):.1f} µs\n{where_time_goes(large)}",
            fusion_table(large),
        ],
    )


@question("06/last-batch")
def last_batch(device):
    """Return how many graphs the passes have compiled."""
    newest = [e for e in device.compiler.history if e.kind == "compiled"][-1]
    steps = Counter(e.graph for e in device.compiler.history)
    return Answer(
        _compiled(device),
        wrong={"one for each step": _ran(device)},
        terms={"short": 1437 % 64, "step": steps[newest.graph], "ran": _ran(device)},
        show=lambda guess: history(device),
    )


_EXACT = 1e-4  # an error of nothing, on a logarithmic axis


@question("06/auto-cast")
def auto_cast(errors):
    """Return the computation with the largest error under ``all``."""
    bars = {}
    for name, of in errors.items():
        bars |= {f"{name}, {mode}": 100 * max(of[mode], _EXACT) for mode in ("matmult", "all")}
    return Answer(
        max(errors, key=lambda name: errors[name]["all"]),
        show=lambda guess: Numbers(
            error_table(errors),
            "Error, in % of the spread of the FP32 result",
            bars,
            spell=lambda error: "exact" if error == 100 * _EXACT else f"{error:.3g} %",
            log=True,
        ),
    )
