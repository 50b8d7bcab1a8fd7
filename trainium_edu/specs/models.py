"""Which models were published: their shapes and how many parameters their authors count.

What distinguishes the families beyond numbers (norms, biases, who sees whom) is said where they
are built, in ``cluster/models.py``.
"""

import ast
from functools import partial

from trainium_edu.specs.fact import Kind
from trainium_edu.specs.record import Record
from trainium_edu.specs.sources import SOURCES
from trainium_edu.specs.tables import rows

__all__ = ["PUBLISHED_MODELS"]

_UNITS = {"layers": "layers", "hidden": "numbers per token", "heads": "heads",
          "sequence": "tokens", "vocabulary": "tokens", "positions": "tokens",
          "kv_heads": "heads for keys and values", "ffn": "numbers per token in the MLP",
          "classes": "classes", "patch_inputs": "numbers per patch"}  # fmt: skip


def _model(name, source, place, *cells):
    """Return (name, record) of a row."""
    *shape, more, parameters, counted, note, kind = cells
    sizes = dict(zip(("layers", "hidden", "heads", "sequence", "vocabulary"), shape, strict=True))
    sizes |= dict(pair.split("=") for pair in more.split())
    says = partial(SOURCES[source].says, note=note, kind=Kind(kind) if kind else None)
    facts = {n: says(int(size), _UNITS[n], place) for n, size in sizes.items() if size}
    count = says(ast.literal_eval(parameters), "parameters", counted or place)
    return name, Record(name, **facts, parameters=count)


#: By name; ``specs.PUBLISHED_MODELS["gpt3-175b"].parameters`` is a fact.
PUBLISHED_MODELS = dict(_model(*cells) for cells in rows("models.md"))
