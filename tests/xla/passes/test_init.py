"""All passes together: values, and what stands for what.

Judges: the plan of the graph as recorded; the graph itself, whose every node must be accounted for.
"""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np

from tests.for_each import for_each
from tests.xla.random_graphs import random_graph
from trainium_edu.xla.executor import Plan
from trainium_edu.xla.passes import run_passes, stands_for

NONE = SimpleNamespace(auto_cast="none", auto_cast_type="bf16")


@for_each("seed", range(20))
def test_values_stay(seed):
    graph, feeds = random_graph(seed)
    after = run_passes(graph, NONE)[-1].after
    for want, found in zip(Plan(graph).run(feeds), Plan(after).run(feeds), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)


@for_each("mode", ["none", "matmult", "all"])
@for_each("seed", range(10))
def test_every_recorded_node_is_accounted_for(seed, mode):
    graph, _ = random_graph(seed)
    flags = SimpleNamespace(auto_cast=mode, auto_cast_type="bf16")
    steps = run_passes(graph, flags)
    served = stands_for(steps)
    assert set(served) == set(steps[-1].after.nodes)
    assert all(served.values())
    assert {old for olds in served.values() for old in olds} == set(graph.nodes)


def test_passes_follow_each_other_alike_every_time():
    steps = run_passes(random_graph(3)[0], NONE)
    assert [step.name for step in steps] == ["auto-cast", "simplify", "fuse"]
    assert all(a.after is b.before for a, b in pairwise(steps))
    steps = run_passes(random_graph(3)[0], NONE, is_fused=False)
    assert "fusion" not in {node.operation for node in steps[-1].after.nodes}
    graph, _ = random_graph(5)
    first, second = (run_passes(graph, NONE)[-1].after for _ in range(2))
    assert first.outputs == second.outputs
