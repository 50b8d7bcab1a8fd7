"""Judge: the rules of the Trace Event Format, checked key by key; times against the timeline."""

import json
import math

import pytest

from tests.for_each import raises
from tests.texts import table_beside
from tests.viz.programs import timed
from trainium_edu.neuroncore import Memory
from trainium_edu.timeline import Span, Timeline
from trainium_edu.tools import perfetto

#: Documented keys of each phase: required, and allowed besides; of metadata the arguments.
KEYS = table_beside(__file__, "trace_events.toml")


def check_format(trace):
    """Check what the format demands of an object with ``traceEvents``."""
    assert isinstance(trace["traceEvents"], list)
    assert trace.get("displayTimeUnit", "ms") in ("ms", "ns")
    assert json.loads(json.dumps(trace, allow_nan=False)) == trace
    for event in trace["traceEvents"]:
        required, allowed = map(set, KEYS[event["ph"]].values())
        assert required <= set(event) <= required | allowed, event
        assert isinstance(event["pid"], int)
        assert isinstance(event.get("tid", 0), int)
        for key in ("ts", "dur"):
            assert math.isfinite(event.get(key, 0))
            assert event.get(key, 0) >= 0
        if event["ph"] == "M":
            assert set(event["args"]) == set(KEYS["metadata"][event["name"]])
        if event["ph"] == "C":
            assert all(isinstance(v, int | float) for v in event["args"].values())


def by_phase(trace, phase):
    return [e for e in trace["traceEvents"] if e["ph"] == phase]


@pytest.fixture(scope="module")
def core():
    return timed()


@pytest.fixture(scope="module")
def trace(core):
    return perfetto.to_json(core)


def test_the_whole_file_keeps_the_formats_rules(trace):
    check_format(trace)


def test_every_span_is_one_complete_event_in_microseconds(core, trace):
    threads = {
        (e["pid"], e["tid"]): e["args"]["name"]
        for e in by_phase(trace, "M")
        if e["name"] == "thread_name"
    }
    found = sorted(
        (threads[e["pid"], e["tid"]], e["name"], e["ts"], e["dur"]) for e in by_phase(trace, "X")
    )
    wanted = sorted(
        (s.track, s.label, round(s.start_ns / 1e3, 9), round(s.duration_ns / 1e3, 9))
        for s in core.timeline.spans
    )
    assert found == wanted


def test_engines_queues_and_ports_are_processes_in_order(trace):
    names = [e["args"]["name"] for e in by_phase(trace, "M") if e["name"] == "process_name"]
    assert names[:2] == ["Engines", "DMA queues"]
    threads = [e["args"]["name"] for e in by_phase(trace, "M") if e["name"] == "thread_name"]
    assert threads[:3] == ["Tensor Engine", "Vector Engine", "Scalar Engine"]
    assert threads[3:19] == [f"DMA queue {q}" for q in range(16)]


def test_an_event_says_line_bytes_and_what_it_waited_for(trace):
    load = next(e for e in by_phase(trace, "X") if e["name"] == "dma_copy")
    assert load["args"]["line"].startswith("programs.py:")
    assert load["args"]["bytes"] == 128 * 128 * 2
    assert all("waits" in e["args"] for e in by_phase(trace, "X") if e["cat"] == "Engines")


def test_arrows_come_in_pairs_and_stand_inside_spans(trace):
    starts = {e["id"]: e for e in by_phase(trace, "s")}
    ends = {e["id"]: e for e in by_phase(trace, "f")}
    assert starts.keys() == ends.keys()
    assert starts
    spans = by_phase(trace, "X")
    for number, begin in starts.items():
        assert begin["ts"] <= ends[number]["ts"]
        assert ends[number]["bp"] == "e"
        for end in (begin, ends[number]):
            assert any(
                s["tid"] == end["tid"] and s["ts"] <= end["ts"] <= s["ts"] + s["dur"] for s in spans
            )


def test_counters_follow_the_live_bytes(core, trace):
    for memory, name in ((Memory.SBUF, "SBUF"), (Memory.PSUM, "PSUM")):
        levels = [e["args"]["bytes"] for e in by_phase(trace, "C") if e["name"].startswith(name)]
        assert 0 < max(levels) <= core.placement.high_water_bytes[memory]
        assert levels[-1] == 0
        assert min(levels) >= 0


def test_any_timeline_is_written_and_odd_values_become_text(tmp_path):
    spans = [Span("link 0→1", "chunk 0", 5.0, 8.0, {"bytes": 64, "rate": math.inf, "who": {1, 2}})]
    path = perfetto.write(Timeline(spans), tmp_path / "t.json")
    trace = json.loads(path.read_text(encoding="utf-8"))
    check_format(trace)
    (event,) = by_phase(trace, "X")
    assert event["args"] == {"bytes": 64, "rate": "inf", "who": "{1, 2}"}
    assert (event["ts"], event["dur"]) == (0.005, 0.003)


def test_an_empty_timeline_is_an_empty_trace():
    assert perfetto.to_json(Timeline())["traceEvents"] == []


def test_a_run_has_its_timeline_inside():
    class Run:
        timeline = timed(2)

    assert perfetto.to_json(Run())["otherData"]["program"] == "gelu_linear"


def test_bad_input_is_one_sentence(tmp_path):
    raises(TypeError, "a Timeline, or something that has one", perfetto.to_json, 3)
    with pytest.raises(FileNotFoundError, match="make it first"):
        perfetto.write(Timeline(), tmp_path / "no" / "t.json")
