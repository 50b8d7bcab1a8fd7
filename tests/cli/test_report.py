"""``--report``: the page of a run.  Judges: the executable's own numbers, ``step_report``, and the
standard library's HTML and JSON parsers.
"""

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from tests.cli.recorded import digits_run, ranks_run
from tests.html_page import Page
from tests.texts import text_beside
from trainium_edu.cli import report
from trainium_edu.cli.report import write_report
from trainium_edu.training.parallel.step import step_report
from trainium_edu.training.run_numbers import numbers, summary_lines
from trainium_edu.training.run_record import RunRecord, StepRecord


@pytest.fixture(scope="module")
def odd_run():
    return digits_run(12, looks=(3, 4), odd=(9,), falls=(6,), wait_ns=30_000.0, wall_s=1.5,
                      counters={"aten::nonzero": 1, "aten::unique": 5, "MarkStep": 12})  # fmt: skip


def written(folder, record):
    text = write_report(folder, record).read_text(encoding="utf-8")
    return Page(text), json.loads((folder / "report.json").read_text(encoding="utf-8")), text


@pytest.mark.parametrize("kind", ["odd", "ranks", "empty"])
def test_the_page_stands_by_itself_and_can_be_read_aloud(kind, tmp_path, odd_run):
    runs = {"odd": lambda: odd_run, "ranks": ranks_run, "empty": lambda: RunRecord("train.py")}
    page, _, text = written(tmp_path, runs[kind]())
    for _, attributes, _ in page.elements:
        assert not {"src", "srcset", "data", "background", "action"} & set(attributes)
        assert attributes.get("href", "#").startswith("#")
    assert not page.all("script")
    assert not page.all("link")
    assert "url(" not in text
    assert "@import" not in text
    ids = [a["id"] for _, a, _ in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    assert {a["href"][1:] for a in page.all("a")} <= set(ids)
    assert all(a["role"] == "img" and len(a["aria-label"]) > 20 for a in page.all("svg"))
    assert len(page.all("figure")) == len(page.all("svg")) == len(page.all("figcaption"))
    assert len(page.all("caption")) == len(page.all("table"))
    assert all("scope" in a for a in page.all("th"))
    assert next(tag for tag, _, _ in page.elements if re.fullmatch("h[12]", tag)) == "h1"
    assert page.all("html")[0]["lang"] == "en"
    if kind != "empty":
        assert page.all("svg")


def test_sections_stand_in_the_order_of_a_reader_s_questions(tmp_path):
    page, _, _ = written(tmp_path, ranks_run())
    names = [a["id"] for a in page.all("section")]
    assert names == ["result", "steps", "goes", "links", "breaks", "advice", "out"]


def test_the_first_sentence_has_time_range_price_and_bound(tmp_path):
    record = digits_run(6)
    page, told, _ = written(tmp_path, record)
    executable = record.steps[-1].executable
    ns, band = executable.makespan_ns, executable.band
    assert told["step"]["median_ns"] == pytest.approx(ns)
    assert (told["step"]["low_ns"], told["step"]["high_ns"]) == pytest.approx(
        (band.low_ns, band.high_ns)
    )
    assert told["price"]["usd_per_step"] == pytest.approx(ns / 3.6e12 * 1.34)
    assert f"One step takes {ns / 1e3:.1f} µs on 1 rank of trn1.2xlarge" in page.words
    assert f"({band.low_ns / 1e3:.1f} µs to {band.high_ns / 1e3:.1f} µs is what" in page.words
    assert "1.34 USD an hour on demand (as of 2026)" in page.words
    assert "bound by data on their way between HBM and the core (DMA)" in page.words


def test_the_page_has_the_executable_s_own_numbers(tmp_path, odd_run):
    page, told, _ = written(tmp_path, odd_run)
    executable = odd_run.steps[0].executable
    judge = step_report(executable, None, 16)
    assert told["graph"]["causes"] == pytest.approx(executable.why().share_by_cause())
    assert told["graph"]["engines"] == pytest.approx(dict(judge.engines))
    assert told["graph"]["mfu"] == pytest.approx(judge.mfu)
    assert told["graph"]["hbm_bytes"] == executable.hbm_bytes
    first = executable.advice[0]
    assert told["advice"]["rows"][0]["text"] == first.text
    assert told["advice"]["rows"][0]["usd_per_1000_steps"] == pytest.approx(
        first.ns * 1000 / 3.6e12 * 1.34
    )
    for share in executable.why().share_by_cause().values():
        assert share < 0.001 or f"{share:.1%}" in page.words


def test_what_breaks_the_graph_is_named_with_its_line_and_a_remedy(tmp_path, odd_run):
    page, told, _ = written(tmp_path, odd_run)
    rows = {(row["what"], row["line"], row["count"]): row for row in told["breaks"]}
    assert rows["early run", "train.py:27", 2]["first"] == 3
    assert rows["fall-back", "train.py:24", 1]["why"] == "aten::nonzero"
    assert rows["fall-back", "", 5]["why"] == "aten::unique"
    reasons = [row["why"] for row in told["breaks"] if row["what"] == "new graph"]
    assert reasons == [event.why for event in odd_run.history if event.kind == "compiled"]
    shape = next(row for row in told["breaks"] if row["why"].startswith("parameter"))
    assert "drop_last" in shape["do"]
    assert all(row["do"] in page.words and row["why"] in page.words for row in told["breaks"])
    labels = " ".join(a["aria-label"] for a in page.all("svg"))
    assert "early run first in step 3, train.py:27" in labels


def test_links_are_told_where_ranks_sum(tmp_path):
    record = ranks_run(ranks=8)
    page, told, _ = written(tmp_path, record)
    judge = step_report(record.steps[-1].executable, record.links, 64)
    assert told["links"]["communication_ns"] == pytest.approx(judge.communication_ns)
    assert told["links"]["exposed_ns"] == pytest.approx(judge.exposed_ns)
    assert told["links"]["busiest_share"] == pytest.approx(judge.links.max())
    assert "8 ranks sum, on the links of 8 ranks of trn1.32xlarge (8 directed links)" in page.words
    assert told["step"]["samples_per_s"] == pytest.approx(judge.samples_per_s)


@pytest.mark.parametrize(
    "name",
    ["<img src=x onerror=alert(1)>.py", "a**b`c.py", "a&b\"c'.py", "\x02\x04.py", "caf\udce9.py"],
)
def test_names_are_written_as_they_are(name, tmp_path):
    record = replace(digits_run(2), script=name, command=f"run {name} --tag </script>",
                     problem=f"{name}:3 raised ValueError: <b>**no**</b>")  # fmt: skip
    page, told, _ = written(tmp_path, record)
    shown = name.translate({2: None, 4: None}).replace("\udce9", "?")
    assert told["script"] == shown
    assert f"{shown} on trn1.2xlarge" in page.words
    assert "--tag </script>" in page.words
    assert "raised ValueError: <b>**no**</b>" in page.words
    assert not page.all("img")
    assert not page.all("b")


def test_no_path_of_the_machine_is_written(tmp_path, odd_run):
    homes = ("/Users/somebody/", "C:\\Users\\somebody\\")
    for home in homes:
        steps = [replace(one, line=f"{home}train.py:7", why=f"first read at {home}m.py:3")
                 for one in odd_run.steps]  # fmt: skip
        record = replace(
            odd_run, steps=steps, script=f"{home}train.py",
            command=f"run --report={home}out {home}train.py", problem=f"{home}x.py:1 failed",
        )  # fmt: skip
        write_report(tmp_path, record)
        for path in tmp_path.iterdir():
            assert "somebody" not in path.read_text(encoding="utf-8")
        assert "train.py:7" in (tmp_path / "index.html").read_text(encoding="utf-8")
        assert "somebody" not in "".join(summary_lines(record))


def test_an_empty_run_has_a_page_that_says_what_to_do(tmp_path):
    page, told, _ = written(tmp_path, RunRecord("train.py", problem="train.py:3 raised ValueError"))
    assert "No step was marked" in page.words
    assert "The run ended early: train.py:3 raised ValueError" in page.words
    assert told["step"] is None
    assert [a["id"] for a in page.all("section")] == ["result", "breaks", "out"]


def test_a_run_of_marks_without_work_has_a_page(tmp_path):
    record = RunRecord("train.py", steps=[StepRecord(0, 0.0, 0.0), StepRecord(1, 0.0, 0.0)])
    page, told, _ = written(tmp_path, record)
    assert told["step"]["median_ns"] == 0
    assert "One step takes 0 ns" in page.words


def test_losses_that_are_no_numbers_are_left_out(tmp_path):
    losses = (2.5, float("nan"), 1.5, float("inf"))
    page, told, _ = written(tmp_path, replace(digits_run(2), losses=losses))
    assert told["losses"] == [2.5, "nan", 1.5, "inf"]
    assert any(a["aria-label"].startswith("4 losses: from 2.5 to 1.5") for a in page.all("svg"))
    written(tmp_path, replace(digits_run(2), losses=(float("nan"),)))


def test_the_trace_holds_the_run_and_one_step_inside(tmp_path, odd_run, monkeypatch):
    written(tmp_path, odd_run)
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    tracks = [names[e["tid"]] for e in events if e["ph"] == "X"]
    assert (tracks.count("steps"), tracks.count("early runs")) == (12, 2)
    assert {"engines", "DMA", "host", "fall-backs"} <= set(tracks)
    monkeypatch.setattr(report, "MOST_SPANS", 5)
    page, told, _ = written(tmp_path, odd_run)
    assert "the first 5 pieces of 27" in told["trace"]
    assert told["trace"] in page.words


def test_many_steps_make_a_small_page_at_once(tmp_path):
    record = digits_run(2)
    ns, executable = record.steps[-1].executable.makespan_ns, record.steps[-1].executable
    steps = [StepRecord(i, i * ns, (i + 1) * ns, "step", executable) for i in range(100_000)]
    began = time.perf_counter()
    _, told, text = written(tmp_path, replace(record, steps=steps))
    assert time.perf_counter() - began < 20  # a second where nothing else runs
    assert len(text) < 200_000
    assert told["step"]["count"] == 100_000


def test_the_folder_s_name_must_not_be_a_file(tmp_path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(NotADirectoryError, match="out is a file"):
        write_report(tmp_path / "out", RunRecord("train.py"))
    assert (tmp_path / "out").read_text() == "mine"


def test_the_last_lines_say_what_the_page_says(odd_run):
    told, lines = numbers(odd_run), summary_lines(odd_run)
    assert lines[0] == "train.py: 12 steps on 1 rank of trn1.2xlarge"
    assert lines[1].startswith(f"step {told['step']['median_ns'] / 1e3:.1f} us (")
    assert lines[2] == (f"graphs: {told['compiler']['compiled']} compiled, "
                        f"{told['compiler']['memory']} found in memory, 0 on disk")  # fmt: skip
    assert lines[3] == (
        "early runs: 2 × train.py:27; fall-backs: 5 × aten::unique, 1 × aten::nonzero"
    )
    assert lines[4].endswith("wall time 1.5 s")


SCRIPT = text_beside(__file__, "reported.py.txt")


@pytest.mark.slow
def test_a_pytorch_script_run_with_report_leaves_one(tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "train.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "trainium_edu", "run", "--report", "out"]
    command += ["train.py", "--lr", "1"]
    told = {}
    for _ in range(2):  # the second finds its graphs on disk
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300,
                             env=os.environ | {"TRAINIUM_EDU_HOME": str(tmp_path / "home")},
                             check=True)  # fmt: skip
        told = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
        assert "early runs: 1 × train.py:14" in ran.stderr
        Page((tmp_path / "out" / "index.html").read_text(encoding="utf-8"))
        assert told["command"] == "train.py --lr 1"
        assert told["steps"]["early_runs"] == [[3, "train.py:14"]]
        graphs = [row for row in told["breaks"] if "graph" in row["what"]]
        short = next(row for row in graphs if row["first"] == 5)
        assert (short["line"], "drop_last" in short["do"]) == ("train.py:15", True)
        assert "[7,64], and was f32[8,64]" in short["why"]
    assert told["compiler"]["disk"] == len(graphs)
