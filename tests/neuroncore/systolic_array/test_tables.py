"""Tables: judged by the functions whose numbers they print."""

import trainium_edu.neuroncore.systolic_array as sa


def test_interval_table_prints_the_closed_forms():
    rows = [line.split() for line in sa.interval_table((16, 512)).splitlines()[2:]]
    for row, n in zip(rows, (16, 512), strict=True):
        assert (int(row[1]), int(row[4])) == (sa.tile_cycles(128, n), sa.steady_interval(128, n))
        assert int(row[6]) == sa.documented_issue_cycles(n)


def test_choice_and_dataflow_tables_print_their_counts():
    row = sa.choice_table([(1, 128, 4096)]).splitlines()[1].split()
    prices = sa.choice_cycles(128, 1, 4096)
    assert [int(v) for v in row[-4:]] == [
        prices["W stays"]["array"], prices["x stays"]["array"],
        prices["W stays"]["documented"], prices["x stays"]["documented"],
    ]  # fmt: skip
    row = sa.dataflow_table([("t", 64, 64, 64)]).splitlines()[3].split()
    assert int(row[2]) == sa.dataflow_cycles("output-stationary", 64, 64, 64)


def test_evidence_and_machine_tables_have_a_line_for_each():
    assert len(sa.evidence_table().splitlines()) == len(sa.EVIDENCE)
    assert len(sa.machine_table(4, 4, 4).splitlines()) == 4
