"""The numbers of a run.  Judges: sums and medians of the record, ``Executable``'s own answers."""

import re
import tomllib
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from tests.cli.recorded import digits_run, ranks_run
from tests.for_each import for_each, for_rows
from tests.texts import rows_beside
from trainium_edu.training import run_numbers
from trainium_edu.training.run_numbers import band_of, cleaned, numbers, summary_lines
from trainium_edu.training.run_record import RunRecord, StepRecord
from trainium_edu.xla.compiler import Event
from trainium_edu.xla.executable.times import with_advice

ROWS = rows_beside(__file__, "run_numbers.toml")


@pytest.fixture(scope="module")
def run():
    return digits_run(9, looks=(2,), odd=(7,), falls=(4,), wait_ns=50_000.0)


def test_a_step_lasts_from_the_end_of_the_one_before_and_its_time_adds_up(run):
    told = numbers(run)
    ends = [one.end_ns for one in run.steps if one.kind == "step"]
    periods = [end - before for before, end in zip([0.0, *ends], ends, strict=False)]
    assert told["steps"]["ns"] == periods
    assert told["step"]["median_ns"] == median(periods[1:])
    assert told["step"]["count"] == 9
    spent = numbers(run)["spent"]
    assert sum(spent.values()) == pytest.approx(run.steps[-1].end_ns)
    assert spent["waiting for the loader"] == pytest.approx(9 * 50_000)
    assert spent["fall-backs"] == 40_000
    (early,) = [one for one in run.steps if one.kind == "value"]
    assert spent["early runs"] == pytest.approx(early.end_ns - early.begin_ns)
    assert spent["the host"] == pytest.approx(0)


def test_a_wait_beside_the_device_costs_nothing():
    steps = [StepRecord(0, 0.0, 100.0), StepRecord(1, 130.0, 200.0)]
    waits = [(40.0, 110.0, "loader"), (110.0, 114.0, "transfer"), (120.0, 140.0, "sleep")]
    spent = numbers(RunRecord("a.py", steps=steps, waits=waits))["spent"]
    assert spent["waiting for the loader"] == 10
    assert spent["copies to and from the chip"] == 4
    assert spent["sleep"] == 10
    assert spent["the host"] == 6
    assert sum(spent.values()) == 200


def test_the_range_of_steps_shorter_than_the_main_graph_s_is_that_part_of_its(run):
    times = ((one, 0.1 * one.begin_ns, 0.1 * one.end_ns) for one in run.steps)
    steps = [replace(one, begin_ns=begin, end_ns=end) for one, begin, end in times]
    short, full = numbers(replace(run, steps=steps))["step"], numbers(run)["step"]
    assert 0 < short["low_ns"] < short["median_ns"] < short["high_ns"]
    executable = run_numbers.main_graph(run)
    band = executable.band
    assert short["low_ns"] / short["median_ns"] == pytest.approx(band.low_ns / band.nominal_ns)
    assert full["high_ns"] - full["median_ns"] == pytest.approx(band.high_ns - band.nominal_ns)


@for_rows("wait_ns, bound", (0.0, "DMA"), (1e6, "waiting for the loader"))
def test_what_bounds_a_run_is_what_takes_most_of_it(wait_ns, bound):
    found, share = numbers(digits_run(3, wait_ns=wait_ns))["bound"]
    assert found == bound
    assert 0.5 < share <= 1


def test_sums_over_links_can_bind():
    found, _ = numbers(ranks_run(ranks=32))["bound"]
    assert found == "collective"


def test_prices_and_engines_add_up_over_instances_and_parts(run):
    one, four = (numbers(replace(run, nodes=nodes))["price"] for nodes in (1, 4))
    assert four["usd_per_step"] == pytest.approx(4 * one["usd_per_step"])
    graph = numbers(run)["graph"]
    for name, parts in graph["profile"].items():
        if name != "DMA":  # whose queues work for several operations at once
            share = sum(parts) / len(parts)
            assert share == pytest.approx(graph["engines"][name], abs=0.01)


