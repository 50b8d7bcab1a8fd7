"""A third chip is a table.  Judges: NumPy, and the facts that its record changes."""

import numpy as np
import pytest

from trainium_edu import nki
from trainium_edu.neuroncore.systolic_array import SystolicArray, evidence_table
from trainium_edu.nki import isa as nisa
from trainium_edu.nki import language as nl
from trainium_edu.specs import INSTANCES, PRICES, SOURCES, TRN2, NkiValidationError
from trainium_edu.widgets.systolic_array import array_player
from trainium_edu.widgets.zoom import zoom_ladder

says = SOURCES["emulator"].says


@pytest.fixture
def third():
    """A chip that nobody makes: four cores, other clocks and memories, and one feature less."""
    vector = TRN2.vector_engine.replace(clock_hz=says(1.92e9, "Hz", "a test"))
    tensor = TRN2.tensor_engine.replace(clock_hz=says(3e9, "Hz", "a test"))
    sbuf = TRN2.sbuf.replace(bytes_per_partition=says(2**18, "bytes per partition", "a test"))
    features = tuple(name for name in TRN2.features.value if name != "range_select")
    return TRN2.replace(
        core_name=says("NeuronCore-X", "", "a test"), cores=says(4, "NeuronCores", "a test"),
        features=says(features, "", "a test"), vector_engine=vector, tensor_engine=tensor,
        sbuf=sbuf,
    )  # fmt: skip


def test_kernels_run_on_it_in_its_own_time(third):
    def kernel(x, wide=1024):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        spare = nl.ndarray((128, wide), nl.float32, buffer=nl.sbuf)
        nisa.memset(spare, value=1.0)
        nl.store(out, nl.add(nl.load(x), spare[:, : x.shape[1]]))
        return out

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
    player = array_player(np.ones((4, 4)), np.ones((4, 4)), array=array)
    assert player is not None
    assert [rung["holds"] for rung in zoom_ladder(spec=third).rungs][:1] == ["4 NeuronCores"]
    rented = INSTANCES["trn2.48xlarge"].replace(chip=third)
    monkeypatch.setitem(INSTANCES, "trnx.48xlarge", rented)
    monkeypatch.setitem(PRICES, "trnx.48xlarge", PRICES["trn2.48xlarge"])
    zoom = zoom_ladder(spec=third)
    assert [rung["holds"] for rung in zoom.rungs][:2] == ["16 chips", "4 NeuronCores"]
    assert (zoom.counts["cores"], zoom.counts["sbuf"]) == (4, "128 partitions × 256 KiB")
