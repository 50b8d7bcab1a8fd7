"""A third chip is a table.  Judges: NumPy, and the facts that its record changes."""

import json
import subprocess
import sys

import numpy as np
import pytest

from tests.nki.cases import stored
from tests.third_chip import third_chip
from trainium_edu import nki
from trainium_edu.neuroncore.systolic_array import SystolicArray, evidence_table
from trainium_edu.nki import isa as nisa
from trainium_edu.nki import language as nl
from trainium_edu.specs import INSTANCES, PRICES, TRN2, NkiValidationError
from trainium_edu.widgets.systolic_array import array_player
from trainium_edu.widgets.zoom import zoom_ladder

third = pytest.fixture(third_chip)


def test_kernels_run_on_it_in_its_own_time(third):
    def kernel(x, wide=1024):
        spare = nl.ndarray((128, wide), nl.float32, buffer=nl.sbuf)
        nisa.memset(spare, value=1.0)
        return stored(nl.add(nl.load(x), spare[:, : x.shape[1]]), x.dtype)

    x = np.random.default_rng(0).normal(size=(128, 1024)).astype(np.float32)
    before, after = (nki.run(kernel, x, spec=chip) for chip in (TRN2, third))
    np.testing.assert_array_equal(after.outputs, x + 1)
    assert after.timeline.busy_ns("vector") < 0.6 * before.timeline.busy_ns("vector")
    wide = 60_000  # 234 KiB of a partition
    assert nki.run(kernel, x, wide, spec=third, values=False).timeline.makespan_ns > 0
    with pytest.raises(NkiValidationError, match="229376"):
        assert nki.run(kernel, x, wide, spec=TRN2, values=False).timeline


def test_what_it_lacks_names_the_chip_that_has_it(third):
    def kernel(x):
        tile, bound = nl.load(x), nl.load(x[:, 0:1])
        nisa.range_select(tile, tile, nl.greater, nl.less, bound, bound)
        return x

    with pytest.raises(NkiValidationError, match=r"range_select.* NeuronCore-v3 \(Trainium2\)"):
        nki.run(kernel, np.zeros((128, 8), np.float32), spec=third)


def test_lesson_03_shows_it(third, monkeypatch):
    array = SystolicArray.from_spec(third.tensor_engine)
    assert array.peak_flops == 128 * 128 * 2 * 3e9
    assert "3.0 GHz" in evidence_table(third)
    assert array_player(np.ones((4, 4)), np.ones((4, 4)), array=array) is not None
    assert [rung["holds"] for rung in zoom_ladder(spec=third).rungs][:1] == ["4 NeuronCores"]
    rented = INSTANCES["trn2.48xlarge"].replace(chip=third)
    monkeypatch.setitem(INSTANCES, "trnx.48xlarge", rented)
    monkeypatch.setitem(PRICES, "trnx.48xlarge", PRICES["trn2.48xlarge"])
    zoom = zoom_ladder(spec=third)
    assert [rung["holds"] for rung in zoom.rungs][:2] == ["16 chips", "4 NeuronCores"]
    assert (zoom.counts["cores"], zoom.counts["sbuf"]) == (4, "128 partitions × 256 KiB")


def test_a_row_in_the_tables_is_all_that_instances_clusters_and_compilers_need():
    """Judge: the facts of the rows, and arithmetic on Trainium2's."""
    command = [sys.executable, "-m", "tests.third_chip"]
    said = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert said["machine"] == "Topology('trnx.48xlarge', 16 chips, 32 ranks, 64 directed links)"
    assert said["link"] == 256e9
    assert "4 chips, 8 ranks" in said["group"]
    assert "64 chips, 128 ranks" in said["cluster"]
    assert "16 chips, 64 ranks" in said["links"]
    assert (said["kernel"], said["compiled for"]) == (["TrainiumX", True], "trnx")
    before, after = said["graph"]
    assert after < before
    usd = PRICES["trn1.32xlarge"].on_demand_usd_per_hour.value
    assert said["instances"] == ["trnx.48xlarge", 64, usd]
    before, after = said["steps"].values()
    assert after / before == pytest.approx(8 / 4 * 2.4 / 3)  # half the cores, at another clock
    assert "no step was published" in said["said"]
    assert (said["neuron-ls"], said["array"]) == ([16, 64], "TrainiumX")
