"""The trainer.  Judges: one rank after the other, summed by ``fabric.execute``; PyTorch.

The first judge has no axis of replicas: a device of its own computes each rank's gradients, one
after the other, and NumPy updates the weights.  It must give the same bits.  ``first_light``, whose
gradients are written by hand, gives the same numbers.
"""

import re
from dataclasses import replace

import numpy as np
import pytest

from tests.for_each import for_each, for_rows, raises
from tests.texts import rows_beside
from trainium_edu import fabric
from trainium_edu.numerics import cast, round_to
from trainium_edu.training import Job, Task, Trainer, deal, fit, nn
from trainium_edu.training import trainer as trainers
from trainium_edu.training.data import digits, shuffled
from trainium_edu.training.first_light import first_light
from trainium_edu.training.parallel.agreement import RanksDisagree
from trainium_edu.training.parallel.collectives import Links, links
from trainium_edu.training.reference import initial_weights, parts
from trainium_edu.xla.device import Device
from trainium_edu.xla.tensor import as_tensor

ROWS = rows_beside(__file__, "trainer.toml")


def task(samples=200, model=lambda: nn.MLP(64, 16, 10)):
    """Return a small network on some of the digits."""
    found = digits()
    data = (found.train_images[:samples], found.train_labels[:samples],
            found.test_images[:100], found.test_labels[:100])  # fmt: skip
    return Task("small", model, lambda: data)


SMALL = Job(ranks=4, batch=8, dtype="float32")


def trainer(job=SMALL, samples=200, **options):
    return Trainer(job, task=task(samples), **options)


def arrays(of):
    return of.state()["arrays"]


def equal(one, other):
    return all(np.array_equal(value, other[name]) for name, value in one.items())


# -- the same bits as one rank after the other ----------------------------------------------------


def gradients_of_one(model, weights, images, labels, dtype, share):
    """Return what one device without replicas gives for one micro-batch, float32, in order."""
    model.load_state_dict(weights)
    device = model.parameters()[0].device
    x, y = as_tensor(images, device, dtype), as_tensor(labels, device)
    loss = nn.cross_entropy(model(x), y) * as_tensor(np.float32(share), device)
    loss.backward()
    grads = [p.grad for p in model.parameters()]
    device.mark_step()
    for p in model.parameters():
        p.grad = None
    return [g.numpy() for g in grads]


def summed(rows, dtype):
    """Return the sum over ranks of flat gradients, in the order of the ring's schedule."""
    padded = np.pad(rows, ((0, 0), (0, -rows.shape[1] % len(rows))))
    schedule = links(len(rows)).schedule("all_reduce")
    held = padded if dtype == "float32" else cast(padded, "bf16")
    return fabric.execute(schedule, held)[0].astype(np.float32)[: rows.shape[1]]


@for_rows("dtype", "float32", "bfloat16")
@for_rows("ranks, accumulate", (32, 1), (4, 2))
def test_ranks_get_the_bits_of_one_that_sums_their_micro_batches_in_the_stated_order(
    dtype, ranks, accumulate
):
    job = Job(ranks=ranks, batch=4, accumulate=accumulate, dtype=dtype, rounding="nearest")
    tested = Trainer(job)
    weights, data = tested.weights(), digits()
    narrow = (lambda a: a) if dtype == "float32" else (lambda a: round_to(a, "bf16"))
    model = nn.MLP(64, 256, 256, 10).to(Device(), dtype)
    order = shuffled(len(data.train_labels), seed=0, epoch=0)
    order = deal(order, ranks=ranks, batch=4, accumulate=accumulate)
    for step in range(2):
        flat = np.empty((ranks, sum(w.size for w in weights.values())), np.float32)
        for rank in range(ranks):
            total = None
            for chosen in order[step, :, rank]:
                pair = data.train_images[chosen], data.train_labels[chosen]
                found = gradients_of_one(model, weights, *pair, dtype, 1 / accumulate)
                total = [a + b for a, b in zip(total, found, strict=True)] if total else found
            flat[rank] = np.concatenate([narrow(g).ravel() for g in reversed(total)])
        mean = narrow(summed(flat, dtype) * np.float32(1 / ranks))
        begin = 0
        for name in reversed(weights):
            part = mean[begin : begin + weights[name].size].reshape(weights[name].shape)
            weights[name] = narrow(weights[name] - part * np.float32(job.lr))
            begin += part.size
        tested.step()
        assert equal(weights, tested.weights())


