"""Judge: the guide's command lines, given as printed there."""

import json

import pytest

from trainium_edu.__main__ import main as dispatch
from trainium_edu.cli.nccom_test import main

LINES = [
    "-r 2 allr",
    "-r 2 --minbytes 1kb --maxbytes 1gb --stepfactor 4 --datatype fp32 allr",
    "-r 32 --minbytes 1kb --maxbytes 1mb --stepfactor 8 --datatype fp32 --check allg",
    "-r 32 --minbytes 1kb --maxbytes 1mb --stepfactor 8 -d fp32 --check allg"
    " --show-input-output-size",
    "-r 16 allr -b 4 -e 1gb -f 16 -d fp32 --show-algorithm",
    "-r 8 --minbytes 1kb --maxbytes 1mb --stepfactor 8 -d fp32 --stats avg p25 p99 --iters 1000"
    " allg",
    "-r 64 -N 2 -b 8 -e 1GB -f 2 -n 50 -w 5 -d fp32 allr",
]


@pytest.mark.parametrize("line", LINES)
def test_commands_of_the_guide_run(line, capsys):
    assert main(line.split()) == 0
    printed = capsys.readouterr().out
    assert "Avg bus bandwidth:" in printed
    assert dispatch(["nccom-test", *line.split()]) == 0
    assert capsys.readouterr().out == printed


def test_json_file(tmp_path, capsys):
    path = tmp_path / "r.json"
    assert main(["-r", "4", "allr", "--report-to-json-file", str(path)]) == 0
    assert json.loads(path.read_text())["results"][0]["size(B)"] == 2**25


def test_compare_prints_every_published_table(capsys):
    assert main(["-r", "2", "allr", "--compare"]) == 0
    assert "all_reduce, 64 ranks on 2 instances, fp32" in capsys.readouterr().out


@pytest.mark.parametrize(
    "line",
    ["-r 6 allr", "-r two allr", "allr", "-r 2 frobnicate", "-r 2 allr -b 1z", "",
     "-r 2 allr --report-to-json-file /no/such/folder/r.json"],
)  # fmt: skip
def test_mistakes_end_with_2_and_one_line(line, capsys):
    try:
        code = main(line.split())
    except SystemExit as stop:
        code = stop.code
    assert code == 2
    assert "Traceback" not in capsys.readouterr().err
