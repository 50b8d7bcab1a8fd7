"""The twin itself: judged by a run written out by hand, and by what a PE may see."""

import numpy as np
import pytest

from tests.neuroncore.systolic_array import elements
from tests.neuroncore.systolic_array.elements import simulate_elements
from trainium_edu.neuroncore.systolic_array import Pass, SystolicArray


def test_two_by_two_written_out_by_hand():
    """w = [[1, 2], [3, 4]], one vector (10, 100), one column loaded per cycle.

    Cycles 0 and 1 load row 0; the vector enters row 0 at cycle 2 and row 1 at cycle 3.
    """
    array = SystolicArray(2, 2, load_speed=1)
    result, history = simulate_elements(
        [[1.0, 2.0], [3.0, 4.0]], [[10.0], [100.0]], (Pass(0, 2, 0, 2, 0, 1),), array=array,
        fmt="bf16",
    )  # fmt: skip
    sums = [
        [[None if pe.sum is None else float(pe.sum.value) for pe in row] for row in pes]
        for pes in history
    ]
    n = None
    assert sums == [[[n, n], [n, n]], [[n, n], [n, n]], [[10.0, n], [n, n]],
                    [[n, 20.0], [310.0, n]], [[n, n], [n, 420.0]]]  # fmt: skip
    assert result.tolist() == [[310.0], [420.0]]


def test_weights_wait_until_their_tile_begins():
    array = SystolicArray(1, 2, load_speed=2)
    plan = (Pass(0, 1, 0, 2, 0, 3), Pass(0, 1, 0, 2, 3, 5))
    _, history = simulate_elements([[5.0, 6.0]], np.ones((1, 5)), plan, array=array, fmt="bf16")
    waits = [pes[0][0].waiting is not None for pes in history]
    assert waits[:5] == [True, True, True, True, False]  # tile 0 taken at 1, tile 1 loaded at once


def test_it_stops_when_it_would_take_for_ever(monkeypatch):
    monkeypatch.setattr(elements, "MOST_CYCLES", 5)
    with pytest.raises(ValueError, match="stops after 5"):
        simulate_elements([[1.0]], np.ones((1, 99)), (Pass(0, 1, 0, 1, 0, 99),),
                           array=SystolicArray(1, 1), fmt="bf16")  # fmt: skip
