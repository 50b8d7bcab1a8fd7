"""Judges: arithmetic on the facts' formulas, brute force over sizes."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainium_edu import fabric
from trainium_edu.fabric import FabricError, Line


def test_inter_node_forms_and_the_break_even_of_the_facts():
    rate = 50e9 / 8
    at = {
        name: fabric.inter_node(name, 4, step_ns=15_000, bytes_per_s=rate)
        for name in ("ring", "mesh", "mesh_single_step", "rdh")
    }
    assert [at[n].alpha_ns / 15_000 for n in at] == [6, 2, 1, 4]
    even = fabric.single_step_break_even_bytes(4, step_ns=15_000, bytes_per_s=rate)
    assert even == 62_500
    assert float(at["mesh"].at(even)) == pytest.approx(float(at["mesh_single_step"].at(even)))
    two = fabric.single_step_break_even_bytes(2, step_ns=15_000, bytes_per_s=rate)
    assert two == math.inf
    with pytest.raises(FabricError, match="power of two of instances; 6 is not"):
        fabric.inter_node("rdh", 6, step_ns=15_000, bytes_per_s=rate)


lines = st.lists(
    st.builds(Line, st.sampled_from("abcdef"), st.floats(0, 1e6), st.floats(0, 1e3)),
    min_size=1,
    max_size=6,
)


@given(lines)
def test_sweep_is_the_minimum(many):
    sizes = np.geomspace(1, 1e9, 97)
    times, best = fabric.sweep(many, sizes)
    plain = np.stack([k.alpha_ns + k.ns_per_byte * sizes for k in many])
    assert np.array_equal(times, plain)
    assert np.array_equal(best, plain.argmin(axis=0))


@given(lines)
def test_crossovers_are_where_the_winner_changes(many):
    found = fabric.crossovers(many)
    sizes = [b for b, _, _ in found]
    assert sizes == sorted(sizes)
    edges = [0.0, *sizes]
    for i, low in enumerate(edges):
        high = edges[i + 1] if i + 1 < len(edges) else max(low * 2, 1.0)
        middle = (low + high) / 2
        best = min(float(k.at(middle)) for k in many)
        name = found[i - 1][2] if i else (found[0][1] if found else None)
        if name:
            ours = min(float(k.at(middle)) for k in many if k.name == name)
            assert ours == pytest.approx(best, rel=1e-9, abs=1e-9)


def test_sweep_does_not_depend_on_blocks():
    many = [Line("a", 5, 3), Line("b", 50, 1)]
    sizes = np.linspace(0, 100, 20_001)
    times, best = fabric.sweep(many, sizes)
    again, also = fabric.sweep(many, sizes.reshape(-1, 1))
    assert np.array_equal(times, again[..., 0])
    assert np.array_equal(best, also[..., 0])
