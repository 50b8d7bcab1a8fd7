"""The look-alike of neuron-top; judges: its guide (`aws-neuron-top`), and a pseudo-terminal."""

import io
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from trainium_edu import __main__, live
from trainium_edu.tools.machine import Machine, machine
from trainium_edu.tools.neuron_monitor import Monitor, everything
from trainium_edu.tools.neuron_top import HELP, screen

pytestmark = pytest.mark.usefixtures("own_folder")

#: Sections and names of the guide's text and pictures, in their order.
GOLDEN = Path(__file__).parents[1] / "golden"
SECTIONS = GOLDEN.joinpath("neuron_top_sections.txt").read_text("utf-8").splitlines()


def text(*shown, width=120):
    console = Console(width=width, file=io.StringIO())
    console.print(*shown, sep="\n")
    return console.file.getvalue()


@pytest.fixture
def of():
    """Return the report on an instance: this process uses half of both cores of device 1."""
    run = live.begin("python train.py", "trn1.32xlarge", (2, 3))
    run.load(77, "step", 2, 2, flops=4e10, tensors=3 << 20, model_shared_scratchpad=1 << 20)
    for _ in range(10):
        run.executed(2, 1e6, count=2, model=77)
    run.host_now_ns(20e6)
    run.publish()
    return Monitor(everything(0.0, is_live=True)).report(machine())


def test_sections_and_names_are_those_of_the_guide(of):
    said, at = text(screen(of), HELP, width=200), 0
    for name in SECTIONS:
        at = said.index(name, at) + len(name)
    assert said.splitlines()[0].strip().startswith("neuron-top of trainium_edu")
    assert said.splitlines()[0].strip().endswith("running on NA (trn1.32xlarge)")
    rows = [line.split()[0] for line in said.splitlines() if re.match(r" ND\d", line)]
    assert rows == [f"ND{i}" for i in range(16)]


def test_cores_show_their_utilization_or_teraflops(of):
    lines = text(screen(of), width=100).splitlines()
    assert lines[2].rstrip() == f"NeuronCore v2 Utilization (Avg: {2 * 50 / 32:.2f}%)"
    row = next(line for line in lines if line.startswith(" ND1 "))
    assert re.fullmatch(r" ND1 ( +━+╸? +\[ 50\.00%\] ?){2}", row.rstrip())
    assert row.count("━") == pytest.approx((100 - 8 - 2 * 12) / 2, abs=2)
    assert "━" not in next(line for line in lines if line.startswith(" ND2 "))
    lines = text(screen(of, True), width=100).splitlines()
    per_core = 10 * 4e10 / 20e-3 / 1e12
    assert lines[2].rstrip() == f"NeuronCore v2 Utilization (Total: {2 * per_core:.2f} TFLOPS)"
    assert next(line for line in lines if line.startswith(" ND1 ")).count(f"{per_core:.2f}T") == 2


def test_what_holds_memory_is_listed_and_parents_are_sums(of):
    said = text(screen(of)).splitlines()
    start = next(i for i, line in enumerate(said) if line.startswith(" ND 1 "))
    seen = [re.sub(r" {2,}", "|", line.strip()) for line in said[start : start + 9]]
    assert seen == [
        "ND 1|8.0MB|0.0B", "NC 0|4.0MB|0.0B", "step|10001|0.0B|0.0B", "Tensors|3.0MB|0.0B",
        "Constants|0.0B|0.0B", "Model Code|0.0B|0.0B", "Runtime Memory|0.0B|0.0B",
        "Model Scratchpad|1.0MB|0.0B", "NC 1|4.0MB|0.0B",
    ]  # fmt: skip
    summary = next(line for line in said if line.startswith("Device Used Memory"))
    assert "Total: 8.0MB" in summary


def test_lines_are_as_wide_as_the_screen(of):
    for width in (80, 120, 200):
        assert max(len(line) for line in text(screen(of), width=width).splitlines()) <= width


def test_with_nothing_running_all_is_zero(capsys):
    assert __main__.main(["neuron-top", "--once"]) == 0
    said = capsys.readouterr().out
    assert "(Avg: 0.00%)" in said
    assert "\x1b" not in said  # no colours in a file


def test_vcpus_are_busy_while_a_process_works(of):
    monitor = Monitor(everything(0.0, is_live=True))
    monitor.report(machine())
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass
    shown = text(screen(monitor.report(machine())))
    rows = [line for line in shown.splitlines() if " vCPU Usage" in line]
    shares = [[float(part) for part in re.findall(r"([\d.]+)%", row)] for row in rows]
    (user, system), (own_user, own_system) = shares
    most = 100.11  # per cent: each of the two is rounded to a tenth
    assert 0 < own_user + own_system <= most
    assert 0 < user + system <= most


def test_without_a_terminal_it_is_one_sentence(capsys):
    assert __main__.main(["neuron-top"]) == 1
    assert "needs a terminal; `neuron-top --once` prints" in capsys.readouterr().err


def started(terminal, before):
    """Return the tool's process on a terminal, in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "trainium_edu", "neuron-top"], stdin=terminal, stdout=terminal,
        stderr=subprocess.PIPE, start_new_session=True, preexec_fn=before,
        env=os.environ | {"TERM": "xterm-256color", "COLUMNS": "120", "LINES": "50"},
    )  # fmt: skip


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("leave", [b"q", b"\x03"])
def test_a_terminal_shows_it_and_is_given_back(leave, of):
    import pty
    import select
    import termios

    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    process = started(theirs, lambda: _take(theirs))
    said, end = io.BytesIO(), time.monotonic() + 30

    def until(wanted):
        while wanted not in said.getvalue():
            assert time.monotonic() < end, said.getvalue()
            if select.select([ours], [], [], 0.1)[0]:
                said.write(os.read(ours, 65536))

    until(b"FLOPS on/off")
    assert b"\x1b[?1049h" in said.getvalue()  # a screen of its own
    assert [one.command for one in live.runs() if one.is_tool] == ["neuron-top"]
    os.write(ours, b"f")
    until(b"TFLOPS)")
    os.write(ours, leave)
    until(b"\x1b[?1049l")
    assert (process.wait(10), process.stderr.read()) == (0, b"")
    assert termios.tcgetattr(theirs) == before
    assert not [one for one in live.runs() if one.is_tool]
    os.close(ours)
    os.close(theirs)


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_it_ends_with_its_terminal_even_where_nobody_says_that_it_hung_up(of):
    """Judge: the process is gone; one that goes on would draw for nobody, as fast as it can."""
    import pty
    import signal

    ours, theirs = pty.openpty()
    process = started(theirs, lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    os.close(theirs)
    said = b""
    while b"FLOPS on/off" not in said:
        said += os.read(ours, 65536)
    os.close(ours)
    try:
        process.wait(30)
    finally:
        process.kill()
    assert not [one for one in live.runs() if one.is_tool]


def _take(terminal):
    """Make a terminal the one of this session, so that its Ctrl-C reaches it."""
    import fcntl
    import termios

    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


def test_an_instance_of_one_device_is_small():
    assert re.findall(r"(?m)^ ND\d", text(screen(Monitor().report(Machine("inf2.xlarge"))))) == [
        " ND0"
    ]