# -- PyTorch on the whole batch -------------------------------------------------------------------

JOBS = ROWS["jobs"]


@pytest.mark.judge
@pytest.mark.parametrize("changes", JOBS.values(), ids=JOBS)
def test_training_follows_pytorch_on_the_same_samples_short_last_batch_included(changes):
    torch = pytest.importorskip("torch")
    job = replace(SMALL, **changes)
    tested = trainer(job)
    there = torch.nn.Sequential(torch.nn.Linear(64, 16), torch.nn.ReLU(), torch.nn.Linear(16, 10))
    there.load_state_dict({n: torch.from_numpy(w) for n, w in tested.weights().items()})
    kind = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
    more = {"momentum": job.momentum} if job.optimizer == "sgd" else {}
    optimizer = kind[job.optimizer](
        there.parameters(), lr=job.lr, weight_decay=job.weight_decay, **more
    )
    order = shuffled(200, seed=0, epoch=0)
    order = deal(order, ranks=job.ranks, batch=job.batch, accumulate=job.accumulate)
    sizes = []
    for chosen in order:
        chosen = chosen[chosen >= 0]
        optimizer.param_groups[0]["lr"] = job.rate(tested.number)
        optimizer.zero_grad()
        x, y = (torch.from_numpy(of[chosen]) for of in (tested.inputs, tested.labels))
        loss = torch.nn.functional.cross_entropy(there(x), y)
        loss.backward()
        norm = None
        if job.clip is not None:
            norm = float(torch.nn.utils.clip_grad_norm_(there.parameters(), job.clip))
        optimizer.step()
        step = tested.step()
        sizes.append(step.samples)
        assert step.loss == pytest.approx(loss.item(), rel=2e-5)
        assert step.norm == (norm if norm is None else pytest.approx(norm, rel=2e-5))
    assert sum(sizes) == 200
    assert sizes[-1] < sizes[0]
    for name, theirs in there.state_dict().items():
        distance = np.linalg.norm(tested.weights()[name] - theirs.numpy())
        assert distance <= 2e-5 * np.linalg.norm(theirs.numpy()), name


# -- samples --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [1, 3, 4, 7])
def test_one_graph_takes_every_sample_once_an_epoch(ranks, monkeypatch):
    reached = Links(fabric.ring(ranks)) if ranks in (3, 7) else None
    tested = trainer(replace(SMALL, ranks=ranks), samples=101, reached=reached)
    seen = []

    class Labels(np.ndarray):
        def __getitem__(self, chosen):
            seen.append(chosen[chosen >= 0])
            return self.view(np.ndarray)[chosen]

    monkeypatch.setattr(tested, "labels", tested.labels.view(Labels))
    while tested.epoch < 2:
        tested.step()
    assert {event.kind for event in tested.device.compiler.history[1:]} == {"memory"}
    per_epoch = np.split(np.concatenate(seen), 2)
    assert all(np.array_equal(np.sort(one), np.arange(101)) for one in per_epoch)
    assert not np.array_equal(*per_epoch)


def test_drop_last_leaves_out_what_fills_no_step():
    run = fit(trainer(replace(SMALL, drop_last=True), samples=70), 4)
    assert [(s.samples, s.epoch) for s in run.steps] == [(32, 0), (32, 0), (32, 1), (32, 1)]


def test_micro_batches_do_what_a_larger_batch_does():
    one, other = trainer(), trainer(replace(SMALL, batch=2, accumulate=4))
    for tested in (one, other):
        for chosen in np.arange(192).reshape(6, 32):
            tested.step(chosen.reshape(tested.job.accumulate, 4, tested.job.batch))
    for name, value in one.weights().items():
        np.testing.assert_allclose(other.weights()[name], value, atol=1e-6)


