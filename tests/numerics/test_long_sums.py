"""The lesson's experiments.  Judges: AWS's documented results, the published exact law, theory."""

import numpy as np
import pytest

from trainium_edu.numerics import running_sum
from trainium_edu.numerics.long_sums import long_sums, many_roundings, quick_test
from trainium_edu.specs import SOFTWARE


@pytest.mark.compiled
def test_the_quick_test_gives_what_aws_documents():
    test = quick_test(runs=4000)
    assert test.nearest[-1] == SOFTWARE.quick_test_nearest.value == 1024
    assert (test.law.mean, round(test.law.sd, 3)) == (pytest.approx(2048, abs=1e-9), 22.826)
    assert abs(test.final.mean(dtype=float) - 2048) < 3 * 22.826 / np.sqrt(4000)
    assert abs(test.final.std(ddof=1, dtype=float) / 22.826 - 1) < 0.05
    above = test.final[test.final > 2048]
    assert (above % 2 == 0).all()
    documented = SOFTWARE.quick_test_stochastic.value
    assert round(test.law.chance(documented), 4) == 0.0323
    assert round(test.law.chance(documented, np.inf), 3) == 0.371


def test_the_quick_test_in_bf16_has_the_wider_law():
    law = quick_test("bf16", runs=2).law
    assert (law.mean, round(law.sd, 2)) == (pytest.approx(2048, abs=1e-9), 89.22)
    assert (law.quantile(0.025), law.quantile(0.975)) == (1880, 2240)


def test_the_quick_tests_table_says_its_numbers():
    text = quick_test(runs=50).table()
    for piece in ("1024", "22.83", "2004 to 2094", "3.2 %", "37.1 %", "49.1 %"):
        assert piece in text


@pytest.mark.compiled
def test_sums_stagnate_with_nearest_and_settle_with_stochastic_rounding():
    sums = long_sums()
    assert sums.nearest[-1] > 0.99
    assert sums.saturation == pytest.approx((2**-7 / 3) ** 0.5)
    late = sums.n > 5000
    ratio = sums.stochastic[late] / (0.6745 * sums.spread[late])
    assert (ratio > 0.7).all()
    assert (ratio < 1.4).all()
    assert sums.spread[-1] == pytest.approx(sums.saturation, rel=0.1)


@pytest.mark.compiled
def test_a_replica_of_the_long_sum_is_the_running_sum():
    one = long_sums(n=500, replicas=1)
    again = long_sums(n=500, replicas=1)
    assert (one.stochastic == again.stochastic).all()
    assert running_sum(np.ones(500), "bf16").final[0] == 256  # where the ones stop


@pytest.mark.compiled
def test_a_bias_grows_as_n_and_random_errors_as_its_root():
    growth = many_roundings()
    slope = np.polyfit(np.log(growth.n[5:]), np.log(growth.nearest[5:]), 1)[0]
    root = np.polyfit(np.log(growth.n[5:]), np.log(growth.stochastic[5:]), 1)[0]
    assert (slope, root) == (pytest.approx(1, abs=0.01), pytest.approx(0.5, abs=0.07))
    assert growth.nearest == pytest.approx(growth.bias_line, rel=1e-6)
    assert (np.abs(np.log(growth.stochastic / growth.sd_line)) < 0.4).all()


@pytest.mark.compiled
def test_tables_have_a_line_for_each_length():
    assert len(long_sums().table().splitlines()) == 5
    assert len(many_roundings().table().splitlines()) == 5