def test_a_step_cut_short_by_an_early_run_is_not_blamed_on_the_script_s_way(run):
    rows = [row for row in numbers(run)["breaks"] if row["what"] == "new graph"]
    dos = {row["why"].split()[0]: row["do"] for row in rows}
    assert "early run" in dos["constant"]
    assert "drop_last" in dos["parameter"]


def test_graphs_read_from_disk_have_reasons_too(run):
    kinds = {"compiled": "disk"}
    history = [Event(e.step, kinds.get(e.kind, e.kind), e.graph, "") for e in run.history]
    disk, known = (numbers(replace(run, history=h))["breaks"] for h in (history, run.history))
    assert [row["what"] for row in disk[2:]] == ["graph from disk"] * 4
    assert [row["why"] for row in disk[2:4]] == [row["why"] for row in known[2:4]]
    assert disk[-1]["why"] == known[-1]["why"]
    assert disk[-1]["why"].startswith("parameter")


@for_each("why, told", ROWS["remedies"])
def test_each_reason_for_a_new_graph_has_a_remedy(why, told):
    record = RunRecord("a.py", history=[Event(0, "compiled", 1, why)])
    (row,) = numbers(record)["breaks"]
    assert told in row["do"]


def test_every_remedy_of_the_file_is_given():
    code = Path(run_numbers.__file__)
    remedies = tomllib.loads(code.with_suffix(".toml").read_text(encoding="utf-8"))["do"]
    named = set(re.findall(r'"([\w-]+(?: run)?)"', code.read_text(encoding="utf-8")))
    assert remedies.keys() <= named
    used = set(re.findall(r'_DO\["([\w-]+)"\]', code.read_text(encoding="utf-8")))
    assert used <= remedies.keys()


def test_a_run_that_let_its_results_go_is_told_to_keep_them():
    """Judge: pytorch/xla's ``SyncLiveTensorsGraph``: a mark runs what lives, and nothing else."""
    calls = {"MarkStep": 3, "xla::mm": 3}
    told = [summary_lines(RunRecord("x.py", counters=c)) for c in (calls, {"MarkStep": 3}, {})]
    found = ["keep a result in a variable" in "".join(lines) for lines in told]
    assert found == [True, False, False]


def test_of_a_large_graph_the_weightiest_sections_are_looked_into(monkeypatch):
    executable = ranks_run(ranks=4).steps[-1].executable
    exact = executable.band
    assert band_of(executable) == (exact, 1.0)
    monkeypatch.setattr(run_numbers, "MOST_INSTRUCTIONS", 1)
    fresh = type(executable).from_bytes(bytes_of(executable), times=executable.times)
    band, share = band_of(fresh)
    assert band_of(fresh) == (band, share)  # bands of what was looked into are known now
    assert 0.5 < share < 1
    assert band.nominal_ns == exact.nominal_ns
    assert band.low_ns == pytest.approx(exact.low_ns, rel=0.1)
    assert band.high_ns == pytest.approx(exact.high_ns, rel=0.1)
    asked = [times.advice is not None for section, times in fresh.timed()
             if not section.body.is_collective]  # fmt: skip
    assert not any(asked)
    found, _ = run_numbers.advice_of(fresh)
    looked, _ = run_numbers.weightiest(fresh)
    assert {one.found for one in found} == {
        one for body in looked for one in fresh.times_of(body, with_advice).advice
    }


def bytes_of(executable):
    """Return an executable's bytes before anybody asked for its band."""
    bare = type(executable)(executable.graph, executable.flags, times=executable.times)
    _ = bare.makespan_ns
    return bare.to_bytes()


@for_each("text, told", ROWS["paths"])
def test_paths_become_names(text, told):
    assert cleaned({"k": [text]}) == {"k": [told]}