def test_micro_batches_of_bf16_weights_are_added_in_fp32():
    job = Job(ranks=1, batch=8, accumulate=4, rounding="nearest", master_weights=True, lr=1.0)
    tested = trainer(job)
    before, model = tested.weights(), task().model().to(Device(), "bfloat16")
    chosen = np.arange(32).reshape(4, 1, 8)
    grads = [gradients_of_one(model, before, tested.inputs[part[0]], tested.labels[part[0]],
                              "bfloat16", 0.25) for part in chosen]  # fmt: skip
    tested.step(chosen)
    for i, name in enumerate(before):
        total = ((grads[0][i] + grads[1][i]) + grads[2][i]) + grads[3][i]
        master = arrays(tested)[f"optimizer/{name}/master"]
        np.testing.assert_array_equal(master, before[name] - round_to(total, "bf16"))
        in_bf16 = grads[0][i]
        for grad in grads[1:]:
            in_bf16 = round_to(in_bf16 + grad[i], "bf16")
        assert not np.array_equal(in_bf16, round_to(total, "bf16"))


def test_samples_of_another_shape_or_number_are_refused():
    tested = trainer()
    with pytest.raises(ValueError, match=r"shape \(32,\); a step of this job takes \(1, 4, 8\)"):
        tested.step(np.arange(32))
    for odd in (np.full((1, 4, 8), 200), np.full((1, 4, 8), -1)):
        raises(ValueError, "numbers below 200", tested.step, odd)
    assert tested.number == 0


# -- what ranks sum -------------------------------------------------------------------------------


def reductions(tested):
    nodes = tested.device.executable.graph.nodes
    return [n for n in nodes if n.operation in ("all_reduce", "reduce_scatter")]


@for_rows("zero", False, True)
@for_rows("dtype", "bfloat16", "float32")
@for_rows("accumulate", 1, 2)
def test_gradients_travel_in_the_dtype_of_the_weights(dtype, accumulate, zero):
    tested = trainer(replace(SMALL, dtype=dtype, accumulate=accumulate, zero=zero))
    tested.step()
    assert [n.inputs[0].type.dtype for n in reductions(tested)] == [dtype]


@for_each("bucket_bytes, wanted", ROWS["buckets"])
def test_gradients_travel_in_buckets_the_last_layers_first(bucket_bytes, wanted):
    tested = trainer(replace(SMALL, bucket_bytes=bucket_bytes))
    tested.step()
    found = (tuple(one.type.shape for one in node.inputs) for node in reductions(tested))
    assert sorted(found) == sorted(wanted)


def test_sums_round_as_told():
    for rounding in ("nearest", "stochastic"):
        job = replace(SMALL, dtype="bfloat16", rounding=rounding)
        assert trainer(job).links.rounding == rounding


# -- replicas -------------------------------------------------------------------------------------


@for_rows("dtype", "float32", "bfloat16")
def test_a_flipped_bit_is_found_and_named(dtype):
    tested = trainer(replace(SMALL, dtype=dtype))
    assert tested.step().agree
    told = tested.upset(2, seed=1)
    name = told.split(" of ")[2].split(" on ")[0]
    raises(RanksDisagree, f"parameter {name}: rank 2", tested.step)
    assert tested.number == 1


@for_rows("dtype", "float32", "bfloat16")
def test_a_flipped_bit_is_numbered_in_the_weights_own_format(dtype):
    """Judge: the words as that format stores them, before and after: one bit differs."""
    tested = trainer(replace(SMALL, dtype=dtype), strict=False)
    stored = {"float32": np.uint32, "bfloat16": np.uint16}[dtype]
    for seed in range(8):
        told = re.fullmatch(r"bit (\d+) of element (\d+) of (.+) on rank 2", tested.upset(2, seed))
        bit, element, name = int(told[1]), int(told[2]), told[3]
        rows = dict(tested.model.named_parameters())[name].numpy().reshape(4, -1)
        words = np.asarray(rows, np.float32).view(np.uint32) >> (32 - 8 * stored().itemsize)
        assert words[2, element] ^ words[0, element] == 1 << bit
        tested = trainer(replace(SMALL, dtype=dtype), strict=False)


