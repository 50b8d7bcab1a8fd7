"""Sections and collectives in time.

Judges: the closed form of a flow shop with two machines (Johnson 1954), which is what gradient
buckets beside a backward pass are (PyTorch DDP, Li et al. 2020); sums and bounds that must hold.
"""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from tests.for_each import for_each, for_rows
from tests.xla.executable.graphs import layers, step_of
from trainium_edu.neuroncore.timing.bands import Band
from trainium_edu.xla.executable import Executable
from trainium_edu.xla.executable.sections import COLLECTIVES, in_order
from trainium_edu.xla.executable.tracks import ENGINES, LINKS, place, reads
from trainium_edu.xla.executor import Plan, Setting
from trainium_edu.xla.flags import Flags
from trainium_edu.xla.graph import Graph, Type
from trainium_edu.xla.operations import apply, parameter
from trainium_edu.xla.operations.control import item
from trainium_edu.xla.passes import run_passes

COUNT = 4


def summed(gradients):
    """Return each layer's gradients summed over ranks, the last layer's first."""
    found = list(gradients)
    for layer in reversed(range(len(found) // 2)):
        pair = slice(2 * layer, 2 * layer + 2)
        node = apply("all_reduce", *found[pair], kind="sum", groups=None)
        found[pair] = item(node, 0), item(node, 1)
    return found


def shared_step(count=COUNT, rows=64, width=128) -> Graph:
    """Return a step of SGD in which ranks sum gradients."""
    return Graph("step", *step_of(count, rows, width, summed))


def compiled(ns, **options):
    return Executable(shared_step(), times=SimpleNamespace(collective=lambda node: ns), **options)


@pytest.fixture(scope="module", params=[100.0, 20_000.0, 500_000.0])
def executable(request):
    return compiled(request.param)


def total(placed, track):
    return sum(one.end_ns - one.start_ns for one in placed if one.track == track)


def end(placed):
    return max(one.end_ns for one in placed)


# -- order ----------------------------------------------------------------------------------------


def test_what_the_last_layers_bucket_needs_comes_first():
    final = compiled(1.0).final
    order, waits = in_order(final)
    queue = [node for node in order if node.operation in COLLECTIVES]
    scopes = [node.inputs[0].scope for node in queue]
    assert scopes == [f"backward/layer.{i}" for i in reversed(range(COUNT))]
    place = {node: i for i, node in enumerate(order)}
    dot_of_first = queue[-1].inputs[0]
    assert place[queue[0]] < place[dot_of_first]
    assert [waits[node] for node in queue] == list(range(1, COUNT + 1))
    updates = [node for node in order if node in final.outputs[1:]]
    assert [waits[node] for node in updates] == sorted(waits[node] for node in updates)


def random_graph(seed) -> Graph:
    draw = np.random.default_rng(seed)
    nodes = [parameter(0, Type((8, 8), "float32"), "x")]
    for _ in range(60):
        a, b = (nodes[i] for i in draw.integers(max(0, len(nodes) - 12), len(nodes), 2))
        kind = draw.choice(["add", "exp", "all_reduce", "dot"], p=[0.3, 0.3, 0.15, 0.25])
        more = {"all_reduce": {"kind": "sum", "groups": None},
                "dot": {"turn_a": False, "turn_b": False}}.get(kind, {})  # fmt: skip
        inputs = (a,) if kind in ("exp", "all_reduce") else (a, b)
        nodes.append(apply(str(kind), *inputs, **more))
    return Graph("random", (nodes[0],), tuple(nodes[-6:]))


@for_each("seed", range(12))
def test_any_graph_keeps_every_operation_after_its_inputs(seed):
    graph = random_graph(seed)
    order, waits = in_order(graph)
    assert sorted(order, key=lambda n: n.number) == sorted(graph.nodes, key=lambda n: n.number)
    place = {node: i for i, node in enumerate(order)}
    queue = {node: i for i, node in enumerate(n for n in order if n.operation in COLLECTIVES)}
    for node in order:
        assert all(place[i] < place[node] for i in node.inputs)
        assert all(queue[i] < waits[node] for i in node.inputs if i in queue)


@for_each("seed", range(4))
def test_of_any_graph_nothing_starts_before_what_it_reads(seed):
    draw = np.random.default_rng(seed)
    executable = Executable(
        random_graph(seed), times=SimpleNamespace(collective=lambda n: float(draw.integers(9000)))
    )
    placed = executable.tracks()
    ready = {node: one.end_ns for one in placed for node in one.section.nodes}
    begin = {node: one.start_ns for one in placed for node in one.section.nodes}
    assert {n for n in executable.final.nodes if n.operation != "parameter"} == set(ready)
    for one in placed:
        for node in one.section.nodes:
            for i in node.inputs:
                assert i not in ready or i in one.section.nodes or ready[i] <= begin[node]
    assert executable.why().total_ns == pytest.approx(executable.makespan_ns)


def test_without_collectives_the_order_is_the_graphs():
    graph = layers(2)
    order, waits = in_order(graph)
    assert list(order) == list(graph.nodes)
    assert not waits


# -- time -----------------------------------------------------------------------------------------


def test_tracks_do_one_thing_at_a_time_and_bound_the_makespan(executable):
    for overlap in (True, False):
        placed = executable.tracks(overlap)
        for track in (ENGINES, LINKS):
            mine = [one for one in placed if one.track == track]
            assert len(mine) >= COUNT
            assert all(a.end_ns <= b.start_ns for a, b in pairwise(mine))
    placed = executable.tracks()
    both = total(placed, ENGINES), total(placed, LINKS)
    assert max(both) <= executable.makespan_ns <= sum(both) * (1 + 1e-12)
    apart = executable.tracks(False)
    assert end(apart) == pytest.approx(total(apart, ENGINES) + total(apart, LINKS))
    again = compiled(executable.times.collective(None), overlaps=False)
    assert again.makespan_ns == end(apart)
    assert again.makespan_ns >= executable.makespan_ns


@for_each("seed", range(6))
def test_buckets_beside_a_backward_pass_take_what_a_flow_shop_takes(seed):
    """The last sum ends at the greatest, over k, of b(1)...b(k) and then c(k)...c(n)."""
    executable, draw = compiled(1.0), np.random.default_rng(seed)
    sections = executable.sections
    ns = draw.uniform(1, 100, len(sections)).tolist()
    work, sums, since = [], [], 0.0
    for section, took in zip(sections, ns, strict=True):
        if section.body.is_collective:
            work.append(since)
            sums.append(took)
            since = 0.0
        else:
            since += took
    wanted = max(sum(work[: k + 1]) + sum(sums[k:]) for k in range(COUNT))
    placed = place(sections, reads(sections, executable.final), ns, True)
    assert [one for one in placed if one.track == LINKS][-1].end_ns == pytest.approx(wanted)


@for_rows("b, c", (10.0, 3.0), (10.0, 10.0), (10.0, 40.0))
def test_equal_layers_hide_all_but_one_sum_or_all_but_one_layer(b, c):
    executable = compiled(1.0)
    sections, before = executable.sections, True
    ns = []
    for section in sections:  # one section of `b` before each sum, nothing after the last
        before = before and sum(s.body.is_collective for s in sections[: len(ns)]) < COUNT
        ns.append(c if section.body.is_collective else b * before)
    counts = sum(1 for n, s in zip(ns, sections, strict=True) if n and not s.body.is_collective)
    assert counts == COUNT
    placed = place(sections, reads(sections, executable.final), ns, True)
    assert end(placed) == pytest.approx(b + (COUNT - 1) * max(b, c) + c)


def test_exposed_sums_and_slow_ranks_are_seen_on_the_engines(executable):
    placed = executable.tracks()
    causes = executable.why().ns_by(lambda node, piece: piece.cause)
    exposed = executable.makespan_ns - total(placed, ENGINES)
    assert causes.get("collective: exposed", 0.0) == pytest.approx(exposed)
    assert executable.why().total_ns == pytest.approx(executable.makespan_ns)
    slow = executable.tracks(slowest=2.0)
    assert total(slow, ENGINES) == pytest.approx(2 * total(executable.tracks(), ENGINES))
    assert total(slow, LINKS) == pytest.approx(total(executable.tracks(), LINKS))
    records = [r for r in executable.operations() if r.section is not None]
    for record in records:
        one = placed[record.section]
        assert one.start_ns <= record.start_ns <= record.end_ns <= one.end_ns * (1 + 1e-12)
    assert max(r.end_ns for r in records) == pytest.approx(executable.makespan_ns)


def test_the_band_moves_collectives_by_the_facts_of_links():
    band = Band(900.0, 30_000.0, 90_000.0, {"hop": (900.0, 90_000.0)})
    executable = compiled(band)
    ends = [compiled(ns).band for ns in (900.0, 30_000.0, 90_000.0)]
    assert executable.band.nominal_ns == executable.makespan_ns == ends[1].nominal_ns
    assert executable.band.low_ns == ends[0].low_ns
    assert executable.band.high_ns == ends[2].high_ns
    assert executable.band.effects["hop"] == (ends[0].nominal_ns, ends[2].nominal_ns)


# -- the same program -----------------------------------------------------------------------------


def test_values_do_not_depend_on_the_order_in_time():
    class Sums:
        def all_reduce(self, flat, node, draw=0):
            return flat.sum(0)

    draw = np.random.default_rng(0)
    graph = shared_step()
    feeds = [draw.normal(0, 0.1, p.shape).astype(np.float32) for p in graph.parameters]
    setting = Setting("stochastic", 3, replicas=1, collectives=Sums())
    for overlaps in (True, False):
        executable = compiled(5.0, overlaps=overlaps)
        _ = executable.makespan_ns
        wanted = Plan(run_passes(graph, Flags())[-1].after).run(feeds, setting)
        for a, b in zip(executable.plan.run(feeds, setting), wanted, strict=True):
            assert np.array_equal(a, b)


def test_loaded_or_among_other_ranks_the_tracks_stay(executable):
    found = Executable.from_bytes(executable.to_bytes(), times=executable.times)
    for overlap in (True, False):
        mine, theirs = (
            [(p.name, p.track, p.start_ns, p.end_ns, p.section.nodes) for p in e.tracks(overlap)]
            for e in (found, executable)
        )
        assert mine == theirs
    assert found.makespan_ns == executable.makespan_ns
    other = executable.with_times(SimpleNamespace(collective=lambda node: 7.0))
    assert other.sections is executable.sections
    assert total(other.tracks(), LINKS) == 7.0 * COUNT
    assert total(other.tracks(), ENGINES) == total(executable.tracks(), ENGINES)
    assert other.makespan_ns == compiled(7.0).makespan_ns
