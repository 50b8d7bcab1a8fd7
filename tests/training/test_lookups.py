"""Lookups are bound by rows.  Judges: the DMA facts (a packet's time, which sizes are poor, good
and best, the documented rate), and the schedule with one of these facts changed.
"""

import pytest

from tests.for_each import for_rows
from trainium_edu.neuroncore.timing.scheduler import schedule
from trainium_edu.specs import TRN1
from trainium_edu.training import Job, Task, Trainer, lookup_paces, nn
from trainium_edu.training.lookups import lookup_program, lookups_of
from trainium_edu.training.tasks import TASKS

QUEUES = int(TRN1.dma.queues)
PACKET_NS = float(TRN1.timing.dma_packet_ns)
RATE = float(TRN1.dma.bytes_per_s) / 1e9


@pytest.fixture(scope="module")
def paces():
    return {one.width: one for one in lookup_paces()}


def test_rows_take_a_packets_time_and_the_share_that_the_guide_says(paces):
    """Beside the row, a transfer of 128 rows brings their numbers and puts them back."""
    shortest = paces[8].ns_per_row
    assert all(paces[w].ns_per_row == pytest.approx(shortest, rel=0.01) for w in (32, 64, 128))
    turnarounds = 2 * float(TRN1.timing.dma_turnaround_ns) / (128 / QUEUES)
    assert PACKET_NS < QUEUES * shortest < PACKET_NS + turnarounds
    of_bytes = {one.row_bytes: one for one in paces.values()}
    poor, good, best = (of_bytes[int(getattr(TRN1.dma, name))] for name in (
        "very_poor_below_bytes", "good_from_bytes", "saturated_from_bytes"))  # fmt: skip
    assert poor.share < poor.descriptors_alone[1] < 0.15  # "a small fraction of peak"
    assert 0.8 < good.descriptors_alone[1] < 0.9
    assert best.descriptors_alone[1] > 0.95
    assert best.share < 0.5  # each byte is put back as well
    for one in paces.values():
        assert one.share == pytest.approx(one.row_bytes / one.ns_per_row / RATE)
        assert one.descriptors_alone[0] <= one.descriptors_alone[1] <= one.descriptors_alone[2]


@for_rows("width, bound", (64, "rows"), (4096, "bytes"))
def test_what_is_called_the_bound_is_what_moves_the_schedule(width, bound):
    executable = lookup_program(2**13, width)
    found = lookups_of(executable)
    assert (found.rows, found.bytes, found.bound) == (2**13, 2**13 * 2 * width, bound)
    run = executable.run

    def makespan(**changed):
        return schedule(run.placement.program, run.placement, parameters=changed).makespan_ns

    usual = makespan()
    packets = makespan(dma_packet_ns=2 * PACKET_NS) / usual
    moved = makespan(dma_bytes_per_s=RATE * 1e9 / 2) / usual
    more, less = (packets, moved) if bound == "rows" else (moved, packets)
    assert more > 1.5
    assert less < 1.02


def test_a_steps_report_counts_every_row_and_names_its_bound():
    batch, width = 16, 32
    task = Task("wider", lambda: nn.Recommender(128, width), TASKS["baskets"].data)
    trainer = Trainer(Job(task="baskets", ranks=2, batch=batch), task=task)
    trainer.step()
    found = trainer.report.lookups
    assert (found.rows, found.bytes) == (batch * 9, batch * 9 * 2 * width)
    assert found.rows_ns == pytest.approx(found.rows * PACKET_NS / QUEUES)
    assert found.bytes_ns == pytest.approx(found.bytes / RATE)
    assert found.bound == "rows"
    assert str(trainer.report).endswith("bound by rows")
    assert "144 rows of 64 bytes" in str(trainer.report)


def test_a_program_without_tables_has_no_lookups():
    trainer = Trainer(Job(ranks=2, batch=8))
    trainer.step()
    assert trainer.report.lookups is None
    assert "lookups" not in str(trainer.report)
