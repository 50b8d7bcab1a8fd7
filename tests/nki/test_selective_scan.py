"""Judge: the recurrence, step by step in NumPy."""

import numpy as np

import trainium_edu.nki as nki
from tests.for_each import for_rows
from tests.published import selective_scan as reference
from trainium_edu.nki.examples import selective_scan


def arguments(channels, length, states=4, seed=0):
    rng = np.random.default_rng(seed)
    delta = rng.random((1, channels, length), np.float32) * 0.1
    u = rng.standard_normal((1, channels, length)).astype(np.float32)
    a = -rng.random((channels, states), np.float32)
    b, c = (rng.standard_normal((1, states, length)).astype(np.float32) for _ in range(2))
    return delta, u, a, b, c


@for_rows("kernel", selective_scan.reload, selective_scan.hoisted)
def test_a_scan_follows_the_recurrence(kernel):
    given = arguments(256, 512)
    np.testing.assert_allclose(kernel(*given), reference(*given), rtol=2e-5, atol=2e-5)


def test_a_scan_in_pieces_hands_its_state_on():
    given = arguments(128, 1024)
    expected = reference(*given)
    np.testing.assert_allclose(selective_scan.tiled(*given), expected, rtol=2e-5, atol=2e-5)


def test_the_three_move_the_bytes_that_their_names_say():
    given = arguments(256, 512)
    moved = [
        nki.run(kernel, *given, values=False).timeline.hbm_bytes
        for kernel in (selective_scan.reload, selective_scan.hoisted)
    ]
    tile = 256 * 512 * 4  # delta or u, all channels
    assert moved[0] - moved[1] == 2 * 3 * tile  # three more loads of both