def test_an_upset_replica_alone_goes_another_way():
    tested, judge = trainer(strict=False), trainer()
    tested.upset(3, seed=4)
    for _ in range(3):
        step = tested.step()
        judge.step()
    assert not step.agree
    weights = {name: w.numpy() for name, w in tested.model.named_parameters()}
    assert all((w[:3] == w[0]).all() for w in weights.values())
    apart = [name for name, w in weights.items() if (w[3] != w[0]).any()]
    assert apart
    assert step.loss_of_rank[3] != judge.step().loss_of_rank[3]


# -- all or nothing -------------------------------------------------------------------------------


@pytest.mark.parametrize("job", [
    replace(SMALL, dtype="bfloat16", momentum=0.9),
    replace(SMALL, dtype="bfloat16", optimizer="adam", lr=0.001, zero=True, master_weights=True,
            schedule="cosine", schedule_steps=9),
], ids=["momentum", "zero"])  # fmt: skip
@pytest.mark.parametrize("where", ["recorded", "computed", "compared"])
def test_an_interrupt_anywhere_leaves_the_last_good_state(job, where, monkeypatch):
    tested, judge = trainer(job), trainer(job)
    owner, name = {"recorded": (tested.optimizer, "step"), "computed": (tested.device, "mark_step"),
                   "compared": (trainers, "check_replicas")}[where]  # fmt: skip
    for number in range(4):
        if number in (0, 2):
            with monkeypatch.context() as patched:
                done = getattr(owner, name)

                def stop(*arguments, done=done):
                    done(*arguments)
                    raise KeyboardInterrupt

                patched.setattr(owner, name, stop)
                raises(KeyboardInterrupt, "", tested.step)
            assert tested.number == number
        assert tested.step().loss == judge.step().loss
    assert equal(arrays(tested), arrays(judge))


def test_a_callback_that_raises_ends_the_run_with_its_error():
    def stop(step):
        if step.number == 2:
            raise RuntimeError("enough")

    seen = []
    caught = raises(RuntimeError, "enough", fit, trainer(), 9, on_step=[seen.append, stop])
    run = caught.run
    assert len(run.steps) == len(seen) == run.trainer.number == 3
    assert "3 of 9 steps" in caught.__notes__[0]
    assert len(fit(run.trainer, 2).steps) == 2
    assert run.trainer.number == 5


# -- runs -----------------------------------------------------------------------------------------


def test_looking_changes_nothing():
    job = replace(SMALL, dtype="bfloat16")
    one, other = fit(trainer(job), 6, evaluate_every=2), fit(trainer(job), 6)
    assert np.array_equal(one.loss, other.loss)
    assert [number for number, _ in one.accuracy] == [2, 4, 6]
    assert other.accuracy == []


@pytest.mark.parametrize("changes", [{}, {"zero": True, "clip": 1.0}, {"optimizer": "adam"}])
def test_a_tensor_that_somebody_holds_moves_no_random_bits(changes, monkeypatch):
    """A profiler that samples frames keeps activations alive."""
    job = replace(SMALL, dtype="bfloat16", **changes)
    alone, held, forward = fit(trainer(job), 3), [], nn.Linear.forward

    def holds(layer, x):
        held.append(forward(layer, x))
        return held[-1]

    monkeypatch.setattr(nn.Linear, "forward", holds)
    watched = fit(trainer(job), 3)
    assert held
    assert np.array_equal(alone.loss, watched.loss)
    for name, weights in alone.trainer.weights().items():
        assert np.array_equal(weights, watched.trainer.weights()[name])
    raises(RuntimeError, "or a trainer's step, which keeps weights", held[0].numpy)


