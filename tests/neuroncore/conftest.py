"""A core for each test."""

import pytest

from trainium_edu.neuroncore import NeuronCore


@pytest.fixture
def core():
    """Return a core that computes."""
    return NeuronCore()


@pytest.fixture
def timed():
    """Return a core that only records, for tests of times."""
    return NeuronCore(values=False)
