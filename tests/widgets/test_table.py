"""A table of text.  Judge: the text itself, escaped."""

from trainium_edu.widgets.table import TextTable


def test_it_keeps_its_columns_and_its_text():
    table = TextTable("a   1 < 2\nbb  3")
    assert "<pre" in table.value
    assert "a   1 &lt; 2\nbb  3</pre>" in table.value
    assert repr(table) == "a   1 < 2\nbb  3"
