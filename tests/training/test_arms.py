"""Bytes per parameter.  Judge: counting by hand, and published arithmetic (6 against 10 bytes)."""

from tests.for_each import for_rows
from trainium_edu.training import ARMS, footprint, get_arm


@for_rows(
    "arm, stored, read, written",
    ("fp32", 4, 4 + 4, 4),
    ("master", 4 + 2, 4 + 2, 4 + 2),
    ("nearest", 2, 2 + 2, 2),
    ("stochastic", 2, 2 + 2, 2),
)
def test_sgd_keeps_and_moves_these_bytes(arm, stored, read, written):
    bytes_ = footprint(arm)
    assert bytes_.stored_bytes == stored
    assert (bytes_.read_bytes, bytes_.written_bytes) == (read, written)
    assert bytes_.update_traffic_bytes == read + written


def test_stochastic_rounding_saves_the_fp32_copy_and_bf16_state_four_bytes():
    assert footprint("stochastic", "adam").stored_bytes == 6
    assert footprint("stochastic", "adam", state="fp32").stored_bytes == 10
    master, stochastic = footprint("master"), footprint("stochastic")
    assert master.stored_bytes - stochastic.stored_bytes == master.master_bytes == 4


def test_arms_differ_in_what_they_say():
    arms = list(ARMS.values())
    assert len({(a.compute, a.weights, a.rounding) for a in arms}) == 4
    assert [a.name for a in arms if a.has_master] == ["master"]
    assert get_arm(arms[0]) is arms[0]
