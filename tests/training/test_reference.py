"""The network of lesson 02.

Judges: central differences in float64, PyTorch (marker ``judge``), NumPy's ``exp`` and ``@``,
ml_dtypes' cast, and the plain code as answer sheet of the compiled loops.
"""

import ml_dtypes
import numpy as np
import pytest

from tests.for_each import for_each
from trainium_edu import settings, training
from trainium_edu.numerics import draw_bits
from trainium_edu.training import ARMS, PARAMETERS, _loops, digits, gradient, initial_weights, train
from trainium_edu.training.reference import exp, logits, matmul, update

# --- arithmetic ---------------------------------------------------------------------------------


def test_matmul_adds_in_order():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((3, 5, 7), np.float32), rng.standard_normal((3, 7, 4), np.float32)
    got = matmul(a, b)
    for r in range(3):
        for m in range(5):
            for n in range(4):
                total = np.float32(0)
                for k in range(7):
                    total = np.float32(total + np.float32(a[r, m, k] * b[r, k, n]))
                assert got[r, m, n] == total
    assert np.allclose(got, a @ b, rtol=1e-5, atol=1e-6)


def test_exp_is_within_two_units_of_numpys():
    x = -np.logspace(-6, np.log10(59), 20_000).astype(np.float32)
    exact = np.exp(x.astype(np.float64))
    assert (np.abs(exp(x) - exact) / exact).max() < 2 * 2.0**-23
    assert exp(np.float32(0)) == 1
    assert exp(np.float32(-1000)) == exp(np.float32(-60)) > 0


# --- gradients ----------------------------------------------------------------------------------


def some_batch(replicas=2, batch=6):
    data = digits()
    picked = np.arange(replicas * batch).reshape(replicas, batch) * 7
    return data.train_images[picked], data.train_labels[picked]


def loss64(weights, images, labels):
    """Compute the loss of one replica in float64, written apart from the code under test."""
    w1, b1 = weights[:4096].reshape(64, 64), weights[4096:4160]
    w2, b2 = weights[4160:4800].reshape(10, 64), weights[4800:]
    z = np.maximum(images @ w1.T + b1, 0) @ w2.T + b2
    z = z - z.max(axis=1, keepdims=True)
    return -(z[np.arange(len(labels)), labels] - np.log(np.exp(z).sum(axis=1))).mean()


def test_gradient_agrees_with_central_differences():
    weights = initial_weights([0, 1])
    images, labels = some_batch()
    grad, chosen = gradient(weights, images, labels)
    rng = np.random.default_rng(0)
    some = np.concatenate(
        [rng.integers(0, PARAMETERS, 150), np.arange(4096, 4110), np.arange(4800, 4810)]
    )
    for r in range(2):
        at = weights[r].astype(np.float64)
        x = images[r].astype(np.float64)
        assert -np.log(chosen[r]).mean() == pytest.approx(loss64(at, x, labels[r]), rel=1e-6)
        for i in some:
            step = np.zeros(PARAMETERS)
            step[i] = 1e-6
            slope = (loss64(at + step, x, labels[r]) - loss64(at - step, x, labels[r])) / 2e-6
            assert grad[r, i] == pytest.approx(slope, rel=2e-4, abs=2e-7)


@pytest.mark.judge
def test_gradient_and_steps_agree_with_pytorch():
    torch = pytest.importorskip("torch")
    weights = initial_weights([5])
    net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    net = net.double()
    parts = np.split(weights[0], np.cumsum([4096, 64, 640]))
    with torch.no_grad():
        for tensor, part in zip(net.parameters(), parts, strict=True):
            tensor.copy_(torch.tensor(part.astype(np.float64)).reshape(tensor.shape))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    ours = weights
    for step in range(5):
        images, labels = some_batch(1, 32)
        images, labels = np.roll(images, step, axis=1), np.roll(labels, step, axis=1)
        grad, _ = gradient(ours, images, labels)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(
            net(torch.tensor(images[0]).double()), torch.tensor(labels[0])
        )
        loss.backward()
        theirs = np.concatenate([p.grad.numpy().ravel() for p in net.parameters()])
        assert np.allclose(grad[0], theirs, rtol=1e-4, atol=1e-6)
        optimizer.step()
        ours = update(ours, grad, 0.1, "fp32")


