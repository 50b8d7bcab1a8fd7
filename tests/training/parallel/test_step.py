"""One clock for a step of many ranks.

Judges: closed forms by hand (FLOPs of a multilayer perceptron, sums of tracks), ``fabric.account``,
the documented range of a hop, and Amdahl's law for scaling.
"""

from itertools import pairwise

import numpy as np
import pytest

from tests.for_each import for_each, for_rows, raises
from trainium_edu import fabric
from trainium_edu.fabric.published import model_time_ns
from trainium_edu.specs import INF2, TRN1, TRN2
from trainium_edu.training import Job, Trainer, step_report
from trainium_edu.training.parallel.collectives import compiler_for, links
from trainium_edu.training.parallel.step import peak_flops
from trainium_edu.xla.executable import Executable
from trainium_edu.xla.graph import Graph, Type
from trainium_edu.xla.operations import apply, parameter

SIZES = ((64, 256), (256, 256), (256, 10))
PARAMETERS = sum(k * n + n for k, n in SIZES)


def trained(**options):
    job = Job(**{"ranks": 8, "bucket_bytes": 70_000, "seed": 1} | options)
    trainer = Trainer(job)
    trainer.step()
    return trainer


@pytest.fixture(scope="module")
def trainer():
    return trained()


@pytest.fixture(scope="module")
def report(trainer):
    return reported(trainer)


def reported(trainer, **options):
    return step_report(
        trainer.device.executable, trainer.links, trainer.job.global_batch, **options
    )


def all_reduce(size=1000, dtype="float32", operation="all_reduce", **attributes):
    x = parameter(0, Type((size,), dtype))
    attributes = attributes or {"kind": "sum", "groups": None, "scale": 1.0}
    return apply(operation, x, **attributes)


# -- the step -------------------------------------------------------------------------------------


def test_compute_and_exposed_sums_add_up_to_the_step(trainer, report):
    assert report.step_ns == pytest.approx(report.compute_ns + report.exposed_ns)
    assert report.step_ns == pytest.approx(trainer.device.executable.makespan_ns)
    assert report.hidden_ns + report.exposed_ns == pytest.approx(report.communication_ns)
    assert max(report.compute_ns, report.communication_ns) <= report.step_ns
    assert report.hidden_ns > 0
    executable, reached = trainer.device.executable, trainer.links
    nodes = [s.nodes[0] for s in executable.sections if s.body.is_collective]
    assert len(nodes) > 1
    assert sum(i.type.size for n in nodes for i in n.inputs) == PARAMETERS
    bills = [reached.account(node) for node in nodes]
    assert report.communication_ns == pytest.approx(sum(bill.total_ns for bill in bills))
    busy = sum(bill.utilisation * bill.total_ns for bill in bills)
    np.testing.assert_allclose(report.links, busy / report.step_ns)
    apart = reported(trainer, overlap=False)
    assert apart.step_ns == pytest.approx(report.compute_ns + report.communication_ns)
    assert apart.hidden_ns == pytest.approx(0, abs=1e-6)


def test_rates_are_flops_and_samples_over_the_step(report):
    """Forward once, backward twice, but for the gradient of the input, which nobody wants."""
    batch = 32
    wanted = sum(6 * batch * k * n for k, n in SIZES) - 2 * batch * SIZES[0][0] * SIZES[0][1]
    assert report.flops == wanted
    assert report.mfu == pytest.approx(wanted / 95e12 / (report.step_ns * 1e-9))
    assert "95 TFLOP/s (bfloat16)" in report.peak
    assert report.samples_per_s == pytest.approx(8 * 32 / (report.step_ns * 1e-9))
    for spec in (TRN1, INF2):
        assert peak_flops(spec, "bfloat16") == 190e12 / 2
        assert peak_flops(spec, "float32") == 47.5e12 / 2


def test_tracks_and_engines_do_one_thing_at_a_time(trainer, report):
    for spans in (report.spans, reported(trainer, slowest=1.7).spans):
        for track in spans.tracks:
            assert all(a.end_ns <= b.start_ns * (1 + 1e-12) for a, b in pairwise(spans.on(track)))
    assert report.spans.makespan_ns == pytest.approx(report.step_ns)
    assert {"engines", "CC-cores", "Tensor Engine", "DMA"} <= set(report.spans.tracks)
    first, *_, last = report.spans.on("engines")
    assert (first.info["phases"][0], last.info["phases"]) == ("forward", ["update"])
    together = report.compute_ns / report.step_ns
    assert all(0 <= share <= together for share in report.engines.values())
    assert report.engines["Tensor Engine"] > 0


def test_a_report_says_the_same_every_time_in_a_few_lines(trainer, report):
    assert str(reported(trainer)) == str(report)
    assert reported(trained()) == report
    lines = str(report).splitlines()
    assert 4 <= len(lines) <= 7
    assert all(len(line) <= 110 for line in lines)


# -- what makes ranks wait ------------------------------------------------------------------------


def test_all_wait_for_the_slowest_rank_which_is_none_of_the_faster(trainer, report):
    slow = reported(trainer, slowest=2.0)
    assert slow.compute_ns == report.compute_ns  # of the others
    assert slow.step_ns == pytest.approx(report.step_ns + slow.straggler_ns)
    assert 0 < slow.straggler_ns <= report.compute_ns * (1 + 1e-12)
    apart = reported(trainer, slowest=2.0, overlap=False)
    assert apart.straggler_ns == pytest.approx(report.compute_ns)
    raises(ValueError, "slowest", reported, trainer, slowest=0.5)


