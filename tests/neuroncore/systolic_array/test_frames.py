"""Frames: judged by the recorded run's own states."""

import numpy as np

from tests.for_each import raises
from trainium_edu.neuroncore.systolic_array import SystolicArray, run
from trainium_edu.neuroncore.systolic_array.frames import frames_of_run


def test_frames_hold_every_state_and_every_event():
    draw = np.random.default_rng(2)
    w, x = draw.standard_normal((6, 7)), draw.standard_normal((6, 9))
    array = SystolicArray(4, 4, load_speed=2)
    recorded = run(w, x, array=array, fmt="bf16", record=True)
    frames = frames_of_run(recorded)
    assert frames.cycles == recorded.cycles
    for t in (0, 5, recorded.cycles - 1):
        state = recorded.state(t)
        np.testing.assert_array_equal(frames.down[t], state.partial_sum)
        np.testing.assert_array_equal(frames.stays[t], state.weight)
        np.testing.assert_array_equal(frames.across[t], state.moving)
    np.testing.assert_array_equal(frames.utilisation * array.pes, recorded.working)
    for t, row, value in frames.left_queue:
        assert frames.across_valid[t, row, 0]
        assert frames.across[t, row, 0] == value
    assert len(frames.results) == 7 * 9 * 2  # two K tiles
    assert "4 x 4" in repr(frames)


def test_frames_need_a_recorded_run():
    raises(ValueError, "record=True", frames_of_run, run([[1.0]], [[1.0]], fmt="bf16"))
