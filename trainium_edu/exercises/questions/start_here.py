"""Questions of lesson 00: work done while light crosses a room, BF16's next number, a first run."""

from math import inf, nextafter

from trainium_edu.exercises.predict import Answer, question, words_of
from trainium_edu.exercises.questions.tables import numbers
from trainium_edu.numerics import cast
from trainium_edu.numerics.grid import land
from trainium_edu.training import digits, train

_LIGHT_METRES_PER_S = 299_792_458  # by definition of the metre


@question("00/light")
def light(chip, metres):
    """Return the multiply-accumulates of one chip while light goes some metres."""
    engine, cores = chip.tensor_engine, chip.cores.value
    workers = cores * engine.rows.value * engine.columns.value
    beats = metres / _LIGHT_METRES_PER_S * engine.clock_hz.value
    return Answer(
        round(workers * beats, -3),
        wrong={
            "beats of the clock": round(beats),
            "one beat": workers,
            "one core": round(workers / cores * beats, -3),
            "operations": round(2 * workers * beats, -3),
        },
        terms={"spelled": f"{workers:,}", "beats": beats},
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


@question("00/reads")
def reads(learning_rate, passes):
    """Return how many test images the trained network reads."""
    history = train(
        "stochastic", learning_rate=learning_rate, epochs=passes, seeds=[0], rounding_seed=0
    )
    images = len(digits().test_labels)
    read = [round(share * images) for share in history.accuracy[:, 0]]
    chosen = [n for n in (1, 2, 5, 10, 20) if n <= passes]
    rows = [(n, history.loss[n - 1, 0], read[n - 1]) for n in chosen]

    def show(guess):
        first = next((n for n, r in enumerate(read, 1) if guess is not None and r >= guess), None)
        when = f"reached by the end of pass {first}" if first else "never reached"
        bars = {f"pass {n}": read[n - 1] for n in chosen}
        drawn = numbers(words_of(__file__)["shown"]["reads"], rows, bars)
        return [drawn] if guess is None else [drawn, f"your {guess:g}: {when}"]

    return Answer(
        read[-1],
        wrong={"guessing": images // 10, "all of them": images, "one pass": read[0]},
        terms={"misread": images - read[-1], "by_chance": images // 10},
        show=show,
    )
