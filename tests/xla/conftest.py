"""A device for each test."""

import pytest

from trainium_edu.xla.device import Device


@pytest.fixture
def device():
    """Return a fresh device."""
    return Device()
