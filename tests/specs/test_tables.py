"""Facts, sources, conflicts and benchmarks are rows of Markdown pages."""

import ast
import re
from pathlib import Path

from tests.for_each import raises
from trainium_edu.specs import SOURCES, TRN1
from trainium_edu.specs import sources as module
from trainium_edu.specs.neuroncore import CYCLES
from trainium_edu.specs.sources import stated
from trainium_edu.specs.tables import rows


def test_a_record_has_the_facts_of_its_table_in_the_page_s_order():
    """Judge: the page, read by a regular expression."""
    page = Path(module.__file__).with_name("facts.md").read_text(encoding="utf-8")
    section = page.split("\n## instruction costs")[1].split("\n## ")[0]
    lines = re.findall(r"^\| (\w+) \| (.+?) \| (.+?) \| ([\w.-]+) \| ", section, re.MULTILINE)[1:]
    assert [name for name, *_ in lines] == [name for name, _ in CYCLES.items()]
    for name, value, unit, source in lines:
        fact = CYCLES.find(name)
        assert (fact.value, fact.unit, fact.source) == (ast.literal_eval(value), unit, source)
        assert fact.as_of == SOURCES[source].date


def test_row_without_source_needs_a_given_record():
    raises(AttributeError, "has no fact 'chip'", stated, "trn1.2xlarge")
    assert stated("trn1.2xlarge", chip=TRN1).cores.value == 2


def test_formula_row_names_its_inputs():
    """Judge: the row, read by eye, and its sum by hand."""
    peak = TRN1.tensor_engine.peak_flops_from_array
    assert [fact.value for fact in peak.inputs] == [128, 128, 2.8e9]
    assert (peak.value, peak.recompute()) == (128 * 128 * 2 * 2.8e9,) * 2
    assert TRN1.psum.partitions is TRN1.sbuf.partitions


def test_every_row_has_the_columns_of_its_page():
    for page, columns in (("sources.md", 6), ("conflicts.md", 3), ("benchmarks.md", 12),
                          ("editions.md", 3), ("facts.md", 7), ("models.md", 13),
                          ("nccom.md", 6)):  # fmt: skip
        assert {len(cells) for cells in rows(page)} == {columns}, page
