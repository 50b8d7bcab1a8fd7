"""Questions of lesson 00: work done while light crosses a room, BF16's next number, a first run."""

from math import inf, nextafter

from trainium_edu.exercises.predict import Answer, Misconception, question
from trainium_edu.numerics import cast
from trainium_edu.numerics.grid import land
from trainium_edu.training import digits, train

_LIGHT_METRES_PER_S = 299_792_458  # by definition of the metre


def _workers(chip):
    engine = chip.tensor_engine
    return engine.rows.value * engine.columns.value


def _beats(chip, metres):
    return metres / _LIGHT_METRES_PER_S * chip.tensor_engine.clock_hz.value


def _rounded(count):
    return round(count, -3)


@question(
    "00/light",
    "How many multiply-accumulates does one chip do while light crosses the room?",
    wrong=[
        Misconception("beats of the clock", lambda chip, metres: round(_beats(chip, metres)),
                      "That many times the clock beats meanwhile: the work of a single worker. The"
                      " grid has thousands of them, side by side."),
        Misconception("one beat", lambda chip, metres: chip.cores.value * _workers(chip),
                      "That is every worker of the chip once. In 33 nanoseconds its clock beats"
                      " many times."),
        Misconception("one core", lambda chip, metres:
                          _rounded(_workers(chip) * _beats(chip, metres)),
                      "That is one Tensor Engine. A chip has two NeuronCores, each with one."),
        Misconception("operations", lambda chip, metres:
                          _rounded(2 * chip.cores.value * _workers(chip) * _beats(chip, metres)),
                      "That counts the multiplication and the addition separately, as FLOP do. One"
                      " multiply-accumulate is both."),
    ],
)  # fmt: skip
def light(chip, metres):
    """Return the multiply-accumulates of one chip while light goes some metres."""
    workers, beats = chip.cores.value * _workers(chip), _beats(chip, metres)
    spelled = f"{workers:_}".replace("_", " ")
    return Answer(
        _rounded(workers * beats),
        f"{spelled} workers on a chip, each for {beats:.0f} beats of its clock.",
    )


def _next(x, fmt):
    """Return the next number of a format above one that it has."""
    return land(nextafter(x, inf), fmt).above


def _spelled(x):
    return f"{x:.10g}"


@question(
    "00/after-256",
    "In BF16, which number comes next after 256?",
    options=["256.0078125", "256.25", "257", "258"],
    wrong=[
        Misconception("one step everywhere",
                      lambda x: _spelled(x + _next(1.0, "bf16") - 1.0), "1/128 is the step next to"
                      " 1. It doubles at every power of two, and 256 is eight doublings away."),
        Misconception("FP16's step", lambda x: _spelled(_next(x, "fp16")), "FP16 has that one, with"
                      " ten bits for the place between powers of two. BF16 has seven: it spends"
                      " the others on range."),
        Misconception("whole numbers at least", lambda x: _spelled(x + 1), "As if each whole"
                      " number were there. Sixteen bits that reach to 10³⁸ cannot hold them all."),
    ],
)  # fmt: skip
def after(x):
    """Return BF16's next number after x."""
    end = _next(x, "bf16")
    asked = [x + q * (end - x) for q in (0.125, 0.25, 0.5, 0.75, 1, 1.5)]
    landed = ", ".join(f"{_spelled(v)} → {_spelled(float(cast(v, 'bf16')))}" for v in asked)
    return Answer(
        _spelled(end),
        "So far from zero BF16 has only some of the whole numbers; one that lies half-way between"
        " two goes to the even one.",
        lambda guess: f"where they land: {landed}",
    )


def _history(learning_rate, passes):
    """Train the lesson's network without its film."""
    return train(
        "stochastic", learning_rate=learning_rate, epochs=passes, seeds=[0], rounding_seed=0
    )


def _read(history):
    """Return how many test images are read after each pass."""
    return [round(share * len(digits().test_labels)) for share in history.accuracy[:, 0]]


@question(
    "00/reads",
    "How many of the 360 new images will it read correctly?",
    unit="images",
    whole=True,
    above=-1,
    most=360,
    wrong=[
        Misconception("guessing", lambda learning_rate, passes: len(digits().test_labels) // 10,
                      "That is what blind guessing gets, one in ten: as if it had learned nothing"
                      " from twenty passes."),
        Misconception("all of them", lambda learning_rate, passes: len(digits().test_labels),
                      "It has never seen these. Some are written like no image it was trained on,"
                      " and those it misreads."),
        Misconception("one pass", lambda learning_rate, passes:
                          _read(_history(learning_rate, 1))[-1],
                      "That is what it reads after the first pass; nineteen more follow."),
    ],
)  # fmt: skip
def reads(learning_rate, passes):
    """Return how many test images the trained network reads."""
    history = _history(learning_rate, passes)
    read = _read(history)
    chosen = [n for n in (1, 2, 5, 10, 20) if n <= passes]
    rows = [f"pass {n:2}: mean loss {history.loss[n - 1, 0]:.3f}, then reads {read[n - 1]}"
            for n in chosen]  # fmt: skip

    def show(guess):
        first = next((n for n, r in enumerate(read, 1) if guess is not None and r >= guess), None)
        when = f"reached by the end of pass {first}" if first else "never reached"
        return "\n".join(rows if guess is None else [*rows, f"your {guess:g}: {when}"])

    images = len(digits().test_labels)
    return Answer(
        read[-1],
        f"At the end it misreads {images - read[-1]}. Blind guessing would read {images // 10}.",
        show,
    )
