"""Lesson 06's exercises: scripts that do what is said of them, and loops run again.

Judge: the device itself, which counts what it compiles; and every set of buckets.
"""

import json
import re
from itertools import combinations

import numpy as np
import pytest

from tests.for_each import for_each, for_rows, raises
from trainium_edu.exercises import lazy_execution
from trainium_edu.exercises.loops import LoopRequest, on_a_device, run_again
from trainium_edu.training.nn import cross_entropy
from trainium_edu.xla.buckets import bill
from trainium_edu.xla.graph import GraphError

SCRIPTS = [s for i in range(6) for s in lazy_execution.scripts(f"student {i}")]
REQUEST = LoopRequest("small training", seed=3, steps=5)


@for_each("script", SCRIPTS, ids=range(len(SCRIPTS)))
def test_a_script_compiles_every_step_and_repaired_it_does_not(script):
    assert lazy_execution.compiles(script.text()) >= 8
    assert lazy_execution.compiles(script.text(repaired=True)) <= 3


def test_the_drawn_scripts_hold_every_culprit_and_every_decoy():
    texts = "\n".join(script.text() for script in SCRIPTS)
    for part in ("8 + step", "seen, x", "range(step)", "x[step:]", "[step])", "noise", "0.1 * step",
                 "0.9**step", "total + loss", "print", "kept.append(loss"):  # fmt: skip
        assert part in texts


def test_no_line_without_harm_is_without_its_reason():
    for script in SCRIPTS:
        assert sum(bool(line.repaired) for line in script.lines) == 1
        assert all(x.why or x.repaired or "cross_entropy" in x.text for x in script.lines[3:])


@on_a_device
def loop(device, network, optimizer, batches, log):
    for images, labels in batches:
        optimizer.zero_grad()
        loss = cross_entropy(network(images), labels)
        loss.backward()
        optimizer.step()
        device.mark_step()
        log(loss)


def given(request=REQUEST):
    """Return the arrays that a loop is given."""
    found = {}

    @on_a_device
    def look(device, network, optimizer, batches, log):
        for name, parameter in network.named_parameters():
            found[name] = parameter.numpy()
        for i, (images, labels) in enumerate(batches):
            found[f"0/{i}"], found[f"1/{i}"] = images.numpy(), labels.numpy()

    look(request)
    return found


def test_graphs_run_again_end_with_the_weights_that_the_loop_had():
    kept = {}

    @on_a_device
    def keeping(device, network, *rest):
        loop(device, network, *rest)
        kept.update(network.state_dict())

    ran, last, logged, marks = run_again(keeping(REQUEST), given())
    assert (len(ran), len(logged), marks) == (5, 5, 5)
    assert all(one.marked for one in ran)
    assert kept.keys() == last.keys()
    for name, weights in kept.items():
        np.testing.assert_allclose(last[name], weights, rtol=1e-5)


def test_on_other_arrays_the_same_graphs_end_elsewhere():
    """What the loop computed where it ran does not matter: the check's arrays do."""
    other = {name: 2 * a if a.dtype.kind == "f" else a for name, a in given().items()}
    found = loop(REQUEST)
    _, here, _, _ = run_again(found, given())
    _, there, _, _ = run_again(found, other)
    assert not np.allclose(here["0.weight"], there["0.weight"])


def test_a_value_that_was_asked_for_is_told_from_a_step():
    @on_a_device
    def curious(device, network, optimizer, batches, log):
        log(cross_entropy(network(batches[0][0]), batches[0][1]))

    ran, *_ = run_again(curious(REQUEST), given())
    assert [one.marked for one in ran] == [False]


def test_an_array_of_the_loops_own_is_refused():
    @on_a_device
    def smuggling(device, network, optimizer, batches, log):
        from trainium_edu.xla.tensor import as_tensor

        weight = next(iter(network.parameters()))
        weight.set_(weight + as_tensor(np.ones(weight.shape, np.float32), device))
        device.mark_step()

    with pytest.raises(ValueError, match=r"an input of a graph comes from \['number'"):
        run_again(smuggling(REQUEST), given())


