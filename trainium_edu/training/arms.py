"""Four ways to keep the weights of a network, and what each of them stores and moves.

An *arm* is one side of the lesson's experiment: what the multiplications see, what is kept from
step to step, and how the update is rounded on its way back into storage.
"""

from dataclasses import dataclass

from trainium_edu.specs.arguments import choice
from trainium_edu.specs.signatures import checked

__all__ = ["ARMS", "OPTIMIZERS", "Arm", "Footprint", "footprint", "footprint_table", "get_arm"]

_BYTES = {"fp32": 4, "bf16": 2}
#: Running averages that an optimizer keeps for each weight.
OPTIMIZERS = {"sgd": 0, "momentum": 1, "adam": 2}


@dataclass(frozen=True, slots=True)
class Arm:
    """The formats of one network: in which it computes, keeps weights and rounds its update."""

    name: str
    label: str  #: its name in tables
    short: str  #: its name in pictures
    compute: str  #: format of what enters a multiplication: "fp32" or "bf16"
    weights: str  #: format of the weights kept from step to step
    rounding: str | None  #: rounding of the update, where weights are BF16

    @property
    def has_master(self) -> bool:
        """Whether BF16 weights have an FP32 copy."""
        return self.compute == "bf16" and self.weights == "fp32"


ARMS = {row[0]: Arm(*row) for row in (
    ("fp32", "FP32", "FP32", "fp32", "fp32", None),
    ("master", "BF16 compute, FP32 master weights", "FP32 master", "bf16", "fp32", None),
    ("nearest", "BF16 weights, nearest-even", "BF16 nearest", "bf16", "bf16", "nearest"),
    ("stochastic", "BF16 weights, stochastic", "BF16 stochastic", "bf16", "bf16", "stochastic"),
)}  # fmt: skip


def get_arm(arm) -> Arm:
    """Return an arm by name, or the arm itself.

    Raises
    ------
    ValueError
        If there is no such arm.

    Examples
    --------
    >>> get_arm("master").has_master
    True
    """
    return arm if isinstance(arm, Arm) else ARMS[choice(arm, "arm", ARMS)]


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes for one parameter: what rests in memory, and what one update reads and writes."""

    weight_bytes: int  #: the copy that the multiplications read
    master_bytes: int  #: the FP32 copy behind it, if any
    state_bytes: int  #: running averages of the optimizer
    gradient_bytes: int  #: read once by the update, not kept
    read_bytes: int
    written_bytes: int

    @property
    def stored_bytes(self) -> int:
        """Bytes that rest in memory from step to step."""
        return self.weight_bytes + self.master_bytes + self.state_bytes

    @property
    def update_traffic_bytes(self) -> int:
        """Bytes that one weight update moves."""
        return self.read_bytes + self.written_bytes


@checked
def footprint(arm, optimizer: str = "sgd", *, state: str | None = None) -> Footprint:
    """Count the bytes of one parameter.

    Parameters
    ----------
    arm : Arm or str
    optimizer : {"sgd", "momentum", "adam"}
    state : {"fp32", "bf16"}, optional
        Format of the running averages; the format of the kept weights unless given.

    Returns
    -------
    Footprint

    Raises
    ------
    ValueError
        For an unknown arm, optimizer or format.

    Examples
    --------
    >>> [footprint(arm).stored_bytes for arm in ARMS]
    [4, 6, 2, 2]
    >>> [footprint(arm, "adam").stored_bytes for arm in ARMS]
    [12, 14, 6, 6]

    Notes
    -----
    The update reads the kept weight, the gradient and the state, and writes the kept weight, the
    state and, where there is a master copy, the rounded weight too.  A gradient has the width of
    the computation.  Activations do not depend on the arm's storage and are not counted.
    """
    arm = get_arm(arm)
    averages = OPTIMIZERS[choice(optimizer, "optimizer", OPTIMIZERS)]
    averages *= _BYTES[choice(arm.weights if state is None else state, "state", _BYTES)]
    kept, gradient = _BYTES[arm.weights], _BYTES[arm.compute]
    rounded = _BYTES["bf16"] if arm.has_master else 0
    return Footprint(
        weight_bytes=rounded or kept, master_bytes=kept if arm.has_master else 0,
        state_bytes=averages, gradient_bytes=gradient,
        read_bytes=kept + gradient + averages, written_bytes=kept + averages + rounded,
    )  # fmt: skip


def footprint_table() -> str:
    """Return bytes per parameter of every arm and optimizer as text, kept and moved.

    Examples
    --------
    >>> print(footprint_table().splitlines()[1])
    FP32                                      4 / 12        8 / 20       12 / 28
    """
    lines = [f"{'bytes kept / moved by one update':34}" + "".join(f"{o:>14}" for o in OPTIMIZERS)]
    for name, arm in ARMS.items():
        counts = [footprint(name, optimizer) for optimizer in OPTIMIZERS]
        cells = [f"{c.stored_bytes} / {c.update_traffic_bytes}" for c in counts]
        lines.append(f"{arm.label:34}" + "".join(f"{cell:>14}" for cell in cells))
    return "\n".join(lines)
