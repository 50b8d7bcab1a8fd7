"""Panels around training: final accuracies, "30 % faster", and one step held in the hand."""

from collections.abc import Sequence
from functools import cache

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
from trainium_edu.widgets.sketch import Page, Sketch, choice, first, slider

__all__ = ["accuracy_picture", "faster_panel", "step_panel"]

_TOKENS = np.geomspace(64, 16384, 97)
_OPTIMIZERS = {"sgd": "SGD", "momentum": "SGD with momentum", "adam": "Adam"}


@checked
def accuracy_picture(rows: Sequence[Row]):
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
        lambda: picture.plot_accuracies(list(groups.items()), labels),
        alt=f"mean test accuracy over the seeds: {words}",
    )


@checked
def faster_panel(*, optimizer: str = "adam", utilisation: float = 0.4):
    """Show what "up to 30 % faster" would require of a training step.

    Parameters
    ----------
    optimizer : {"sgd", "momentum", "adam"}
    utilisation : float
        Share of the peak that arithmetic reaches; assumed, and a slider.

    Returns
    -------
    Sketch
        Values ``optimizer`` and ``share`` (percent).
    """
    words = _faster_words(optimizer, utilisation)
    controls = [
        choice("optimizer", "Optimizer", _OPTIMIZERS, optimizer),
        slider("share", "Share of the peak reached (assumed)", 10, 100,
               min(max(round(100 * utilisation), 10), 100)),
    ]  # fmt: skip
    return Sketch(controls, _faster_page, "What 30 % faster requires", words=[words])


def _faster_page(values) -> Page:
    """Draw the step's two shares for one optimizer and one share of the peak."""
    optimizer, utilisation = values["optimizer"], values["share"] / 100
    split = step_share(_TOKENS, optimizer=optimizer, utilisation=utilisation)
    scene = picture.draw_faster(
        _TOKENS, split.faster_by, split.update_share, _claimed(), width=values["width"]
    )
    return Page(scene, [_faster_words(optimizer, utilisation)], {"share": f"{values['share']} %"})


def _faster_words(optimizer, utilisation) -> str:
    gain = step_share(_TOKENS, optimizer=optimizer, utilisation=utilisation).faster_by
    needed = 100 * share_needed(_claimed(), optimizer=optimizer)
    most = np.interp(-_claimed(), -gain, _TOKENS) if gain[0] >= _claimed() else None
    reach = f"up to {most:.0f} tokens a step" if most else "at no size shown"
    return (
        f"{100 * _claimed():.0f} % needs the update to take {needed:.0f} % of the step. With "
        f"{_OPTIMIZERS[optimizer]} at {100 * utilisation:.0f} % of the peak that is so {reach} per "
        f"NeuronCore; at 4096 tokens the gain is {100 * np.interp(4096, _TOKENS, gain):.1f} %."
    )


def _claimed() -> float:
    return CLAIMS.stochastic_rounding_faster_by.value


_BUCKETS = {"0": "one", "4000000": "4 MB", "2500000": "2.5 MB", "1000000": "1 MB"}
_ALGORITHMS = {"ring": "ring", "kangaring": "KangaRing", "mesh": "mesh"}


def step_panel() -> Sketch:
    """Hold one step of lesson 09's wide network: ranks, buckets and algorithm as handles.

    What the handles can reach is computed between two clicks, so that a move answers at once.
    """
    controls = [
        slider("doublings", "Ranks", 1, 9, 5, help="2 to 512; an instance has 32"),
        choice("bytes", "Buckets", _BUCKETS, "2500000", help="Gradients that are summed together"),
        choice("algorithm", "Algorithm", _ALGORITHMS, "kangaring"),
    ]
    words = _step_page(first(controls)).said
    panel = Sketch(controls, _step_page, "One step in your hand", words=words)
    if not settings.lesson().quiet:
        work = (_reported(2**k, b, a) for a in _ALGORITHMS for b in _BUCKETS for k in range(1, 10))
        LiveRun(lambda: None).start(work)
    return panel


def _step_page(values) -> Page:
    """Draw the step for the handles' values; its axis of time moves in few jumps."""
    ranks = 2 ** values["doublings"]
    step = _reported(ranks, values["bytes"], values["algorithm"])
    end = next(ns for ns in (800e3, 2.4e6, 8e6, 1e9) if step.step_ns < ns)
    scene = step_scene({f"{ranks} ranks": step}, width=values["width"], end_ns=end)
    said = (
        f"**{step.step_ns / 1e3:,.0f} µs** a step: {step.compute_ns / 1e3:,.0f} of computing, and"
        f" of {step.communication_ns / 1e3:,.0f} of sums **{step.exposed_ns / 1e3:,.0f} show**;"
        f" {step.samples_per_s / 1e6:.1f} million images per second."
    )
    return Page(scene, [said], {"doublings": str(ranks)})


@cache
def _reported(ranks: int, size: str, name: str) -> StepReport:
    return scaling(Job(algorithm=name, bucket_bytes=int(size)), [ranks], task=WIDE)[0].report
