"""How large the array is and how it is fed: the record that every model here takes."""

from dataclasses import dataclass

from trainium_edu.specs import TRN1, NkiValidationError, Record, arguments
from trainium_edu.specs.instances import TARGETS

__all__ = ["TRN1_ARRAY", "SystolicArray", "whole"]

_ENGINE = TRN1.tensor_engine  #: of the default array; on every chip as large: one row a partition
_MAX_ROWS, _MAX_COLUMNS = int(_ENGINE.rows), int(_ENGINE.columns)


@dataclass(frozen=True, slots=True)
class SystolicArray:
    """A weight-stationary array of processing elements.

    Examples
    --------
    >>> SystolicArray(4, 4, load_speed=1).peak_flops
    89600000000.0
    """

    rows: int = _MAX_ROWS  #: the contraction (K) runs down them
    columns: int = _MAX_COLUMNS  #: the stationary's free axis (M) runs across them
    load_speed: int = 4  #: columns of the stationary that enter per cycle
    background_load: bool = True  #: whether PEs have a second weight register to load into
    min_issue_cycles: int = 1  #: shortest time from one moving tile to the next (documented: 64)
    clock_hz: float = 2.8e9

    def __post_init__(self):
        whole(self.rows, "rows")
        whole(self.columns, "columns")
        for have, limit, axis in (
            (self.rows, _MAX_ROWS, "rows"),
            (self.columns, _MAX_COLUMNS, "columns"),
        ):
            if have > limit:
                raise NkiValidationError(
                    f"an array with {have} {axis}: the Tensor Engine has {limit}, one per "
                    f"partition; take {limit} or fewer"
                )
        whole(self.load_speed, "load_speed")
        whole(self.min_issue_cycles, "min_issue_cycles")
        if self.load_speed > _MAX_COLUMNS or self.min_issue_cycles > 2**20:
            raise ValueError(
                f"load_speed {self.load_speed} and min_issue_cycles {self.min_issue_cycles}: the "
                f"first goes up to {_MAX_COLUMNS} columns per cycle, the second to {2**20} cycles"
            )
        if not isinstance(self.background_load, bool):
            raise TypeError(f"background_load {self.background_load!r} must be True or False")
        if isinstance(self.clock_hz, bool) or not 0 < float(self.clock_hz) < 1e12:
            raise ValueError(f"clock_hz is {self.clock_hz!r}; it must be a positive number of Hz")

    @property
    def pes(self) -> int:
        """Number of processing elements."""
        return self.rows * self.columns

    @property
    def peak_flops(self) -> float:
        """Floating-point operations per second with every PE busy: a multiply and an add each."""
        return self.pes * 2 * float(self.clock_hz)

    @property
    def chip(self) -> Record:
        """The chip that has this array; of others, Trainium."""
        chips = {SystolicArray.from_spec(chip.tensor_engine): chip for chip in TARGETS.values()}
        return chips.get(self, TRN1)

    @property
    def moving_max(self) -> int:
        """Columns of one PSUM bank in FP32: the longest moving tile."""
        return int(self.chip.tensor_engine.moving_free_max)

    @property
    def banks(self) -> int:
        """Banks of PSUM: moving tiles that may accumulate side by side."""
        return int(self.chip.psum.banks)

    @classmethod
    def from_spec(cls, tensor_engine: Record) -> "SystolicArray":
        """Build the array that a chip's facts describe (``TRN1.tensor_engine``)."""
        return cls(
            rows=int(tensor_engine.rows),
            columns=int(tensor_engine.columns),
            load_speed=int(tensor_engine.load_stationary_speedup),
            background_load=bool(tensor_engine.load_stationary_in_background.value),
            clock_hz=float(tensor_engine.clock_hz),
        )


def whole(value, what: str, *, least: int = 1) -> int:
    """Return a whole number of at least `least`; raise for anything else."""
    return arguments.whole(value, what, least, 2**40)


#: The Tensor Engine of Trainium and Inferentia2.
TRN1_ARRAY = SystolicArray.from_spec(_ENGINE)
