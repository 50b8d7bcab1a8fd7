"""Collect every fact of the package once."""

import pytest

from trainium_edu import specs
from trainium_edu.specs.benchmarks import RELEASES
from trainium_edu.specs.instances import A100, V100
from trainium_edu.specs.prices import STORAGE_PRICES


def all_facts():
    """Return {dotted name: fact} for everything that ``specs`` holds, inputs of facts included."""
    records = {
        "TRN1": specs.TRN1, "INF2": specs.INF2, "A100": A100, "V100": V100, "TRN2": specs.TRN2,
        "ULTRACLUSTER": specs.ULTRACLUSTER, "FABRIC": specs.FABRIC, "CLAIMS": specs.CLAIMS,
        "SOFTWARE": specs.SOFTWARE, "NKI_KNOWN_ISSUES": specs.NKI_KNOWN_ISSUES,
        "TOOLS": specs.TOOLS, "STORAGE": specs.STORAGE, "FAILURES": specs.FAILURES,
        "CALIBRATED": specs.CALIBRATED, "RELEASES": RELEASES,
        **specs.INSTANCES,
        **{f"price of {name}": record for name, record in specs.PRICES.items()},
        "price of storage": STORAGE_PRICES,
        **{f"model {name}": record for name, record in specs.PUBLISHED_MODELS.items()},
    }  # fmt: skip
    named = {f"{n}.{path}": fact for n, record in records.items() for path, fact in record.walk()}
    named |= {f"nccom {i}": table.rows for i, table in enumerate(specs.NCCOM_TABLES)}
    named |= {f"benchmark {row.name}": row.rates for row in specs.BENCHMARKS}
    queue = list(named.items())
    while queue:
        name, fact = queue.pop()
        for i, given in enumerate(fact.inputs):
            named[f"{name} <- {i}"] = given
            queue.append((f"{name} <- {i}", given))
    return named


@pytest.fixture(scope="session")
def facts():
    return all_facts()


def looked_up():
    """Return the facts whose places ``tests/golden/make_locators.py`` looks up."""
    return {
        name: fact for name, fact in all_facts().items() if not name.startswith(("FABRIC", "nccom"))
    }
