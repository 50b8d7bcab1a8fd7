"""The look-alike of neuron-monitor; judges: the fields of AWS's guide, NumPy, and psutil."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest

from tests.for_each import for_each
from tests.texts import golden, table_beside
from trainium_edu import __main__, live
from trainium_edu.tools.machine import Machine, machine, usage
from trainium_edu.tools.neuron_monitor import Config, Monitor, read_config

pytestmark = pytest.mark.usefixtures("own_folder")

#: Fields of the guide's samples (`aws-neuron-monitor`), and what two public captures print of the
#: hardware; the guide has no logical_neuroncore_config.
GOLDEN = golden("neuron_monitor.json")
REPORT, CAPTURED = GOLDEN["report"], GOLDEN["captured"]


def same_fields(said, guide, place="report"):
    """Assert that fields nest as in the guide; of cores, devices and models it shows the first."""
    if isinstance(guide, list) and isinstance(said, list):
        for one in said:
            same_fields(one, guide[0], f"{place}[]")
    elif isinstance(guide, list):
        assert set(said) == set(guide), place
    elif isinstance(guide, dict) and set(guide) <= {"0", "sg_00"}:
        (example,) = guide
        assert example in said, place
        for one in said.values():
            same_fields(one, guide[example], f"{place}.*")
    elif isinstance(guide, dict):
        assert set(said) == set(guide), place
        for name, inner in guide.items():
            same_fields(said[name], inner, f"{place}.{name}")
    else:
        assert isinstance(said, int | float | str), place


@for_each("instance", CAPTURED)
def test_hardware_is_described_as_captured(instance):
    assert Monitor().report(Machine(instance))["neuron_hardware_info"] == CAPTURED[instance]


class Clock:
    """A clock that stands still until it is told."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def run():
    """Return a run on all cores of a trn1.32xlarge."""
    run = live.begin("python train.py", "trn1.32xlarge", range(32))
    run.load(77, "step", 0, 32, flops=8e9, tensors=5, model_shared_scratchpad=4, constants=3)
    return run


def said_of(run, monitor):
    run.publish()
    return monitor.report(machine())["neuron_runtime_data"][0]["report"]


def test_the_fields_are_those_of_the_guide(run):
    monitor = Monitor(clock=Clock())
    run.executed(0, 1e6, count=32, model=77)
    run.publish()
    said = json.loads(json.dumps(monitor.report(machine())))
    same_fields(said, REPORT)
    hardware = said["neuron_hardware_info"]
    assert (hardware["neuron_device_count"], hardware["neuroncore_per_device_count"]) == (16, 2)
    assert hardware["neuron_device_memory_size"] == 34359738368
    assert hardware["neuroncore_version"] == "v2"
    assert said["instance_info"]["instance_type"] == "trn1.32xlarge"
    assert len(said["system_data"]["neuron_hw_counters"]["neuron_devices"]) == 16


def test_with_nothing_running_there_are_no_runtimes():
    said = Monitor().report(machine())
    same_fields(said, REPORT)
    assert said["neuron_runtime_data"] == []
    assert said["instance_info"]["instance_type"] == "trn1.2xlarge"


def test_utilization_flops_and_counts_are_of_the_period_alone(run):
    clock = Clock()
    monitor = Monitor(clock=clock)
    for _ in range(4):
        run.executed(0, 1e6, count=32, model=77)
    run.host_now_ns(10e6)
    first = said_of(run, monitor)
    assert first["neuroncore_counters"]["neuroncores_in_use"]["31"] == {
        "neuroncore_utilization": 40.0, "flops": int(4 * 8e9 / 10e-3)}  # fmt: skip
    assert first["execution_stats"]["execution_summary"]["completed"] == 128
    clock.now += 5
    run.executed(0, 3e6, count=32, model=77)
    run.host_now_ns(14e6)
    second = said_of(run, monitor)
    assert second["neuroncore_counters"]["neuroncores_in_use"]["0"]["neuroncore_utilization"] == 75
    assert second["neuroncore_counters"]["period"] == 5
    summary = second["execution_stats"]["execution_summary"]
    assert (summary.pop("completed"), set(summary.values())) == (32, {0})
    assert set(second["execution_stats"]["error_summary"].values()) == {0}
    assert second["execution_stats"]["latency_stats"]["device_latency"]["p0"] == 3e-3
    clock.now += 5
    third = said_of(run, monitor)
    assert third["neuroncore_counters"]["neuroncores_in_use"]["0"]["neuroncore_utilization"] == 0
    stats = third["execution_stats"]["latency_stats"]
    assert stats == {"total_latency": None, "device_latency": None}  # as the guide says


def test_latencies_are_numpys_percentiles_in_seconds(run):
    times = np.random.default_rng(0).uniform(1e6, 9e6, 50)
    for ns in times:
        run.executed(0, float(ns), total_ns=float(ns) + 1e6)
    stats = said_of(run, Monitor(clock=Clock()))["execution_stats"]["latency_stats"]
    for name, extra in (("device_latency", 0), ("total_latency", 1e6)):
        want = np.percentile((times + extra) / 1e9, [0, 1, 25, 50, 75, 99, 100])
        assert list(stats[name].values()) == pytest.approx(list(want))


def test_memory_is_the_sum_of_its_breakdown_and_host_memory_is_psutils(run):
    said = said_of(run, Monitor(clock=Clock()))["memory_used"]["neuron_runtime_used_bytes"]
    cores = said["usage_breakdown"]["neuroncore_memory_usage"]
    assert said["neuron_device"] == sum(sum(one.values()) for one in cores.values()) == 32 * 12
    assert said["host"] == sum(said["usage_breakdown"]["host"].values())
    assert said["host"] == pytest.approx(psutil.Process().memory_info().rss, rel=0.1)


