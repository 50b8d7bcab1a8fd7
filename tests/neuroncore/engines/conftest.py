"""Tiles with numbers in them, for tests of single instructions."""

import numpy as np
import pytest

from tests.neuroncore.engines.bench import Bench


@pytest.fixture
def bench():
    """Return a fresh core."""
    return Bench()


@pytest.fixture
def rng():
    """Return a seeded generator."""
    return np.random.default_rng(7)
