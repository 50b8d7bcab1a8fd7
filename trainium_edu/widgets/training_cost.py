"""Panels around training: final accuracies, "30 % faster", and one step held in the hand."""

from collections.abc import Sequence
from functools import cache, partial
from itertools import product

import numpy as np

from trainium_edu import settings
from trainium_edu.specs import CLAIMS
from trainium_edu.specs.signatures import checked
from trainium_edu.training import ARMS, Job, StepReport, scaling, share_needed, step_share
from trainium_edu.training.accuracy_sweep import Row
from trainium_edu.training.digits_on_ranks import WIDE
from trainium_edu.viz import training as picture
from trainium_edu.viz.data_parallel import step_scene
from trainium_edu.widgets.live import LiveRun
from trainium_edu.widgets.picture import Picture
from trainium_edu.widgets.sketch import RECIPES, Page, Sketch, say, sketch

__all__ = ["accuracy_picture", "faster_panel", "step_panel"]

_TOKENS = np.geomspace(64, 16384, 97)
_OPTIMIZERS = RECIPES["faster"]["controls"]["optimizer"]["options"]


@checked
def accuracy_picture(rows: Sequence[Row]) -> Picture:
    """Show final accuracies of a sweep, one dot per seed.

    Parameters
    ----------
    rows : sequence of Row
        From ``run_sweep`` or ``stored_sweep``.

    Returns
    -------
    Picture
    """
    groups: dict[str, dict] = {}
    for row in rows:
        title = f"rate {row.learning_rate:g}, {row.epochs} epochs"
        groups.setdefault(title, {})[row.arm] = row.accuracies
    words = "; ".join(
        f"{title}: " + ", ".join(f"{ARMS[a].short} {np.mean(v):.1f} %" for a, v in arms.items())
        for title, arms in groups.items()
    )
    labels = {name: arm.short for name, arm in ARMS.items()}
    return Picture(
        partial(picture.draw_accuracies, list(groups.items()), labels),
        alt=f"mean test accuracy over the seeds: {words}",
    )


@checked
def faster_panel() -> Sketch:
    """Show what "up to 30 % faster" would require of a training step.

    Returns
    -------
    Sketch
        Values ``optimizer`` and ``share`` (percent of the peak that arithmetic reaches; assumed).
    """
    return sketch("faster", _faster_page)


def _faster_page(values) -> Page:
    """Draw the step's two shares for one optimizer and one share of the peak."""
    optimizer, share = values["optimizer"], values["share"]
    claimed = CLAIMS.stochastic_rounding_faster_by.value
    split = step_share(_TOKENS, optimizer=optimizer, utilisation=share / 100)
    gain = split.faster_by
    scene = picture.draw_faster(_TOKENS, gain, split.update_share, claimed, width=values["width"])
    needed = 100 * share_needed(claimed, optimizer=optimizer)
    most = np.interp(-claimed, -gain, _TOKENS) if gain[0] >= claimed else None
    reach = f"up to {most:.0f} tokens a step" if most else "at no size shown"
    numbers = {"claimed": 100 * claimed, "gain": 100 * np.interp(4096, _TOKENS, gain)}
    words = {"needed": needed, "reach": reach, "optimizer": _OPTIMIZERS[optimizer], "share": share}
    said = say("faster", **numbers, **words)
    return Page(scene, said, {"share": f"{share} %"})


def step_panel() -> Sketch:
    """Hold one step of lesson 09's wide network: ranks, buckets and algorithm as handles.

    What the handles can reach is computed between two clicks, so that a move answers at once.
    """
    panel = sketch("step", _step_page)
    if not settings.lesson().quiet:
        _, sizes, names = ([value for value, _ in one.get("options", ())] for one in panel.controls)
        each = product(names, sizes, range(1, 10))
        LiveRun(lambda: None).start(_reported(2**k, size, name) for name, size, k in each)
    return panel


def _step_page(values) -> Page:
    """Draw the step for the handles' values; its axis of time moves in few jumps."""
    ranks = 2 ** values["doublings"]
    step = _reported(ranks, values["bytes"], values["algorithm"])
    end = next(ns for ns in (800e3, 2.4e6, 8e6, 1e9) if step.step_ns < ns)
    scene = step_scene({f"{ranks} ranks": step}, width=values["width"], end_ns=end)
    ns = {"compute": step.compute_ns, "sums": step.communication_ns, "exposed": step.exposed_ns}
    times_us = {name: time / 1e3 for name, time in (ns | {"step": step.step_ns}).items()}
    said = say("step", rate=step.samples_per_s / 1e6, **times_us)
    return Page(scene, said, {"doublings": str(ranks)})


@cache
def _reported(ranks: int, size: str, name: str) -> StepReport:
    return scaling(Job(algorithm=name, bucket_bytes=int(size)), [ranks], task=WIDE)[0].report
