"""Every fact is sourced; derived ones recompute.  Judge: the rules of the house, and hand sums."""

import copy
import datetime
import re
import subprocess
import sys

import pytest

from tests.for_each import for_rows, raises
from trainium_edu import specs
from trainium_edu.specs import Fact, Kind, Record, derive


def test_there_are_many_facts(facts):
    assert len(facts) > 500


def test_every_fact_has_a_known_source_and_a_place_in_it(facts):
    for name, fact in facts.items():
        assert fact.source in specs.SOURCES, name
        assert fact.locator, name


def test_every_fact_has_a_unit_unless_it_is_text_or_a_ratio(facts):
    ratios = re.compile(r"_over_|factor|speedup|ratio|cheaper|faster|better|quick_test")
    for name, fact in facts.items():
        if not fact.unit and not isinstance(fact.value, str | bool | tuple):
            assert ratios.search(name) or "<-" in name or name.startswith("SOFTWARE"), name


def test_every_date_is_a_date(facts):
    for name, fact in facts.items():
        year, month, day = (*fact.as_of.split("-"), "1", "1")[:3]
        when = datetime.date(int(year), int(month), int(day))
        assert datetime.date(1980, 1, 1) < when < datetime.date(2027, 1, 1), name


def test_every_kind_is_one_of_the_four_and_derived_means_derived(facts):
    for name, fact in facts.items():
        assert fact.kind in list(Kind), name
        assert (fact.source == "derived") == (fact.kind is Kind.DERIVED), name


def test_derived_facts_recompute(facts):
    derived = {name: f for name, f in facts.items() if f.kind is Kind.DERIVED}
    assert len(derived) > 60
    for name, fact in derived.items():
        assert fact.recompute() == fact.value, name


def test_what_is_quoted_from_memory_is_assumed(facts):
    from_memory = {name: f for name, f in facts.items() if f.source == "memory"}
    assert all(f.kind is Kind.ASSUMED for f in from_memory.values())
    for name, usd in {
        "trn1.2xlarge": 1.34375, "trn1n.32xlarge": 24.78, "p3dn.24xlarge": 31.212,
        "inf2.xlarge": 0.7582, "inf2.8xlarge": 1.9679, "inf2.24xlarge": 6.4906,
        "inf2.48xlarge": 12.9813,
    }.items():  # fmt: skip
        assert usd in {f.value for n, f in from_memory.items() if n.startswith(f"price of {name}.")}


def test_every_source_is_dated_and_public():
    for source in specs.SOURCES.values():
        assert source.date[:2] in {"19", "20"}
        assert source.url.startswith("https://") or source.publisher == "trainium_edu"


def test_every_source_that_facts_cite_is_used(facts):
    cited = {fact.source for fact in facts.values()}
    # the rest are cited by the glossary and by docstrings
    assert len(cited) > 30
    assert cited <= set(specs.SOURCES)


def test_importing_specs_is_light():
    code = (
        "import sys, trainium_edu.specs; print(sorted("
        "{'numpy', 'numba', 'matplotlib', 'ipywidgets', 'IPython'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


@for_rows(
    "value, unit, text", (91.7504e12, "FLOP/s", "91.75 TFLOP/s"), (25165824, "bytes", "24 MiB"),
    (196608, "bytes per partition", "192 KiB per partition"), (320e9, "bytes", "320 GB"),
    (820e9, "bytes/s", "820 GB/s"), (96 * 2**30, "bytes/s", "96 GiB/s"),
    (100_000, "chips", "100,000 chips"), ((1000, 2000), "ns", "1,000 ns to 2,000 ns"),
    (True, "", "True"), ("4 x 4 torus", "", "4 x 4 torus"),
)  # fmt: skip
def test_pretty_values_read_as_people_write_them(value, unit, text):
    assert Fact(value, unit, "emulator", "test", Kind.ASSUMED, "2026").pretty == text


def test_a_derived_time_has_four_digits():
    assert derive("ns", lambda x: x / 2.8, specs.TRN1.cores, locator="test").pretty == "0.7143 ns"


def test_a_fact_counts_as_a_number():
    rows = specs.TRN1.tensor_engine.rows
    assert (float(rows), list(range(rows))) == (128.0, list(range(128)))


def test_derived_without_a_formula_is_refused():
    raises(ValueError, "derive", Fact, 1, "", "derived", "test", Kind.DERIVED)


def test_derive_takes_the_newest_date():
    old, new = (Fact(2, "m", "emulator", "test", Kind.ASSUMED, d) for d in ("2020", "2024-05"))
    area = derive("m2", lambda a, b: a * b, old, new, locator="a * b")
    assert (area.value, area.as_of) == (4, "2024-05")


def test_records_do_not_change_and_name_what_they_have():
    record = Record("Tensor Engine", rows=specs.TRN1.tensor_engine.rows)
    with pytest.raises(AttributeError, match="facts do not change"):
        record.rows = 4
    with pytest.raises(AttributeError, match="it has rows"):
        record.row  # noqa: B018
    wide = record.replace(rows=specs.TRN1.tensor_engine.moving_free_max)
    assert (record.rows.value, wide.rows.value) == (128, 512)
    assert record == Record("Tensor Engine", rows=specs.TRN1.tensor_engine.rows)
    assert record != wide
    assert len({record, wide, record.replace()}) == 2


def test_records_are_shared_when_copied_and_give_facts_by_path():
    assert copy.deepcopy(specs.TRN1) is specs.TRN1
    assert specs.TRN1.find("psum.banks").value == 8
