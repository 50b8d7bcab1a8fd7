"""A step on other instances: its price is a closed form; its times are the executable's own.

Judges: arithmetic on the published prices (1.34 and 0.7582 USD per hour give 1.77), ``links``.
"""

import pytest

from tests.for_each import raises
from trainium_edu.specs import INF2, PRICES
from trainium_edu.training import Job, Trainer
from trainium_edu.training.instances import SIZES, compare_instances, comparison_lines
from trainium_edu.training.parallel.collectives import links
from trainium_edu.xla.executable import Executable


@pytest.fixture(scope="module")
def graph():
    """Return the graph of one rank's step, with its sum over ranks."""
    trainer = Trainer(Job(ranks=2, batch=32))
    trainer.step()
    return trainer.device.executable.graph


def test_a_step_costs_its_share_of_an_hour(graph):
    for one in compare_instances(graph, 32):
        usd = float(PRICES[one.instance].on_demand_usd_per_hour)
        assert one.usd_per_step == pytest.approx(usd * one.step_ns / 1e9 / 3600)
        assert one.usd_per_million_samples == pytest.approx(one.usd_per_step / one.samples * 1e6)
        assert one.samples == 32 * one.ranks


def test_times_are_those_of_an_executable_for_that_chip_and_its_links(graph):
    (found,) = compare_instances(graph, 32, ["inf2.24xlarge"])
    alone = Executable(graph, spec=INF2, times=links(12, "inf2.24xlarge"))
    assert found.step_ns == alone.makespan_ns
    assert found.band.low_ns <= found.step_ns <= found.band.high_ns


def test_prices_and_waits_set_instances_apart(graph):
    trn1, inf2 = compare_instances(graph, 32, ["trn1.2xlarge", "inf2.xlarge"])
    assert inf2.step_ns == trn1.step_ns
    assert inf2.against(trn1) == pytest.approx(1.34 / 0.7582)
    few, many = compare_instances(graph, 32, ["trn1.2xlarge", "trn1.32xlarge"])
    assert many.step_ns > few.step_ns
    lines = comparison_lines(graph)
    assert [line.split()[0] for line in lines[1:-1]] == list(SIZES)


@pytest.mark.parametrize("instance", ["p4d.24xlarge", "trn2.48xlarge", ""])
def test_an_instance_without_neuroncores_is_refused(graph, instance):
    raises(ValueError, r"instance .*trn1\.2xlarge", compare_instances, graph, 1, [instance])
