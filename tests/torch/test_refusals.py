"""The sentences that scripts are refused with.  Judge: the calls that raise them, read as code."""

import ast
import tomllib
from pathlib import Path
from string import Formatter

import trainium_edu

HERE = Path(trainium_edu.__file__).parent / "torch"
SENTENCES = {
    f"{subject}.{name}": text
    for subject, texts in tomllib.loads((HERE / "refusals.toml").read_text("utf-8")).items()
    for name, text in texts.items()
}  # fmt: skip


def test_each_sentence_is_raised_with_the_values_that_it_names():
    called = set()
    for file in HERE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            name = getattr(getattr(node, "func", None), "id", "")
            if name in ("refusal", "sentence") and isinstance(node.args[0], ast.Constant):
                key, values = node.args[0].value, {k.arg for k in node.keywords}
                fields = {field for _, field, *_ in Formatter().parse(SENTENCES[key])}
                if None not in values:
                    assert fields - {None, "line"} == values, key
                called.add(key)
    assert called == SENTENCES.keys()


def test_each_sentence_is_one_line():
    for key, text in SENTENCES.items():
        assert text == " ".join(text.split()), key