def test_a_group_is_collected_when_its_period_is_over(run):
    clock = Clock()
    config = Config(((".*", {"memory_used": 1.0, "execution_stats": 2.0}),), {"memory_info": 2.0})
    monitor = Monitor(config, clock)
    periods = []
    for _ in range(4):
        clock.now += 1
        run.publish()
        report = monitor.report(machine())
        own = report["neuron_runtime_data"][0]["report"]
        periods.append((own["memory_used"]["period"], own["execution_stats"]["period"],
                        report["system_data"]["memory_info"]["period"]))  # fmt: skip
        assert monitor.wait_s() == 1
    assert [one[0] for one in periods[1:]] == [1, 1, 1]
    assert [one[1] for one in periods[2:]] == [2, 2]
    assert [one[2] for one in periods] == [1, 1, 2, 2]


def test_untimed_graphs_are_told(run):
    run.executed(0, None)
    error = said_of(run, Monitor(clock=Clock()))["neuroncore_counters"]["error"]
    assert error.startswith("1 executions were of graphs that nobody timed")


def test_two_runs_have_an_entry_each_and_filters_take_their_tags():
    code = ("from trainium_edu import live; import sys\n"
            "live.begin('python b.py'); print('up', flush=True); sys.stdin.read()")  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=os.environ | {"NEURON_PROCESS_TAG": "my_app_1"},
    )  # fmt: skip
    try:
        assert process.stdout.readline() == "up\n"
        live.begin("python a.py").publish()
        found = Monitor().report(machine())["neuron_runtime_data"]
        assert {(one["pid"], one["neuron_runtime_tag"]) for one in found} == {
            (process.pid, "my_app_1"), (os.getpid(), str(os.getpid()))}  # fmt: skip
        config = Config((("my_app", {"memory_used": 1.0}),), {})
        (only,) = Monitor(config).report(machine())["neuron_runtime_data"]
        assert (only["pid"], list(only["report"])) == (process.pid, ["memory_used"])
    finally:
        process.communicate("")
    found = Monitor().report(machine())["neuron_runtime_data"]
    assert [one["pid"] for one in found] == [os.getpid()]


def test_an_idle_run_is_not_busy(run):
    run.executed(0, 1e6, count=32, model=77)
    run.publish()
    os.utime(live.folder() / f"{os.getpid()}.json", (time.time() - 60, time.time() - 60))
    report = Monitor().report(machine())["neuron_runtime_data"][0]["report"]
    assert report["neuroncore_counters"]["neuroncores_in_use"]["0"]["neuroncore_utilization"] == 0
    assert report["memory_used"]["loaded_models"][0]["is_running"] is False


def test_a_core_of_two_groups_adds_up_and_never_exceeds_a_hundred():
    groups = [live.Group(0, 2, busy_ns=6e8), live.Group(1, 1, busy_ns=5e8)]
    found = usage(live.Totals(1e9, groups=groups), live.Totals())
    assert [one["neuroncore_utilization"] for one in found.values()] == [60, 100]
    stopped = usage(live.Totals(0, groups=groups), live.Totals())
    assert stopped[0] == {"neuroncore_utilization": 0, "flops": 0}


def test_the_guides_configuration_is_read(tmp_path):
    file = tmp_path / "monitor.conf"
    runs = ("neuroncore_counters", "memory_used", "neuron_runtime_vcpu_usage", "execution_stats")
    said = {
        "period": "1s",
        "neuron_runtimes": [{"tag_filter": ".*", "metrics": [{"type": one} for one in runs]}],
        "system_metrics": [{"type": "vcpu_usage"}, {"type": "memory_info"},
                           {"period": "2s", "type": "neuron_hw_counters"}],
    }  # fmt: skip
    file.write_text(json.dumps(said))
    config = read_config(file)
    assert config.runtimes == ((".*", dict.fromkeys(runs, 1.0)),)
    assert config.system == {"vcpu_usage": 1.0, "memory_info": 1.0, "neuron_hw_counters": 2.0}
    default = read_config()
    assert (set(default.system.values()), set(default.runtimes[0][1])) == ({5.0}, set(runs))


@pytest.mark.parametrize(("said", "sentence"), table_beside(__file__, "wrong_monitor.toml").items())
def test_a_wrong_configuration_is_one_sentence(said, sentence, tmp_path, capsys):
    file = tmp_path / "monitor.conf"
    file.write_text(said)
    assert __main__.main(["neuron-monitor", "-c", str(file)]) == 1
    told = capsys.readouterr()
    assert sentence in told.err
    assert (told.err.count("\n"), told.out) == (1, "")


def test_the_command_streams_one_report_a_line(tmp_path, capsys, run):
    file = tmp_path / "monitor.conf"
    file.write_text('{"period": "50ms", "system_metrics": [{"type": "memory_info"}]}')
    run.publish()
    assert __main__.main(["neuron-monitor", "-c", str(file), "--once", "--verbose", "1"]) == 0
    told = capsys.readouterr()
    (line,) = told.out.splitlines()
    assert json.loads(line)["system_data"]["memory_info"]["period"] >= 0.05
    assert told.err == "1 runs on trn1.32xlarge\n"
    assert __main__.main(["neuron-monitor", "-c", str(tmp_path / "none")]) == 1
    assert "No such file" in capsys.readouterr().err
    assert not [one for one in live.runs() if one.is_tool]


def test_cores_of_a_second_instance_are_not_on_the_first():
    run = live.begin("torchrun --nnodes 2", "trn1.2xlarge", range(4))
    run.executed(0, 1e6, count=4)
    assert list(said_of(run, Monitor())["neuroncore_counters"]["neuroncores_in_use"]) == ["0", "1"]
    assert Machine("trn1.2xlarge").cores == 2
