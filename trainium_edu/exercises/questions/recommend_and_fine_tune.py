"""Questions of lesson 09c: a score nobody beats, what bounds lookups, and what few labels teach."""

import math
from bisect import bisect
from functools import partial

from trainium_edu.exercises.predict import Answer, question, words_of
from trainium_edu.exercises.questions.tables import numbers, pictured
from trainium_edu.training import nn
from trainium_edu.training.fine_tuning import BEGINNINGS
from trainium_edu.training.scaled import scaling
from trainium_edu.training.shop import ITEMS
from trainium_edu.training.tasks import TASKS, Task
from trainium_edu.training.trainer import Job
from trainium_edu.viz.fine_tuning import describe_curve, draw_curve
from trainium_edu.viz.lookups import describe_paces, draw_paces

_SHOWN = words_of(__file__)["shown"]

# --- a score that nobody beats --------------------------------------------------------------------


def bound_table(shop, reached: float):
    """Return the loss that was reached, beside that of knowing nothing and the least there is."""
    known = {"who says one half": math.log(2), "after 320 steps": reached}
    known["who knows every bias"] = shop.best_loss
    return numbers(_SHOWN["bound"], known.items())


@question("09c/bound")
def bound(shop, reached, monitor):
    """Return what bounds the loss on new baskets; once it is known, the run's curve shows it."""

    def show(guess):
        monitor.setting = {**monitor.setting, "bound": shop.best_loss}
        return [bound_table(shop, reached)]

    return Answer(2, show=show)


# --- lookups --------------------------------------------------------------------------------------


def step_of(width: int, batch: int = 256):
    """Return the report of a step of the recommender on 32 ranks, its tables so wide."""
    task = Task(f"baskets-{width}", lambda: nn.Recommender(ITEMS, width), TASKS["baskets"].data)
    job = Job(task="baskets", optimizer="adamw", lr=0.03, batch=batch)
    return scaling(job, [32], task=task)[0].report


def lookups_text(found) -> str:
    """Return how many rows a step looks up, and how long that takes."""
    return _SHOWN["lookups"].format(found.rows, found.bytes // found.rows, found.dma_ns / 1e3)


def _apart(found) -> str:
    """Return what descriptors and bytes would take alone."""
    return _SHOWN["apart"].format(found.rows_ns / 1e3, found.bytes_ns / 1e3)


@question("09c/lookups")
def lookups(narrow, wide, paces):
    """Return the microseconds in which DMA works on the lookups of wider rows."""
    first = next(one for one in paces if one.ns_per_row > 1.05 * paces[0].ns_per_row)
    return Answer(
        round(wide.dma_ns / 1e3, 1),
        wrong={
            "bytes take time": 8 * narrow.dma_ns / 1e3,
            "the bytes alone": wide.bytes_ns / 1e3,
            "twice": 2 * narrow.dma_ns / 1e3,
        },
        terms={"burst_ns": wide.dma_ns / wide.rows, "width": first.width},
        show=lambda guess: [
            f"{lookups_text(wide)}\n{_apart(wide)}",
            *pictured(partial(draw_paces, paces), describe_paces(paces)),
        ],
    )


# --- few labels -----------------------------------------------------------------------------------


def _mean(rows, per_author, beginning):
    return next(r.mean for r in rows if (r.per_author, r.beginning) == (per_author, beginning))


def scratch_text(rows) -> str:
    """Return what the encoder from scratch gets right with the fewest labels."""
    row = next(one for one in rows if one.beginning == BEGINNINGS[1])
    seeds = ", ".join(f"{one:.0f}" for one in row.accuracies)
    return _SHOWN["scratch"].format(row, seeds)


@question("09c/few-labels")
def few_labels(rows):
    """Return the per cent that the pre-trained encoder names right, on average over seeds."""
    read, scratch = (_mean(rows, 4, beginning) for beginning in BEGINNINGS)
    right = {"from scratch": round(scratch), "pre-trained": round(read)}
    return Answer(
        round(read),
        wrong={"no labels, no gain": round(_mean(rows, 4, BEGINNINGS[1]))},
        terms={"read": read, "scratch": scratch},
        show=lambda guess: numbers(_SHOWN["labels"], right.items()),
    )


def _lead(rows, per_author):
    return _mean(rows, per_author, BEGINNINGS[0]) - _mean(rows, per_author, BEGINNINGS[1])


@question("09c/many-labels")
def many_labels(rows):
    """Return what becomes of the lead."""
    first, last = (_lead(rows, n) for n in (rows[0].per_author, rows[-1].per_author))
    return Answer(
        3 if last < 0 else 2 - bisect((0.8, 1.2), last / first),
        terms={"first": first, "last": last},
        show=lambda guess: pictured(partial(draw_curve, rows), describe_curve(rows)),
    )
