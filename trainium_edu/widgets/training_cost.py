"""Two panels around training: final accuracies, and what "30 % faster" would require."""

from collections.abc import Sequence

import numpy as np

from trainium_edu.specs import CLAIMS
from trainium_edu.specs.signatures import checked
from trainium_edu.training import ARMS, share_needed, step_share
from trainium_edu.training.accuracy_sweep import Row
from trainium_edu.viz import training as picture
from trainium_edu.widgets.picture import Picture
from trainium_edu.widgets.sketch import Page, Sketch, choice, slider

__all__ = ["accuracy_picture", "faster_panel"]

_TOKENS = np.geomspace(64, 16384, 97)


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
    offered = {"sgd": "SGD", "momentum": "SGD with momentum", "adam": "Adam"}
    first = _faster_words(optimizer, utilisation)
    controls = [
        choice("optimizer", "Optimizer", offered, optimizer),
        slider("share", "Share of the peak reached (assumed)", 10, 100,
               min(max(round(100 * utilisation), 10), 100)),
    ]  # fmt: skip
    return Sketch(controls, _faster_page, "What 30 % faster requires", words=[first])


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
        f"{optimizer} at {100 * utilisation:.0f} % of the peak that is so {reach} per "
        f"NeuronCore; at 4096 tokens the gain is {100 * np.interp(4096, _TOKENS, gain):.1f} %."
    )


def _claimed() -> float:
    return CLAIMS.stochastic_rounding_faster_by.value
