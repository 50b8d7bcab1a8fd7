"""Every front end says every remedy.  Judge: the members, and the gaps that the finders fill."""

import importlib
import string
from pathlib import Path

import trainium_edu
from tests.for_each import for_each, raises
from trainium_edu.neuroncore.advice.remedies import Remedy, Words
from trainium_edu.neuroncore.run import Run

PACKAGE = Path(trainium_edu.__file__).parent
FRONT_ENDS = sorted(path.parent.name for path in PACKAGE.glob("*/remedies.py"))
GAPS = {
    Remedy.COMPUTE_BF16: {"tiles"}, Remedy.LOAD_AND_COMPUTE_BF16: {"tiles"},
    Remedy.REPEAT_BF16: {"call"}, Remedy.SEVERAL_BANKS: {"then"},
    Remedy.MORE_BUFFERS: {"whom", "buffers"}, Remedy.OTHER_PORT: {"memory"},
    Remedy.LEAVE_ROOM: {"sites"}, Remedy.KNOWN_ISSUE: {"note"},
}  # fmt: skip
GRAPH = Words("graph", {remedy: f"do {remedy}" for remedy in Remedy})


def test_nki_is_a_front_end():
    assert "nki" in FRONT_ENDS


@for_each("name", FRONT_ENDS)
def test_a_front_end_has_a_sentence_for_every_remedy_with_gaps_that_are_filled(name):
    words = importlib.import_module(f"trainium_edu.{name}.remedies").WORDS
    assert set(words.remedies) == set(Remedy)
    for remedy, sentence in words.remedies.items():
        fields = {field for _, field, _, _ in string.Formatter().parse(sentence) if field}
        assert fields <= GAPS.get(remedy, set())
        assert sentence == sentence.strip()
        assert not sentence.endswith(".")


def test_words_that_lack_a_remedy_are_refused_by_name():
    some = {remedy: "do" for remedy in Remedy if remedy is not Remedy.LOAD_ONCE}
    raises(ValueError, r"words of a graph lack LOAD_ONCE", Words, "graph", some)


def test_a_remedy_may_stand_inside_another():
    words = Words("graph", {**GRAPH.remedies, Remedy.SEVERAL_BANKS: "turns. {then}",
                            Remedy.MORE_BUFFERS: "{whom}: {buffers}"})  # fmt: skip
    gaps = {"then": Remedy.MORE_BUFFERS, "whom": "a", "buffers": {"a": 2}}
    assert words.say(Remedy.SEVERAL_BANKS, gaps) == "turns. a: {'a': 2}"


def test_another_front_end_words_the_same_finding_in_its_own_terms(timed):
    """A core by itself, as a graph will drive it: short rows, and tiles that nobody wrote."""
    x = timed.hbm((128, 1024), name="x")
    for start in range(0, 1024, 16):
        part = x.sliced(slice(0, 128), slice(start, start + 16))
        timed.dma_copy(dst=timed.sbuf((128, 16)), src=part)
    timed.notes.append(("unwritten output", 64, "returned", timed.program.allocations[0]))
    run = Run.of("graph", None, [timed], words=GRAPH)
    wrong, slow = run.advice
    assert str(wrong) == ("the graph returns x, part of which was never written. do reach_the_end.")
    assert (slow.kind, slow.do, slow.remedy) == (
        "small transfers", Remedy.LOAD_WIDER, "do load_wider")  # fmt: skip
    assert run.with_buffers(1).words is GRAPH


def test_a_run_of_a_front_end_is_loaded_with_its_words(tmp_path, timed):
    timed.dma_copy(dst=timed.sbuf((128, 64)), src=timed.hbm((128, 64)))
    run = Run.of("graph", {"loss": [1.5, None]}, [timed], words=GRAPH, buffers=2)
    run.save(tmp_path / "a.run")
    loaded = Run.load(tmp_path / "a.run", words=GRAPH)
    assert (loaded.outputs, loaded.buffers, loaded.words) == (run.outputs, 2, GRAPH)
    assert str(loaded) == str(run)
