"""Conflicts are real, and one reading is the default.  Judge: the facts themselves."""

from tests.for_each import for_each
from tests.texts import table_beside
from trainium_edu.specs import SOURCES, TRN1, conflicts


@for_each("conflict", conflicts(), ids=lambda c: c.subject)
def test_readings_disagree_and_the_default_is_one_of_them(conflict):
    assert len({fact.value for fact in conflict.facts}) > 1
    assert any(fact is conflict.default for fact in conflict.facts)
    assert conflict.why
    assert all(fact.source in SOURCES for fact in conflict.facts)


@for_each("word, printed", table_beside(__file__, "conflicts.toml")["readings"])
def test_known_conflicts_print_their_readings(word, printed):
    (conflict,) = conflicts().about(word)
    assert [fact.pretty for fact in conflict.facts] == printed
    assert f"→ {printed[0]}" in str(conflict)


def test_the_default_is_what_the_chip_record_says():
    (conflict,) = conflicts().about("peak of one chip, bf16")
    assert conflict.default is TRN1.peak_flops


def test_text_and_table_name_every_subject():
    text, table = str(conflicts()), conflicts()._repr_html_()
    for conflict in conflicts():
        assert conflict.subject in text
        assert conflict.subject in table
    assert repr(conflicts()) == f"Conflicts({len(conflicts())} subjects)"
