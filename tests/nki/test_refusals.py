"""The sentences that kernels are refused with.  Judge: the calls that raise them, read as code."""

import ast
from pathlib import Path
from string import Formatter

import trainium_edu.nki as nki
from trainium_edu.nki.rows import read

SENTENCES = {
    f"{subject}.{name}": text
    for subject, texts in read("refusals.toml").items() for name, text in texts.items()
}  # fmt: skip


def raised():
    """Return (place, key, names of the values) of every call that makes an error of a sentence."""
    calls = []
    for file in Path(nki.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            name = getattr(getattr(node, "func", None), "id", "")
            if name in ("misuse", "refusal") and isinstance(node.args[0], ast.Constant):
                place = f"{file.name}:{node.lineno}"
                calls.append((place, node.args[0].value, {k.arg for k in node.keywords}))
    return calls


def test_each_error_passes_the_values_that_its_sentence_names():
    for place, key, values in raised():
        fields = {field for _, field, *_ in Formatter().parse(SENTENCES[key]) if field is not None}
        named = {field.replace("[", ".").partition(".")[0] for field in fields}
        assert named == values, (place, key)


def test_each_sentence_is_raised_and_says_more_than_what_was_wrong():
    assert {key for _, key, _ in raised()} == SENTENCES.keys()
    for key, text in SENTENCES.items():
        assert text == " ".join(text.split()), key
        assert len(text) > 40, key
