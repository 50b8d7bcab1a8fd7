"""Questions of lesson 06: what a print makes, the last batch, four times the work, auto-cast."""

from collections import Counter

from trainium_edu.exercises.predict import Answer, Misconception, question
from trainium_edu.training.auto_cast import CASES, error_table
from trainium_edu.viz.auto_cast import plot_auto_cast
from trainium_edu.widgets.card import Prose
from trainium_edu.widgets.compiled_steps import explore, fusion_table, history, where_time_goes
from trainium_edu.widgets.picture import Picture


def _compiled(device) -> int:
    return sum(event.kind == "compiled" for event in device.compiler.history)


def _ran(device) -> int:
    return len(device.compiler.history)


@question(
    "06/print",
    "Eight steps, each with a print of the loss before mark_step. How many graphs are compiled?",
    unit="graphs",
    whole=True,
    wrong=[
        Misconception("a print is free", lambda device: _compiled(device) - 1, "That is the loop"
                      " without its print. Somebody wants to see a number that nobody has computed"
                      " yet: something has to run."),
        Misconception("a graph for each print", lambda device: 1 + _ran(device) // 2, "Each print"
                      " runs a graph, but in the second step it is the same graph as in the first:"
                      " same operations, same shapes. Only new graphs are compiled."),
        Misconception("runs for compiles", lambda device: _ran(device), "So many times something"
                      " runs. What was compiled once is found again."),
        Misconception("every step anew", lambda device: _ran(device) // 2, "The weights are others"
                      " in every step, but they are inputs: the graph does not know them."),
    ],
)  # fmt: skip
def prints(device):
    """Return how many graphs the loop's device has compiled."""
    nodes = [len(e.graph.nodes) for e in device.compiler.executables]
    return Answer(
        _compiled(device),
        "The print runs what the loss needs, the forward pass, as a graph of its own; mark_step"
        " runs the whole step. Both are the same in every step, so each is compiled once.",
        lambda guess: [
            history(device),
            f"The print's graph has {min(nodes)} operations, the step's {max(nodes)}.",
            f"{_ran(device)} runs for 8 steps: the forward pass ran twice. After mark_step the loss"
            " is there, and a print costs nothing.",
        ],
    )


def _us(executable) -> float:
    return executable.makespan_ns / 1e3


def _flops(executable) -> float:
    return sum(one.flops for one in executable.operations())


@question(
    "06/four-times",
    "A batch of 256 in place of 64: how many times longer does a step take on the chip?",
    unit="times",
    wrong=[
        Misconception("time is arithmetic", lambda small, large: _flops(large) / _flops(small),
                      "The arithmetic grows like that. But it is not what a step of this little"
                      " network waits for: look at the first column below."),
        Misconception("nothing grows", lambda small, large: 1, "Images and activations are more,"
                      " and their bytes do have to be moved."),
    ],
)  # fmt: skip
def four_times(small, large):
    """Return how many times as long the large batch's step takes."""
    opened = explore(large)
    return Answer(
        round(_us(large) / _us(small), 2),
        f"{_us(small):.1f} µs become {_us(large):.1f}: the chip mostly waits for transfers to"
        " begin, and there are as many of them as before.",
        lambda guess: [
            opened,
            f"batch 256: {_us(large):.1f} µs\n{where_time_goes(large)}",
            fusion_table(large),
        ],
    )


@question(
    "06/last-batch",
    "1437 images in batches of 64, three passes over them. How many graphs are compiled?",
    unit="graphs",
    whole=True,
    wrong=[
        Misconception("one loop, one graph", lambda device: 1, "All full batches share a graph. Is"
                      " 1437 a multiple of 64?"),
        Misconception("one for each step", lambda device: _ran(device), "Equal shapes give equal"
                      " graphs, and an equal graph is found again."),
        Misconception("one for each pass", lambda device: 3, "The cache is not emptied between"
                      " passes."),
        Misconception("the last batch of each pass", lambda device: 1 + 3, "The last batch is short"
                      " in each pass, and in each of the same length."),
    ],
)  # fmt: skip
def last_batch(device):
    """Return how many graphs the passes have compiled."""
    newest = [e for e in device.compiler.history if e.kind == "compiled"][-1]
    steps = Counter(e.graph for e in device.compiler.history)
    return Answer(
        _compiled(device),
        f"The {1437 % 64} images that are left over are another shape, so another graph, for"
        f" {steps[newest.graph]} steps of {_ran(device)}. Drop them, or pad them to 64.",
        lambda guess: history(device),
    )


def _worst(errors) -> str:
    return max(errors, key=lambda name: errors[name]["all"])


def _says(name, sentence):
    return Misconception(name, lambda errors: name, sentence)


@question(
    "06/auto-cast",
    "--auto-cast all, in BF16. Which result does it spoil most?",
    options=list(CASES),
    wrong=[
        _says("a matrix product", "Products lose least: errors of many terms average out, and the"
              " sums stay in FP32 in PSUM."),
        _says("a softmax", "A softmax subtracts the largest score first, so what it takes exp of is"
              " small; each probability keeps two to three digits."),
        _says("layer norm of numbers near 100", "That is the second: near 100 BF16's numbers lie a"
              " half apart, and the spread to be measured is 1. One result is spoiled even more."),
    ],
)  # fmt: skip
def auto_cast(errors):
    """Return the computation with the largest error under ``all``."""
    worst = _worst(errors)
    return Answer(
        worst,
        "A weight near 1 has neighbours 1/256 or 1/128 away, and the update is a thousandth: it"
        " vanishes in the rounding, as in lesson 02. Master weights or dice are the remedies.",
        lambda guess: [
            Picture(
                lambda: plot_auto_cast(errors),
                alt="Errors under auto-cast all: "
                + ", ".join(f"{name} {of['all']:.2g}" for name, of in errors.items()),
            ),
            error_table(errors),
            Prose(
                "So `matmult` costs little accuracy, and products are where the Tensor Engine gains"
                " its speed. `all` needs care: keep normalisation, losses and updates wide, or"
                " throw dice for what is stored: `XLA_USE_BF16=1` turned stochastic rounding on"
                " together with BF16."
            ),
        ],
    )
