"""Judge: every published nccom-test table; errors are shown, only the calibration is held."""

import numpy as np
import pytest

from tests.for_each import raises
from trainium_edu import fabric
from trainium_edu.fabric import FabricError
from trainium_edu.specs import NCCOM_TABLES


def test_three_parameters_fit_the_2_rank_table_within_two_and_a_half_per_cent():
    fitted = fabric.calibrate()
    nbytes, us = np.array([row[:2] for row in NCCOM_TABLES[0].rows.value]).T
    assert np.abs(fitted.at(nbytes) / us - 1).max() < 0.025
    assert 56 < fitted.alpha_us < 60


def test_every_published_line_is_compared():
    lines = fabric.compare()
    assert len(lines) == sum(len(t.rows.value) for t in NCCOM_TABLES)
    assert all(c.model_us > 0 and np.isfinite(c.error_percent) for c in lines)
    assert "%" in str(lines[0])
    assert lines[0].ratio == pytest.approx(lines[0].published_us / lines[0].model_us)


def test_the_model_is_a_bound_on_what_was_measured():
    """Documented hardware limits: no published time may be shorter than the model says."""
    assert all(c.model_us < c.published_us for c in fabric.compare())


def test_with_each_tables_floor_small_messages_agree():
    lines = fabric.compare(with_floor=True)
    small = [c for c in lines if c.nbytes <= 65536 and "64 ranks on" not in c.table]
    assert max(abs(c.error_percent) for c in small) < 20


def test_16_ranks_choose_as_published_at_both_ends():
    lines = [c for c in fabric.compare() if c.published_algorithm]
    assert [c.model_algorithm for c in lines[:5]] == ["mesh"] * 5
    assert [c.model_algorithm for c in lines[-2:]] == ["kangaring"] * 2


def test_short_tables_cannot_be_fitted():
    raises(FabricError, "three numbers need four", fabric.calibrate, NCCOM_TABLES[1])