def test_bf16_gradient_is_a_bf16_number_near_the_fp32_one():
    weights = initial_weights([0, 1], narrow=True)
    images, labels = some_batch()
    wide, _ = gradient(weights, images, labels)
    grad, _ = gradient(weights, images, labels, bf16=True)
    assert (grad == grad.astype(ml_dtypes.bfloat16).astype(np.float32)).all()
    assert np.linalg.norm(grad - wide) < 0.02 * np.linalg.norm(wide)


# --- the update ---------------------------------------------------------------------------------


@pytest.mark.compiled
def test_each_arm_rounds_its_update_as_it_says():
    stored = initial_weights([0], narrow=True)
    grad = np.linspace(-1, 1, PARAMETERS, dtype=np.float32)[None]
    exact = stored - np.float32(0.003) * grad
    assert (update(stored, grad, 0.003, "fp32") == exact).all()
    assert (update(stored, grad, 0.003, "master") == exact).all()
    judge = exact.astype(ml_dtypes.bfloat16).astype(np.float32)
    assert (update(stored, grad, 0.003, "nearest") == judge).all()
    mean = np.mean(
        [update(stored, grad, 0.003, "stochastic",
                random_bits=draw_bits(PARAMETERS, seed=s)[None])
         for s in range(400)], axis=0, dtype=float
    )  # fmt: skip
    spacing = np.spacing(exact) * 2.0**16
    z = (mean - exact) / (spacing * 0.5 / np.sqrt(400))
    assert np.abs(z).max() < 5
    assert abs(z.mean()) < 0.1


# --- twins --------------------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize("arm", list(ARMS))
@pytest.mark.parametrize("rate", [0.003, 0.1])
def test_the_loops_give_the_plain_codes_bits(arm, rate):
    options = {"learning_rate": rate, "epochs": 1, "seeds": [0, 7]}
    plain, fast = train(arm, fast=False, **options), train(arm, **options)
    assert plain.weights.tobytes() == fast.weights.tobytes()
    assert (plain.loss == fast.loss).all()
    assert (plain.accuracy == fast.accuracy).all()


@for_each("arm", list(ARMS))
def test_two_small_steps_agree_in_every_loop_and_in_plain_numpy(arm):
    arm = ARMS[arm]
    narrow = arm.compute == "bf16"
    data = digits()
    order = np.stack([training.batches(1437, seed=s, epoch=0)[:2, :4] for s in (0, 1)])
    bits = np.empty((2, 0, PARAMETERS), np.uint16)
    if arm.rounding == "stochastic":
        bits = np.stack([draw_bits(2 * PARAMETERS, seed=s).reshape(2, PARAMETERS) for s in (0, 1)])
    plain = initial_weights([0, 1], narrow=arm.weights == "bf16")
    for step in range(2):
        picked = order[:, step]
        grad, _ = gradient(
            training.reference.to_bf16(plain) if narrow else plain,
            data.train_images[picked], data.train_labels[picked], bf16=narrow,
        )  # fmt: skip
        some = bits[:, step] if bits.shape[1] else None
        plain = update(plain, grad, 0.05, arm, random_bits=some)
    with np.errstate(over="ignore"):  # uint32 wraps, where Numba is switched off
        for loop in (_loops.train_serial, _loops.train_parallel):
            stored = initial_weights([0, 1], narrow=arm.weights == "bf16")
            chosen = np.empty(order.shape, np.float32)
            given = data.train_images, data.train_labels, order, training.HIDDEN, np.float32(0.05)
            loop(*given, narrow, arm.has_master, bits, stored, chosen)
            assert stored.tobytes() == plain.tobytes()


def test_interpreted_matmul_and_exp_are_the_compiled_ones():
    plain = getattr(_loops._matmul, "py_func", _loops._matmul)
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((4, 7), np.float32), rng.standard_normal((7, 5), np.float32)
    one, two = np.empty((4, 5), np.float32), np.empty((4, 5), np.float32)
    plain(a, b, one)
    _loops._matmul(a, b, two)
    assert one.tobytes() == two.tobytes() == matmul(a, b).tobytes()
    x = -np.logspace(-3, 1.8, 300).astype(np.float32)
    assert [float(_loops._exp(v)) for v in x] == exp(x).astype(float).tolist()


