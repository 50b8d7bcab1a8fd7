"""Judges: PyTorch's own gloo group on CPU tensors with the same script, and NumPy."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
if not hasattr(os, "fork"):
    pytest.skip("ranks are forked", allow_module_level=True)

import torch.distributed as dist  # noqa: E402

from tests.for_each import raises  # noqa: E402
from trainium_edu.torch.ranks.processes import run_ranks  # noqa: E402

pytestmark = pytest.mark.judge


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What the functions of ``grouped.py`` returned on each rank."""
    file = tmp_path_factory.mktemp("group") / "results"
    subprocess.run([sys.executable, str(Path(__file__).with_name("grouped.py")), str(file)],
                   env={**os.environ, "NEURON_CC_FLAGS": "--no_cache"}, check=True,
                   timeout=300)  # fmt: skip
    outcomes = pickle.loads(file.read_bytes())
    assert {name: one.problem for name, one in outcomes.items() if one.problem} == {}
    return {name: one.results for name, one in outcomes.items()}


@pytest.mark.parametrize("name", ["exchanged xla", "exchanged xla on cpu"])
def test_the_group_moves_and_adds_what_gloo_does(results, name):
    for one, other in zip(results[name], results["exchanged gloo"], strict=True):
        (tensors, *said), (others, *others_said) = one, other
        assert said == others_said
        for found, expected in zip(tensors, others, strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("how", ["copies", "views", "reduced", "zero"])
def test_ddp_and_reduced_gradients_and_sharded_state_agree_with_gloo(results, how):
    found, expected = results[f"trained {how}"], results["trained gloo"]
    for (losses, weights, kinds), (others, other_weights, _) in zip(found, expected, strict=True):
        np.testing.assert_allclose(losses, others, rtol=1e-5)
        np.testing.assert_allclose(weights, other_weights, rtol=1e-5)
        assert kinds == ["memory", "memory"]  # no step compiles anew
    np.testing.assert_array_equal(*(weights for _, weights, _ in found))


def test_ddp_and_sharded_state_agree_where_weights_or_values_are_missing(results):
    for mine, right in zip(results["partly used xla"], results["partly used gloo"], strict=True):
        for found, expected in zip(mine, right, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    for found, expected in zip(results["sharded xla"], results["sharded cpu"], strict=True):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    (steps, kind), (others, other_kind) = results["shapes only"]
    assert steps == others
    assert (kind, other_kind) == ("memory", "memory")


def test_what_the_group_has_not_is_refused_in_a_sentence():
    told = []

    def main():
        rank = int(os.environ["RANK"])
        told.append(str(raises(RuntimeError, "", dist.init_process_group, "nccl")))
        dist.init_process_group("xla")
        x = torch.ones(2).to("xla")
        for refused in (lambda: dist.send(x, 1 - rank), lambda: dist.recv(x, 1 - rank),
                        lambda: dist.all_to_all_single(x.clone(), x, [2, 0], [0, 2])):  # fmt: skip
            told.append(str(raises(NotImplementedError, "", refused)))

    for nccl, *others in run_ranks(main, ranks=2, result=lambda core: told).results:
        assert "the backend is 'xla'" in nccl
        assert all("test_group.py:" in one and "; " in one for one in others)
