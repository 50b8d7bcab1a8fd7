"""Two panels around training: final accuracies, and what "30 % faster" would require."""

import ipywidgets
import numpy as np

from trainium_edu.specs import CLAIMS
from trainium_edu.training import ARMS, share_needed, step_share
from trainium_edu.viz import training as picture
from trainium_edu.widgets.picture import Panel, Picture

__all__ = ["accuracy_picture", "faster_panel"]

_WIDE = {"description_width": "initial"}


def accuracy_picture(rows):
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


def faster_panel(*, optimizer: str = "adam", utilisation: float = 0.4):
    """Show what "up to 30 % faster" would require of a training step.

    Parameters
    ----------
    optimizer : {"sgd", "momentum", "adam"}
    utilisation : float
        Share of the peak that arithmetic reaches; assumed, and a slider.

    Returns
    -------
    Panel
    """
    claimed = CLAIMS.stochastic_rounding_faster_by.value
    tokens = np.geomspace(64, 16384, 97)
    kind = ipywidgets.Dropdown(
        options=["sgd", "momentum", "adam"], value=optimizer, description="optimizer", style=_WIDE
    )
    share = ipywidgets.FloatSlider(
        utilisation, min=0.1, max=1.0, step=0.05, description="share of peak reached (assumed)",
        style=_WIDE, layout={"width": "360px"},
    )  # fmt: skip
    words = ipywidgets.HTML()

    def now():
        return step_share(tokens, optimizer=kind.value, utilisation=share.value)

    def sentence():
        gain = now().faster_by
        needed = 100 * share_needed(claimed, optimizer=kind.value)
        most = np.interp(-claimed, -gain, tokens) if gain[0] >= claimed else None
        reach = f"up to {most:.0f} tokens a step" if most else "at no size shown"
        return (
            f"{100 * claimed:.0f} % needs the update to take {needed:.0f} % of the step. With "
            f"{kind.value} at {100 * share.value:.0f} % of the peak that is so {reach} per "
            f"NeuronCore; at 4096 tokens the gain is {100 * np.interp(4096, tokens, gain):.1f} %."
        )

    def draw():
        split = now()
        return picture.plot_faster(tokens, split.faster_by, split.update_share, claimed)

    shown = Picture(draw, alt=sentence)

    def update(_change=None):
        words.value = f"<span aria-live='polite'>{sentence()}</span>"
        shown.redraw()

    for control in (kind, share):
        control.observe(update, "value")
    words.value = sentence()
    controls = ipywidgets.HBox([kind, share], layout={"flex_flow": "row wrap"})
    return Panel([controls, shown, words], f"what 30 % faster requires; {sentence()}")
