"""The sentences of the tables of refusals.  Judge: the calls that raise them, read as code."""

import ast
import tomllib
from pathlib import Path
from string import Formatter

import pytest

import trainium_edu

ROOT = Path(trainium_edu.__file__).parent
TABLES = {
    table.parent: {
        f"{subject}.{name}": text
        for subject, texts in tomllib.loads(table.read_text("utf-8")).items()
        for name, text in texts.items()
    }
    for table in sorted(ROOT.rglob("refusals.toml"))
}
of_each_table = pytest.mark.parametrize("package", TABLES, ids=lambda package: package.name)


def nodes_of(package):
    """Yield (file, node) of all code in a package."""
    for file in package.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            yield file, node


def raised(package):
    """Return (place, key, names of the values) of every call that writes a sentence."""
    calls = []
    for file, node in nodes_of(package):
        name = getattr(getattr(node, "func", None), "id", "")
        if name in ("misuse", "refusal", "sentence") and isinstance(node.args[0], ast.Constant):
            place = f"{file.name}:{node.lineno}"
            calls.append((place, node.args[0].value, {k.arg for k in node.keywords}))
    return calls


@of_each_table
def test_each_error_passes_the_values_that_its_sentence_names(package):
    for place, key, values in raised(package):
        text = TABLES[package][key]
        fields = {field for _, field, *_ in Formatter().parse(text) if field is not None}
        named = {field.replace("[", ".").partition(".")[0] for field in fields}
        if package.name == "torch":
            named -= {"line"}  # of the script, which is filled in at one place
        if None not in values:  # given as **values
            assert named == values, (place, key)


@of_each_table
def test_each_sentence_is_raised_and_says_more_than_what_was_wrong(package):
    written = {node.value for _, node in nodes_of(package) if isinstance(node, ast.Constant)}
    assert {key for _, key, _ in raised(package)} <= TABLES[package].keys() <= written
    for key, text in TABLES[package].items():
        assert text == " ".join(text.split()), key
        assert len(text) > 40, key


def test_there_are_tables():
    assert {package.name for package in TABLES} >= {"nki", "torch", "training", "xla"}