# -- ranges ---------------------------------------------------------------------------------------


def test_ranges_are_those_of_hops_and_directions_of_links(report):
    reached, node = links(32), all_reduce(2**20)
    band = reached.collective(node)
    steps = reached.account(node).steps
    low, high = band.effects["NeuronLink hop"]
    assert high - low == pytest.approx(steps * 1000)  # 1 to 2 us each
    assert band.low_ns <= band.nominal_ns == reached.account(node).total_ns <= band.high_ns
    both_ways = fabric.trn1_32xlarge(direction="both_ways", latency_ns=2000.0)
    slow = fabric.account(fabric.plan(both_ways, "all_reduce"), both_ways, 2**22)
    assert band.high_ns == pytest.approx(slow.total_ns)
    assert report.band.low_ns < report.step_ns < report.band.high_ns
    assert report.band.effects["NeuronLink hop"][0] < report.step_ns


# -- where ranks can be ---------------------------------------------------------------------------

_PLACES = [(2, "trn1.2xlarge"), (2, "inf2.xlarge"), (2, "inf2.8xlarge"), (8, "inf2.24xlarge"),
           (12, "inf2.24xlarge"), (24, "inf2.48xlarge"), (2, "trn1n.32xlarge"),
           (32, "trn1.32xlarge"), (32, "trn1n.32xlarge")]  # fmt: skip


@for_each("ranks, instance", _PLACES)
def test_every_instance_has_links_and_a_clock(ranks, instance):
    reached, node = links(ranks, instance), all_reduce()
    assert reached.topology.ranks == ranks
    executable = Executable(Graph("sum", node.inputs, (node,)), times=reached)
    found = step_report(executable, reached, 1)
    assert found.step_ns == pytest.approx(reached.account(node).total_ns)
    assert found.links.shape == (reached.topology.links,)


def test_one_rank_needs_nobody():
    assert links(1, "trn1.2xlarge") is None
    alone = trained(ranks=1)
    found = reported(alone)
    assert (found.communication_ns, found.exposed_ns, found.ranks, found.links.size) == (0, 0, 1, 0)


def test_trn1n_has_twice_the_links():
    one, other = (links(8, name).topology for name in ("trn1.32xlarge", "trn1n.32xlarge"))
    np.testing.assert_allclose(other.bandwidth_bytes_per_s, 2 * one.bandwidth_bytes_per_s)


@for_rows("operation", "all_reduce", "reduce_scatter", "all_gather")
def test_several_instances_take_what_the_hierarchical_schedule_takes(operation):
    reached = links(64)
    size = 64 * 1024
    more = {"reduce_scatter": {"kind": "sum", "axis": -1, "world": 64, "groups": None},
            "all_gather": {"axis": -1, "world": 64, "groups": None}}.get(operation, {})  # fmt: skip
    mine = size // 64 if operation == "all_gather" else size
    node = all_reduce(mine, operation=operation, **more)
    wanted = reached.account(node).total_ns  # which knows that the first step reads less
    assert reached.collective(node).nominal_ns == pytest.approx(wanted, rel=1e-3)


@for_rows("ranks", 2, 8, 64)
def test_an_all_to_all_takes_what_its_fastest_schedule_takes(ranks):
    reached, more = links(ranks), {"axis": -1, "world": ranks, "groups": None}
    node = all_reduce(2**20, operation="all_to_all", **more)
    wanted, _ = model_time_ns(reached.topology, "all_to_all", 2**22, reached.costs)
    assert reached.collective(node).nominal_ns == pytest.approx(wanted)


@for_rows(
    "ranks, pairs, hop_ns, carried",
    (8, [(0, 2)], 1500, 1),  # to the next chip; each of four has two ranks
    (8, [(0, 2), (3, 1)], 1500, 1),  # links have two directions
    (8, [(i, (i + 2) % 8) for i in range(8)], 1500, 2),  # both ranks of a chip, by one link
    (64, [(0, 32)], 15000, 1),  # to the other instance,
)
def test_a_permute_takes_a_hop_and_the_bytes_of_its_busiest_link(ranks, pairs, hop_ns, carried):
    reached, more = links(ranks), {"pairs": tuple(pairs), "world": ranks, "groups": None}
    node = all_reduce(2**20, operation="collective_permute", **more)
    speed = reached.topology.bandwidth_bytes_per_s
    speed = speed.min() if ranks == 64 else speed.max()
    expected = hop_ns + carried * 2**22 / speed * 1e9
    assert reached.collective(node).nominal_ns == pytest.approx(expected)


def test_thousands_of_ranks_have_a_clock_too():
    reached = links(4096, "trn1n.32xlarge", algorithm="kangaring")
    node = all_reduce(10**6)
    wanted = fabric.hierarchical_time(reached.topology, 4 * 10**6)
    assert reached.collective(node).nominal_ns == wanted.total_ns


@for_rows("instance, chip", ("inf2.24xlarge", INF2), ("trn2.3xlarge", TRN2))
def test_programs_are_lowered_for_the_chip_of_their_instance(instance, chip):
    node = all_reduce()
    graph = Graph("g", node.inputs, (apply("exp", node),))
    found = compiler_for(instance, links(8, instance)).get(graph, 0)
    assert found.spec is chip
    assert found.sections[-1].body.run.program.spec is chip
    assert Executable.from_bytes(found.to_bytes()).spec is chip
    assert compiler_for("trn1n.32xlarge", None, overlap=False).overlaps is False
