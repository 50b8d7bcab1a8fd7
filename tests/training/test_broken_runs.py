"""What lesson 09b tries: judges are a run that nothing stops, and a bit that is changed."""

import numpy as np

from trainium_edu.training import Job, Trainer, fit
from trainium_edu.training import broken_runs as tried
from trainium_edu.xla.tensor import as_tensor

SMALL = Job(ranks=4, batch=8, optimizer="adamw", lr=0.001)


def test_weights_are_equal_until_one_bit_is_changed():
    one, other = Trainer(SMALL), Trainer(SMALL)
    assert tried.weights_equal(one, other)
    name, weight = next(iter(other.model.named_parameters()))
    values = weight.numpy()
    values.reshape(-1).view(np.uint32)[:: values[0].size] ^= np.uint32(1 << 16)
    weight.set_(as_tensor(values, other.device, weight.dtype, per_replica=True))
    assert not tried.weights_equal(one, other), name


def test_a_run_that_a_rank_stopped_goes_on_from_its_checkpoint_with_the_same_bits():
    said, again = tried.broken_and_resumed(SMALL, 6, rank=2, fails_at=5, every=2)
    assert said.startswith("rank 2 of 4 failed in step 5")
    assert [step.number for step in again.steps] == [4, 5]
    assert tried.weights_equal(again.trainer, fit(SMALL, 6).trainer)


def test_a_run_with_too_long_steps_is_stopped_with_the_name_of_an_operation():
    assert "dot" in tried.not_a_number(Job(ranks=4, batch=8, lr=1e30))
    assert tried.not_a_number(SMALL, 2) == ""


def test_one_seed_gives_the_same_bits_and_another_does_not():
    other = Job(ranks=4, batch=8, optimizer="adamw", lr=0.001, seed=1)
    assert tried.same_bits(SMALL, SMALL, 1)
    assert not tried.same_bits(SMALL, other, 1)
