"""What a device ran, shown.  Judges: the device's own history, and the executable's own times."""

import re

import pytest

from trainium_edu.training.lazy_digits import train_digits
from trainium_edu.viz.units import time_text
from trainium_edu.widgets import compiled_steps
from trainium_edu.xla.device import Device


@pytest.fixture(scope="module")
def device():
    found = Device()
    train_digits(found, steps=3, batch=16, hidden=16)
    train_digits(found, steps=1, batch=17, hidden=16)
    return found


def test_a_history_tells_every_run_in_order(device):
    said = repr(compiled_steps.history(device)).splitlines()
    assert said[0] == "4 steps, 2 graphs: 2 compiled, 2 hit (memory)"
    assert [line.split("  ")[0] for line in said[1:]] == ["step 1", "step 2", "step 3", "step 4"]
    assert "is f32[17,64], and was f32[16,64]" in said[4]


def test_the_explorer_opens_the_executable_that_was_used_last(device):
    opened = compiled_steps.explore(device)
    assert time_text(device.compiler.newest.makespan_ns) in repr(opened)


def test_a_product_opens_to_its_timeline_and_a_small_array(device):
    executable = device.compiler.newest
    opened = compiled_steps.explore(executable)
    nodes = executable.final.nodes
    opened.open_operation(next(i for i, node in enumerate(nodes) if node.operation == "dot"))
    shown = "".join(map(repr, opened.children[-1].children))
    assert "TimelineExplorer('dot'" in shown
    assert "SystolicArrayPlayer(weight-stationary, 8 x 8" in shown


def test_a_parameter_has_no_instructions(device):
    executable = device.compiler.newest
    number = next(i for i, n in enumerate(executable.final.nodes) if n.operation == "parameter")
    assert compiled_steps.open_alone(executable)(number) is None


def test_an_operation_alone_writes_what_it_writes_in_the_graph(device):
    for node in device.compiler.newest.final.nodes:
        if node.operation in ("dot", "fusion", "cross_entropy", "reduce_sum"):
            alone = compiled_steps.alone(node)
            assert alone.final.outputs[0].type == node.type
            assert alone.makespan_ns > 0


def test_where_time_goes_has_the_shares_of_the_critical_path(device):
    said = compiled_steps.where_time_goes(device.compiler.newest, n=99)
    shares = [float(x) for line in said.splitlines()[1:] for x in re.findall(r"([\d.]+)%", line)]
    assert sum(shares) == pytest.approx(200, abs=1)


def test_fusion_saves_operations_bytes_and_time(device):
    rows = compiled_steps.fusion_table(device.compiler.newest).splitlines()[1:]
    apart, fused = ([float(x) for x in re.findall(r"[\d.]+", row)] for row in rows)
    assert all(f < a for f, a in zip(fused, apart, strict=True))


def test_times_on_the_chip_add_up(device):
    total = sum(
        e.makespan_ns * sum(h.graph == e.graph.fingerprint for h in device.compiler.history)
        for e in device.compiler.executables
    )
    said = compiled_steps.time_on_chip(device)
    assert said.split() == ["2", "compiled,", "4", "runs,", f"{total / 1e3:.1f}", "µs", "on", "the",
                            "chip"]  # fmt: skip


def test_sizes_count_operations_as_recorded(device):
    executable = device.compiler.newest
    said = compiled_steps.size_of(executable, steps=2)
    assert f"{len(executable.graph.nodes)} operations" in said
    assert f"{executable.makespan_ns / 2e3:.1f} µs a step" in said
