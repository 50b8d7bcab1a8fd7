"""Stored tables.  Judges: the commands that measure them; NumPy."""

import json

import numpy as np
import pytest

from tests.for_each import for_each
from tests.texts import table_beside
from trainium_edu.training import stored_sweep
from trainium_edu.training.stored import path_of


@for_each("table, first, command", table_beside(__file__, "stored.toml")["commands"])
def test_a_table_begins_with_the_command_that_made_it(table, first, command):
    stored = json.loads(path_of(table).read_text(encoding="utf-8"))
    assert list(stored)[: len(first)] == first
    assert stored["command"] == f"python -m {command}"


def test_mean_and_spread_are_numpys():
    row = stored_sweep()[2]
    assert row.mean == pytest.approx(np.mean(row.accuracies))
    assert row.spread == pytest.approx(np.std(row.accuracies, ddof=1))
    assert row.spread > 0
