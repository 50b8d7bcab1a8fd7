"""The stored times.  Judge: the file names its command and machine; times themselves vary."""

from trainium_edu.training import stored_rounding_cost
from trainium_edu.training.rounding_cost import Cost, RoundingCost


def test_every_time_is_positive_and_rounding_cost_something():
    rows = {row.what: row.ns_per_number for row in stored_rounding_cost().rows}
    assert min(rows.values()) > 0
    nearest = rows["nearest-even to BF16"]
    assert nearest < rows["stochastic to BF16, random bits included"] < 10 * nearest
    assert stored_rounding_cost().machine


def test_the_table_shows_ratios_to_nearest_even():
    table = RoundingCost("a machine", (Cost("nearest-even", 2.0), Cost("stochastic", 5.0))).table()
    assert table.splitlines()[2].split() == ["stochastic", "5.00", "2.5"]
    assert "measured on a machine" in table