def test_accuracy_is_the_share_of_right_answers():
    tested = trainer()
    fit(tested, 30)
    w1, b1, w2, b2 = tested.weights().values()
    images, labels = tested.test
    said = (np.maximum(images @ w1.T + b1, 0) @ w2.T + b2).argmax(1)
    assert tested.evaluate() == pytest.approx((said == labels).mean())


@for_rows("zero", False, True)
def test_a_state_goes_on_bit_for_bit_and_on_other_ranks_with_equal_weights(zero):
    job = replace(
        SMALL, dtype="bfloat16", optimizer="adam", lr=0.003, master_weights=True, zero=zero
    )
    first = trainer(job)
    fit(first, 8)
    state = first.state()
    second, third = trainer(job), trainer(replace(job, ranks=8, zero=not zero))
    for other in (second, third):
        other.load_state(state)
        assert equal(state["arrays"], arrays(other))
    assert [first.step().loss for _ in range(3)] == [second.step().loss for _ in range(3)]
    assert equal(arrays(first), arrays(second))
    assert third.step().epoch == 1


def test_a_state_of_another_job_is_refused_whole():
    tested = trainer(replace(SMALL, momentum=0.9))
    before, state = arrays(tested), trainer().state()
    raises(ValueError, r"'optimizer/0.bias/momentum' is missing", tested.load_state, state)
    state["arrays"]["model/0.bias"] = np.zeros(3)
    with pytest.raises(ValueError, match=r"'model/0.bias' has shape \(3,\), and this job takes"):
        trainer().load_state(state)
    assert equal(before, arrays(tested))


def test_learning_rates_follow_their_schedule():
    job = replace(SMALL, lr=1.0, warmup=2)
    assert [job.rate(i) for i in range(4)] == [0.5, 1.0, 1.0, 1.0]
    job = replace(job, schedule="cosine", schedule_steps=6)
    falls = [(2 + 2**0.5) / 4, 0.5, (2 - 2**0.5) / 4]
    rates = [job.rate(i) for i in range(8)]
    assert rates == pytest.approx([0.5, 1.0, 1.0, *falls, 0.0, 0.0], abs=1e-12)
    assert fit(trainer(job), 3).steps[0].lr == 0.5


def test_a_run_and_its_report_say_what_they_are():
    assert repr(fit(trainer(), 0)) == "Run(small, 4 ranks, 0 steps)"
    assert repr(fit(trainer(), 1, evaluate_every=1)).startswith("Run(small, 4 ranks, 1 steps, loss")
    tested = trainer()
    raises(RuntimeError, "take a step first", lambda: tested.report)
    run = fit(tested, 1)
    assert run.report.samples == 32
    assert run.report.ranks == 4
    assert run.report.step_ns >= run.report.compute_ns > 0


# -- first light ----------------------------------------------------------------------------------


def test_the_trainer_repeats_first_light():
    """Judge: ``first_light``, whose gradients are written by hand; same weights, same batches."""
    judge = first_light(lambda g: [g.sum(axis=0)] * 8, 8, steps=6, images_per_rank=4, seed=5)
    tested = Trainer(
        Job(ranks=8, batch=4, lr=0.5, dtype="float32"), task=task(1437, lambda: nn.MLP(64, 64, 10))
    )
    begin, end = (dict(zip(tested.weights(), (a[0] for a in parts(rows)), strict=True))
                  for rows in (initial_weights([5]), judge.weights))  # fmt: skip
    state = tested.state()
    state["arrays"] = {f"model/{name}": value for name, value in begin.items()}
    tested.load_state(state)
    rng = np.random.default_rng(5)
    for loss in judge.loss:
        step = tested.step(rng.integers(1437, size=(8, 4))[None])
        assert step.loss == pytest.approx(loss, abs=1e-5)
    for name, value in end.items():
        np.testing.assert_allclose(tested.weights()[name], value, atol=2e-6)


# -- what cannot be -------------------------------------------------------------------------------
