"""A leaderboard's places.  Judge: the definition, read off every pair of rows, on drawn bands."""

import csv
import io
import json
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainium_edu import __main__
from trainium_edu.cli import class_leaderboard
from trainium_edu.cli.row import Row
from trainium_edu.exercises.leaderboard import Entry, as_csv, as_text, boards, places


def entry(name, low, high, assignment="product"):
    return Entry(assignment, "large", name, (low + high) / 2, low, high, 4096, 0.25)


def placed(*entries):
    return {one.name: place for place, one in places(entries)}


BANDS = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 8)), min_size=1, max_size=12)


@given(BANDS, st.randoms())
def test_places_say_who_is_surely_faster_and_nothing_more(bands, chance):
    rows = [entry(f"s{i}", low, low + width) for i, (low, width) in enumerate(bands)]
    found = placed(*rows)
    for one in rows:
        faster = [other for other in rows if other.high_us < one.low_us]
        assert found[one.name] == 1 + len(faster)
        for other in rows:
            overlap = one.low_us <= other.high_us and other.low_us <= one.high_us
            if other in faster:
                assert found[other.name] < found[one.name]
            if found[other.name] == found[one.name]:
                assert overlap
            if overlap and found[other.name] != found[one.name]:  # a third tells them apart
                between = [
                    x for x in rows if (x.high_us < one.low_us) != (x.high_us < other.low_us)
                ]
                assert between
    chance.shuffle(rows)
    assert placed(*rows) == found


def test_sharing_is_not_handed_on():
    assert placed(entry("a", 1, 3), entry("b", 2, 5), entry("c", 4, 6)) == {"a": 1, "b": 1, "c": 2}
    assert placed(entry("a", 1, 3), entry("b", 3, 5)) == {"a": 1, "b": 1}  # touching overlaps
    assert placed(entry("a", 1, 2), entry("b", 1, 2), entry("c", 3, 4)) == {"a": 1, "b": 1, "c": 3}
    assert places([]) == []


def test_boards_are_one_for_each_assignment_and_case():
    found = boards([entry("a", 1, 2), entry("b", 5, 6, "softmax"), entry("c", 5, 6)])
    assert list(found) == [("product", "large"), ("softmax", "large")]
    assert [place for place, _ in found["product", "large"]] == [1, 2]


def test_text_and_csv_have_every_row():
    rows = [entry("ada", 1, 3), entry("=SUM(A1)", 5, 6)]
    text = as_text(places(rows)).splitlines()
    assert text[0].split() == ["place", "name", "latency", "µs", "band", "µs", "HBM", "bytes",
                               "MFU"]  # fmt: skip
    assert text[1].split() == ["1", "ada", "2.00", "1.00", "to", "3.00", "4,096", "25.0%"]
    first, second = csv.DictReader(io.StringIO(as_csv(rows)))
    assert (first["place"], first["name"], float(first["low_us"])) == ("1", "ada", 1.0)
    assert (second["place"], second["name"]) == ("2", "'=SUM(A1)")  # no formula


def test_a_pseudonym_hides_the_name_and_stays_the_same():
    one, again = entry("ada", 1, 3).under("pepper"), entry("ada", 4, 5).under("pepper")
    assert one.name == again.name
    assert "ada" not in one.name
    assert one.name != entry("ada", 1, 3).under("salt").name
    assert (one.latency_us, one.low_us) == (2.0, 1.0)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"latency_us": "fast"}, "latency_us is 'fast'; it must be a number from 0"),
        ({"latency_us": True}, "latency_us is True; it must be"),
        ({"mfu": float("nan")}, "mfu is nan; it must be"),
        ({"high_us": 1.5}, "outside its band"),
        ({"name": "a\nb"}, "name is 'a\\nb'; it must be a text of one line"),
        ({"name": 3}, "name is 3; it must be a text of one line"),
        ({"more": 1}, "more is not a key; there are assignment, case, name"),
    ],
)
def test_a_file_that_holds_no_row_is_one_sentence(tmp_path, capsys, change, says):
    good = row(**vars_of(entry("ada", 1, 3)))
    bad = row(**good["leaderboard"] | change)
    (tmp_path / "bad.json").write_text(json.dumps(bad))
    (tmp_path / "good.json").write_text(json.dumps([good, row()]))
    assert __main__.main(["leaderboard", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert says in said.err
    assert said.err.count("\n") == 1
    assert " ada " in said.out


def row(**entry):
    return asdict(Row("a.py", leaderboard=entry))


def vars_of(one):
    return {name: getattr(one, name) for name in one.__slots__}


def test_files_that_cannot_be_read_are_sentences_and_none_at_all_an_error(tmp_path, capsys):
    for name, text in (("a.json", b"\xff\xfe"), ("b.json", b"[3]"), ("c.json", b"{")):
        (tmp_path / name).write_bytes(text)
    assert __main__.main(["leaderboard", str(tmp_path), str(tmp_path / "none.json")]) == 1
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 5
    assert "a.json: not JSON (Expecting value" in said[0]
    assert "b.json: the file is 3; it must be a row that grade printed" in said[1]
    assert "none.json: cannot be read (No such file" in said[3]
    assert "holds no row of a right kernel" in said[4]


def test_the_page_has_the_board_and_escapes_names(tmp_path):
    rows = [entry("<script>", 1, 3), entry("ada", 5, 6)]
    page = class_leaderboard.as_page(rows)
    assert "<title>Leaderboard of product</title>" in page
    assert "&lt;script&gt;" in page
    assert "<script>" not in page
    assert page.index("&lt;script&gt;") < page.index("ada")
    (tmp_path / "rows.json").write_text(json.dumps([row(**vars_of(r)) for r in rows]))
    out = [str(tmp_path / "board.html"), str(tmp_path / "board.csv")]
    arguments = ["leaderboard", str(tmp_path / "rows.json"), "--pseudonyms", "pepper",
                 "--html", out[0], "--csv", out[1]]  # fmt: skip
    assert __main__.main(arguments) == 0
    for path in out:
        assert "ada" not in Path(path).read_text(encoding="utf-8")
