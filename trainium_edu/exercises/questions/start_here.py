"""Questions of lesson 00: work done while light crosses a room, BF16's next number, a first run."""

from math import inf, nextafter

from trainium_edu.exercises.predict import Answer, question
from trainium_edu.numerics import cast
from trainium_edu.numerics.grid import land
from trainium_edu.training import digits, train
from trainium_edu.viz.numbers import Numbers

_LIGHT_METRES_PER_S = 299_792_458  # by definition of the metre


def _workers(chip):
    engine = chip.tensor_engine
    return engine.rows.value * engine.columns.value


def _beats(chip, metres):
    return metres / _LIGHT_METRES_PER_S * chip.tensor_engine.clock_hz.value


def _rounded(count):
    return round(count, -3)


@question("00/light")
def light(chip, metres):
    """Return the multiply-accumulates of one chip while light goes some metres."""
    workers, beats = chip.cores.value * _workers(chip), _beats(chip, metres)
    spelled = f"{workers:,}"
    return Answer(
        _rounded(workers * beats),
        wrong={
            "beats of the clock": round(_beats(chip, metres)),
            "one beat": chip.cores.value * _workers(chip),
            "one core": _rounded(_workers(chip) * _beats(chip, metres)),
            "operations": _rounded(2 * chip.cores.value * _workers(chip) * _beats(chip, metres)),
        },
        terms={"spelled": spelled, "beats": beats},
    )


def _next(x, fmt):
    """Return the next number of a format above one that it has."""
    return land(nextafter(x, inf), fmt).above


def _spelled(x):
    return f"{x:.10g}"


@question("00/after-256")
def after(x):
    """Return BF16's next number after x."""
    end = _next(x, "bf16")
    asked = [x + q * (end - x) for q in (0.125, 0.25, 0.5, 0.75, 1, 1.5)]
    landed = ", ".join(f"{_spelled(v)} → {_spelled(float(cast(v, 'bf16')))}" for v in asked)
    return Answer(
        _spelled(end),
        wrong={
            "one step everywhere": _spelled(x + _next(1.0, "bf16") - 1.0),
            "FP16's step": _spelled(_next(x, "fp16")),
            "whole numbers at least": _spelled(x + 1),
        },
        show=lambda guess: f"Where they land: {landed}",
    )


def _history(learning_rate, passes):
    """Train the lesson's network without its film."""
    return train(
        "stochastic", learning_rate=learning_rate, epochs=passes, seeds=[0], rounding_seed=0
    )


def _read(history):
    """Return how many test images are read after each pass."""
    return [round(share * len(digits().test_labels)) for share in history.accuracy[:, 0]]


@question("00/reads")
def reads(learning_rate, passes):
    """Return how many test images the trained network reads."""
    history = _history(learning_rate, passes)
    read = _read(history)
    chosen = [n for n in (1, 2, 5, 10, 20) if n <= passes]
    rows = [
        f"pass {n:2}: mean loss {history.loss[n - 1, 0]:.3f}, then reads {read[n - 1]}"
        for n in chosen
    ]

    def show(guess):
        first = next((n for n, r in enumerate(read, 1) if guess is not None and r >= guess), None)
        when = f"reached by the end of pass {first}" if first else "never reached"
        bars = {f"pass {n}": {"": read[n - 1]} for n in chosen}
        drawn = Numbers("\n".join(rows), "New images read after each pass", bars)
        return [drawn] if guess is None else [drawn, f"your {guess:g}: {when}"]

    images = len(digits().test_labels)
    return Answer(
        read[-1],
        wrong={
            "guessing": len(digits().test_labels) // 10,
            "all of them": len(digits().test_labels),
            "one pass": _read(_history(learning_rate, 1))[-1],
        },
        terms={"misread": images - read[-1], "by_chance": images // 10},
        show=show,
    )
