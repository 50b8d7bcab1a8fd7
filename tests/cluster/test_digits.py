"""Every digit of the sources' numbers and of the arithmetic on them, in one table.

Judge: the printed numbers themselves, copied from the sources (launch post, keynote report, managed
service's table, documentation's editions) and from divisions that a reader can redo.
"""

import tomllib
from pathlib import Path

from tests.for_each import for_each
from trainium_edu import cluster, specs

DIGITS = tomllib.loads(Path(__file__).with_name("digits.toml").read_text("utf-8"))


@for_each("kind", DIGITS["prices"])
def test_every_published_price(kind):
    published = DIGITS["prices"][kind]
    assert {name: cluster.price(name, kind).usd_per_hour for name in published} == published


def peaks(kind):
    """Return the ratios of peaks as facts: at launch, today, and from the array."""
    return "/".join(
        f"{float(getattr(specs.CLAIMS, f'{kind}_over_p4d_with_{peak}')):.2f}"
        for peak in ("210", "190", "184")
    )


def judged(kind, share):
    """Return what the headline's formula gives for the same peaks, of which a kind has a share."""
    return "/".join(
        f"{cluster.judge(f'{kind}_over_p4d', trn1_flops=share * 16 * peak * 1e12).value:.2f}"
        for peak in (210, 190, 2 * 91.7504)
    )


P3DN, P4D, LAUNCH = cluster.KEYNOTE
NAMES = {name: getattr(home, name) for home in (cluster, specs) for name in home.__all__} | {
    "P3DN": P3DN, "P4D": P4D, "LAUNCH": LAUNCH, "peaks": peaks, "judged": judged,
    "TODAY": cluster.Generation("trn1n.32xlarge", 130, 3040e12, 1600e9),
}  # fmt: skip


@for_each("name", DIGITS["numbers"])
def test_every_number_has_the_digits_of_its_source(name):
    formula, form, said = DIGITS["numbers"][name]
    number = eval(formula, {**NAMES})
    assert form.format(float(number) if isinstance(number, specs.Fact) else number) == said