@for_rows(
    "damage",
    lambda told: told.pop("graphs"),
    lambda told: told["ran"][0].update(graph=7),
    lambda told: told["ran"][0]["feeds"].pop(),
    lambda told: told["last"].update({"0.bias": ["output", 99, 0]}),
    lambda told: told.update(graphs=["{}"]),
    lambda told: told["ran"][1].update(feeds=[["given", "nothing"]] * 7),
)
def test_damaged_evidence_is_one_sentence(damage):
    told = json.loads(loop(REQUEST))
    damage(told)
    with pytest.raises(ValueError, match=re.compile("incomplete|not a saved graph|argument")):
        run_again(json.dumps(told).encode(), given())


def test_called_with_anything_else_a_loop_is_itself():
    raises((TypeError, GraphError), "", loop, 1)


def padded(lengths, buckets):
    return sum(min(b for b in buckets if b >= n) for n in lengths)


def least(lengths, count):
    """Try all sets of buckets."""
    u = sorted(set(lengths))
    return min(
        padded(lengths, (*chosen, u[-1]))
        for k in range(min(count, len(u)))
        for chosen in combinations(u[:-1], k)
    )


@for_each("seed", range(40))
def test_the_checks_own_buckets_waste_as_little_as_the_best_of_all_choices(seed):
    rng = np.random.default_rng(seed)
    lengths = [int(n) for n in rng.integers(1, rng.integers(2, 30), rng.integers(1, 25))]
    for count in range(1, 6):
        found = lazy_execution.best_buckets(lengths, count)
        assert len(found) <= count
        assert list(found) == sorted(set(found))
        assert padded(lengths, found) == least(lengths, count)


def test_the_checks_own_buckets_pass_and_leave_something_to_choose():
    for seed, kind, compiles in lazy_execution.bucket_lengths.numbers("").cases:
        lengths = lazy_execution.sentence_lengths(seed, kind)
        assert bill(lengths, lazy_execution.best_buckets(lengths, compiles)).waste > 0.05
    assert lazy_execution.bucket_lengths(lazy_execution.best_buckets).status == "passed"


def test_the_solution_of_the_vjp_records_nodes_when_it_is_handed_lazy_tensors():
    """Its challenge says so."""
    from trainium_edu import exercises
    from trainium_edu.exercises import afterwards
    from trainium_edu.xla.device import Device
    from trainium_edu.xla.tensor import as_tensor

    names = {"np": np}
    exec(afterwards.of(exercises.find("06/vjp")).solution, names)
    x, g = np.random.default_rng(0).normal(size=(2, 3, 5))
    device = Device()
    out = names["layer_norm_vjp"](as_tensor(x, device), as_tensor(g, device), 1e-5)
    assert device.executions == 0
    device.mark_step()
    np.testing.assert_allclose(out.numpy(), names["layer_norm_vjp"](x, g, 1e-5), atol=1e-5)


@for_each("eps", [1e-5, 0.1])
def test_the_gradient_of_the_vjp_is_that_of_central_differences(eps):
    """Judge: layer norm itself, in float64, with each element moved to both sides."""
    rng = np.random.default_rng(6)
    x, g, h = rng.normal(1, 2, (3, 5)), rng.normal(0.5, 1, (3, 5)), 1e-5
    moved = h * np.eye(15).reshape(15, 3, 5)

    def weighed(z):
        centred = z - z.mean(-1, keepdims=True)
        return (g * centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)).sum()

    rates = [(weighed(x + step) - weighed(x - step)) / (2 * h) for step in moved]
    np.testing.assert_allclose(lazy_execution.gradient(x, g, eps)[0].ravel(), rates, atol=1e-8)
