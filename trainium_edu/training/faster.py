"""What "up to 30 % faster" would require: the share of a step that the weight update may take.

A training step is arithmetic (6 FLOP per parameter and token) and one weight update (bytes per
parameter).  Stochastic rounding touches only the second part.  This file divides published peaks
into these two, and nothing more: it is arithmetic on paper, no measurement.
"""

from dataclasses import dataclass

import numpy as np

from trainium_edu.specs import CLAIMS, TRN1, Record
from trainium_edu.specs.arguments import number
from trainium_edu.specs.signatures import Numbers, checked
from trainium_edu.training.arms import footprint

__all__ = ["FLOP_PER_PARAMETER_AND_TOKEN", "StepShare", "share_needed", "step_share"]

FLOP_PER_PARAMETER_AND_TOKEN = 6  #: forward 2, backward 4: the usual count for dense layers


@dataclass(frozen=True, slots=True)
class StepShare:
    """One step of one NeuronCore, in seconds per parameter."""

    arithmetic_s: np.ndarray | float
    update_s: np.ndarray | float  #: update with FP32 master weights
    stochastic_update_s: np.ndarray | float  #: update of BF16 weights, stochastically rounded

    @property
    def update_share(self):
        """Share of the step with master weights that the update takes."""
        return self.update_s / (self.arithmetic_s + self.update_s)

    @property
    def faster_by(self):
        """How much faster the step becomes: 0.3 is 30 %."""
        after = self.arithmetic_s + self.stochastic_update_s
        return (self.arithmetic_s + self.update_s) / after - 1


@checked
def step_share(
    tokens: Numbers, *, optimizer: str = "adam", utilisation: float = 0.4, chip: Record = TRN1
):
    """Split a step of one NeuronCore into arithmetic and weight update.

    Parameters
    ----------
    tokens : float or float[n]
        Tokens (or images) that one NeuronCore sees in one step; positive.
    optimizer : {"sgd", "momentum", "adam"}
    utilisation : float
        Share of the peak that the arithmetic reaches; assumed, between 0 and 1.
    chip : Record, optional

    Returns
    -------
    StepShare

    Raises
    ------
    ValueError
        If `tokens` or `utilisation` is out of range.

    Notes
    -----
    The update is taken to run at the core's full share of the memory bandwidth, and not to overlap
    with arithmetic; where it does overlap, there is less to gain.

    Examples
    --------
    >>> bool(step_share(4096).faster_by < 0.1 < step_share(512).faster_by)
    True
    """
    utilisation = number(utilisation, "utilisation", high=1, above=0)
    tokens = np.asarray(tokens, dtype=float)
    if not (np.isfinite(tokens) & (tokens > 0)).all():
        raise ValueError("tokens must be positive and finite: a step needs some")
    flops = chip.tensor_engine.peak_flops.value * utilisation
    bytes_per_s = chip.hbm_bytes_per_s.value / chip.cores.value
    return StepShare(
        FLOP_PER_PARAMETER_AND_TOKEN * tokens / flops,
        footprint("master", optimizer).update_traffic_bytes / bytes_per_s,
        footprint("stochastic", optimizer).update_traffic_bytes / bytes_per_s,
    )


@checked
def share_needed(faster_by: float | None = None, *, optimizer: str = "adam") -> float:
    """Return the share of a step that the update must take for a given gain.

    Parameters
    ----------
    faster_by : float, optional
        The claimed gain unless given, 0.3; positive.
    optimizer : {"sgd", "momentum", "adam"}

    Returns
    -------
    float

    Notes
    -----
    If the update takes a share ``u`` and moves ``k`` times fewer bytes, the step gets faster by
    ``1 / (1 - u (1 - 1/k)) - 1``; solved for ``u``.

    Examples
    --------
    >>> round(share_needed(0.3), 3)
    0.462

    References
    ----------
    `aws-news-trn1-launch` in :data:`trainium_edu.specs.SOURCES`.
    """
    gain = CLAIMS.stochastic_rounding_faster_by.value if faster_by is None else faster_by
    gain = number(gain, "faster_by", above=0)
    before = footprint("master", optimizer).update_traffic_bytes
    after = footprint("stochastic", optimizer).update_traffic_bytes
    return (1 - 1 / (1 + gain)) / (1 - after / before)
