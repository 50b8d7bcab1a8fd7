"""What the benchmark of replicas runs is right, and needs little.  Judges: PyTorch; /proc."""

import sys

import pytest

from tests.benchmarks.bench_parallel import Replicas, peak_bytes, theirs


def test_what_is_measured_trains_all_replicas_alike():
    ours = Replicas(4, 16)
    losses = [ours.step().mean() for _ in range(30)]
    assert losses[-1] < losses[0] - 0.1
    ours.check()
    last, report = ours.timed()
    assert last.shape == (4,)
    assert report.ranks == 4


@pytest.mark.judge
@pytest.mark.parametrize(("dtype", "parts"), [("float32", 1), ("bfloat16", 4)])
def test_the_peers_train_as_fast(dtype, parts):
    torch = pytest.importorskip("torch")
    ours = Replicas(4, 16)
    torch.manual_seed(0)
    peer = theirs(dtype, parts, ours.images.reshape(-1, 64), ours.labels.reshape(-1))
    peers = [peer() for _ in range(30)]
    losses = [ours.step().mean() for _ in range(30)]
    assert peers[0] == pytest.approx(losses[0], abs=0.2)  # other weights, of the same spread
    assert peers[-1] - peers[0] == pytest.approx(losses[-1] - losses[0], abs=0.1)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_grows_with_the_replicas_and_not_with_their_square():
    few, many = peak_bytes(2, 8), peak_bytes(32, 8)
    weights = 4 * 85_002
    assert many - few < 30 * 20 * weights
