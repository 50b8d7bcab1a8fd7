"""Code takes a chip's record; only defaults and stories name one.  Judge: Python's syntax trees."""

import ast
from pathlib import Path

import trainium_edu

ROOT = Path(trainium_edu.__file__).parent
#: What may name Trainium outside ``specs`` other than as an argument's default, and why.
RIGHTLY = {
    "cluster/published.py": "the published steps ran on it",
    "exercises/asked.py": "kernels asked for are held against its roof",
    "exercises/predict.py": "the sentences of lessons about it name its facts",
    "exercises/questions/number_formats.py": "lesson 02 has no other chip",
    "exercises/recommend_and_fine_tune.py": "lesson 09c has no other chip",
    "neuroncore/systolic_array/array.py": "the array that others are compared with",
}


def _defaults(node):
    arguments = node.args
    return [*arguments.defaults, *filter(None, arguments.kw_defaults)]


def _names_a_chip(text):
    """Return whether code outside defaults of arguments reads the record of one chip."""
    chips = {"TRN1", "INF2", "TRN2", "NEURONCORE_V2"}
    if not any(chip in text for chip in chips):
        return False
    tree = ast.parse(text)
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    left_out = {id(inside) for node in ast.walk(tree) if isinstance(node, functions)
                for default in _defaults(node) for inside in ast.walk(default)}  # fmt: skip
    return any(
        id(node) not in left_out
        and isinstance(getattr(node, "ctx", None), ast.Load)
        and chips & {getattr(node, "id", ""), getattr(node, "attr", "")}
        for node in ast.walk(tree)
    )


def test_only_defaults_and_stories_name_a_chip():
    found = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if _names_a_chip(path.read_text(encoding="utf-8"))
    }
    assert {name for name in found if not name.startswith("specs/")} == RIGHTLY.keys()


def test_a_constant_of_one_chip_would_be_found():
    for text in ("QUEUES = int(TRN1.dma.queues)", "def f(x):\n    return specs.TRN2.cores"):
        assert _names_a_chip(text)
    assert not _names_a_chip("def f(x, *, spec=TRN1):\n    return spec.cores")
