"""Judge: what was appended, read back after every kind of damage."""

import json
import os
import threading

import pytest

from trainium_edu.widgets import journal


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TRAINIUM_EDU_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_what_is_appended_is_read_back_in_order(home):
    events = [{"n": i, "text": "ü\n → "} for i in range(5)]
    assert [journal.append("j", e) for e in events] == [""] * 5
    assert (journal.read("j"), journal.read("other")) == (events, [])


@pytest.mark.parametrize(
    "damage", [b'{"torn": ', b"\x00\xff\xfe", b"[1]\n3\nnull\n", b"[" * 100_000]
)
def test_damage_costs_only_the_damaged_lines(home, damage):
    journal.append("j", {"n": 1})
    with (home / "j.jsonl").open("ab") as file:
        file.write(damage)
    journal.append("j", {"n": 2})
    assert journal.read("j") == [{"n": 1}, {"n": 2}]


def test_a_huge_file_is_read_from_its_end(home):
    home.mkdir()
    (home / "j.jsonl").write_bytes(b"x" * (20 << 20) + b'\n{"n": 3}\n')
    assert journal.read("j") == [{"n": 3}]


def test_writers_side_by_side_lose_nothing(home):
    def write(k):
        for i in range(200):
            journal.append("j", {"k": k, "i": i})

    threads = [threading.Thread(target=write, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    events = journal.read("j")
    assert len(events) == 1200
    for k in range(6):
        assert [e["i"] for e in events if e["k"] == k] == list(range(200))


def test_a_folder_that_cannot_be_written_is_a_sentence(home):
    home.write_text("a file in its place")
    assert journal.append("j", {"n": 1}).startswith("not kept for next time: cannot write in")
    assert journal.read("j") == []


def test_only_the_learner_can_read_it(home):
    journal.append("j", {"n": 1})
    if os.name == "posix":
        assert (home / "j.jsonl").stat().st_mode & 0o077 == 0
    assert json.loads((home / "j.jsonl").read_text()) == {"n": 1}