def test_rounding_inside_the_loops_is_ml_dtypes():
    words = np.random.default_rng(2).integers(0, 2**32, 5000, dtype=np.uint64).astype(np.uint32)
    values = words.view(np.float32)
    for x in [*values[~np.isnan(values)], *np.float32([np.inf, 3.4e38, -0.0])]:
        got = np.float32(_loops._bf16_nearest(x))
        want = np.float32(x).astype(ml_dtypes.bfloat16).astype(np.float32)
        assert got == want
    assert np.isnan(_loops._bf16_nearest(np.float32(np.nan)))


def test_logits_are_the_forward_pass():
    weights = initial_weights([0, 1])
    images = digits().test_images[:20]
    z = logits(weights, images)
    w1, b1, w2, b2 = training.reference.parts(weights)
    h = matmul(w1, images.T[None]) + b1[..., None]
    want = matmul(w2, np.where(h < 0, np.float32(0), h)) + b2[..., None]
    assert z.tobytes() == want.tobytes()
    assert (training.predict(weights, images) == want.argmax(axis=1)).all()


# --- training -----------------------------------------------------------------------------------


@pytest.mark.compiled
def test_replicas_together_are_replicas_alone():
    together = train("stochastic", epochs=2, seeds=[4, 9])
    alone = train("stochastic", epochs=2, seeds=[9])
    assert (together.weights[1] == alone.weights[0]).all()
    assert (together.loss[:, 1] == alone.loss[:, 0]).all()


@pytest.mark.compiled
def test_the_effect_at_a_small_rate_and_its_absence_at_a_large_one():
    seeds = range(3)
    small = {a: train(a, learning_rate=0.003, epochs=40, seeds=seeds) for a in ARMS}
    large = {a: train(a, learning_rate=0.1, epochs=20, seeds=seeds) for a in ARMS}

    def mean(run):
        return run.final_accuracy.mean()

    assert mean(small["nearest"]) < mean(small["fp32"]) - 0.3
    assert abs(mean(small["stochastic"]) - mean(small["fp32"])) < 0.03
    assert abs(mean(small["master"]) - mean(small["fp32"])) < 0.02
    assert max(map(mean, large.values())) - min(map(mean, large.values())) < 0.02


@pytest.mark.compiled
def test_runs_have_the_arms_width_and_can_diverge_or_be_stopped():
    assert train("master", epochs=1, seeds=[0]).weights.dtype == np.float32
    assert train("nearest", epochs=1, seeds=[0]).weights.dtype == ml_dtypes.bfloat16
    run = training.epochs("fp32", epochs=1000, seeds=[0])
    assert [next(run).number for _ in range(3)] == [1, 2, 3]
    run.close()
    run = train("fp32", learning_rate=1e30, epochs=2, seeds=[0])
    assert not np.isfinite(run.loss).all()
    assert np.isfinite(train("fp32", epochs=1, seeds=[0]).loss).all()


@pytest.mark.compiled
def test_rounding_comes_from_the_documented_switches_unless_given(monkeypatch):
    monkeypatch.delenv("NEURON_RT_STOCHASTIC_ROUNDING_EN", raising=False)
    assert train(epochs=1, seeds=[0]).arm is ARMS["nearest"]
    monkeypatch.setenv("NEURON_RT_STOCHASTIC_ROUNDING_EN", "1")
    monkeypatch.setenv("NEURON_RT_STOCHASTIC_ROUNDING_SEED", "5")
    switched = train(epochs=1, seeds=[0])
    assert switched.arm is ARMS["stochastic"]
    said = train(rounding="stochastic", rounding_seed=5, epochs=1, seeds=[0])
    assert switched.weights.tobytes() == said.weights.tobytes()
    other = train(rounding="stochastic", rounding_seed=6, epochs=1, seeds=[0])
    assert switched.weights.tobytes() != other.weights.tobytes()
    assert train(rounding="nearest", epochs=1, seeds=[0]).arm is ARMS["nearest"]


@pytest.mark.compiled
def test_the_environment_is_read_once_by_the_outermost_call(monkeypatch):
    calls = []
    real = settings.rounding
    monkeypatch.setattr(settings, "rounding", lambda: calls.append(1) or real())
    train("bf16", rounding="nearest", epochs=3, seeds=[0, 1])
    assert len(calls) == 1
