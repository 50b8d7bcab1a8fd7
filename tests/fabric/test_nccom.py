"""Judges: the tool's printed layout and bandwidth definitions, its published rows, NumPy."""

import json
import re

import pytest

from tests.for_each import for_each, for_rows
from trainium_edu import fabric
from trainium_edu.fabric import nccom_test
from trainium_edu.fabric.nccom import OPERATIONS, bus_factor, parse_bytes
from trainium_edu.specs import NCCOM_TABLES


def test_layout_of_the_guide():
    report = nccom_test(
        "allg", nworkers=32, minbytes="1kb", maxbytes="1mb", stepfactor=8, datatype="fp32",
        check=True, show_algorithm=True, show_input_output_size=True,
    )  # fmt: skip
    lines = str(report).splitlines()
    assert lines[0].split() == [
        "size(B)", "count(elems)", "total_input_size(B)", "total_output_size(B)", "type",
        "time:avg(us)", "algbw(GB/s)", "busbw(GB/s)", "algorithm",
    ]  # fmt: skip
    assert [row.split()[0] for row in lines[1:5]] == ["1024", "8192", "65536", "524288"]
    assert [row.split()[2] for row in lines[1:5]] == ["32", "256", "2048", "16384"]
    assert re.fullmatch(r"Avg bus bandwidth:\t[\d.]+GB/s", lines[5])


def test_bandwidths_recompute_from_published_rows():
    """Newer tables print decimal GB/s: 512 MiB in 9689.51 us are 55.41 and 103.89."""
    nbytes, us, factor = 2**29, 9689.51, bus_factor("allr", 16)
    assert round(nbytes / us / 1e3, 2) == 55.41
    assert round(nbytes / us / 1e3 * factor, 2) == 103.89
    assert bus_factor("allg", 32) * 22.64 == pytest.approx(21.93, abs=0.01)
    assert (bus_factor("sendrecv", 8), bus_factor("alltoall", 2)) == (1, 0.5)
    row = nccom_test("allr", nworkers=8, datatype="fp32").rows[0]
    assert row.algbw == pytest.approx(row.nbytes / row.time_us / 1e3)
    assert row.busbw == pytest.approx(row.algbw * 2 * 7 / 8)


def test_json_report_has_the_tools_keys(tmp_path):
    path = tmp_path / "report.json"
    report = nccom_test("allr", nworkers=4, stats=("avg", "p99"), report_to_json_file=path)
    stored = json.loads(path.read_text())
    assert stored == report.to_json()
    assert list(stored["results"][0]) == [
        "size(B)", "count(elems)", "type", "algbw(GB/s)", "busbw(GB/s)", "time:avg(us)",
        "time:p99(us)",
    ]  # fmt: skip


@for_each("operation", OPERATIONS)
@for_each("datatype", ["uint8", "fp32", "bf16"])
@for_each("check", ["random", "all_ones"])
def test_check_runs_every_operation_on_data(operation, datatype, check):
    report = nccom_test(
        operation, nworkers=8, minbytes=4096, maxbytes=4096, datatype=datatype, check=check
    )
    assert report.rows[0].time_us > 0


def test_steps_as_in_the_tool():
    def sizes(**options):
        return [r.nbytes for r in nccom_test("allr", nworkers=2, **options).rows]

    assert sizes(minbytes=8, maxbytes=16, stepbytes=4) == [8, 12, 16]
    assert (sizes(minbytes=8, maxbytes=32, stepfactor=2), sizes()) == ([8, 16, 32], [2**25])
    assert len(sizes(minbytes="1M", maxbytes="11M")) == 11


@for_rows("text, wanted", ("1kb", 1024), ("32M", 2**25), ("1GB", 2**30), (" 8 ", 8), (7, 7),
    ("2KiB", 2048))  # fmt: skip
def test_sizes_in_words(text, wanted):
    assert parse_bytes(text) == wanted


def test_two_instances_are_hierarchical():
    report = nccom_test("allr", nworkers=64, nnodes=2, datatype="fp32", check=True)
    assert report.rows[0].algorithm == "hier"


def test_published_tables_stand_beside_the_same_run():
    report = nccom_test(
        "allr", nworkers=2, minbytes="1kb", maxbytes="1gb", stepfactor=4, datatype="fp32"
    )
    beside = [c for c in report.beside_published() if c.table == str(NCCOM_TABLES[0])]
    assert [(c.nbytes, c.published_us) for c in beside] == [
        r[:2] for r in NCCOM_TABLES[0].rows.value
    ]


def test_another_machine():
    report = nccom_test("allr", nworkers=24, topology=fabric.inf2_48xlarge(), check=True)
    assert report.ranks == 24
