"""What is documented and what is guessed: judged by the source register."""

from trainium_edu.neuroncore.systolic_array import EVIDENCE
from trainium_edu.specs import SOURCES, Kind


def test_every_detail_has_a_known_source_and_guesses_say_why():
    for name, fact in EVIDENCE.items():
        assert fact.source in SOURCES, name
        assert fact.kind is not Kind.ASSUMED or fact.note, name


def test_the_inner_details_are_marked_as_guesses():
    guesses = {name for name, fact in EVIDENCE.items() if fact.kind is Kind.ASSUMED}
    assert guesses == {
        "skew", "order of additions", "how weights enter", "four passes of FP32", "unused rows",
        "fixed instruction cost",
    }  # fmt: skip
