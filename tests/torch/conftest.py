"""What tests of PyTorch scripts share; PyTorch is imported where it is used."""

import importlib

import pytest


@pytest.fixture
def core():
    """Give a core of the test's own."""
    from tests.torch.replay import core_of_a_test

    with core_of_a_test() as one:
        yield one


@pytest.fixture
def xm():
    """Give ``xla_model``, as a script imports it."""
    import trainium_edu.torch as bridge

    assert bridge.activate()
    yield importlib.import_module("torch_xla.core.xla_model")
    bridge.deactivate()
