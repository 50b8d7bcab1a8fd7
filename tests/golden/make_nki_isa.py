"""Write the names, parameters and defaults of ``nki.isa``'s public reference as a table.

Needs a checkout of aws-neuron/aws-neuron-sdk; for the older interface (Beta 1) that of SDK 2.26:

    python tests/golden/make_nki_isa.py aws-neuron-sdk/nki/api/nki/isa/__init__.py
    python tests/golden/make_nki_isa.py aws-neuron-sdk/general/nki/api/nki/isa/__init__.py
"""

import ast
import json
import sys
from pathlib import Path

TABLES = {"general/nki": ("nki_beta1_isa.json", "SDK 2.26.0"), "nki": ("nki_isa.json", "NKI 0.6.0")}


def parameters(function: ast.FunctionDef) -> list:
    """Return [name] or [name, default as text] of parameters, ["*"] before keyword-only ones."""
    names = [a.arg for a in function.args.args]
    texts = [ast.unparse(d) for d in function.args.defaults]
    required = len(names) - len(texts)
    by_keyword = [
        [a.arg, *([ast.unparse(d)] if d else [])]
        for a, d in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    ]
    return (
        [[n] for n in names[:required]]
        + [[n, t] for n, t in zip(names[required:], texts, strict=True)]
        + ([["*"], *by_keyword] if by_keyword else [])
    )


def members(cls: ast.ClassDef) -> dict:
    """Return an enum's members and values."""
    return {
        node.targets[0].id: node.value.value
        for node in cls.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
    }


def main(path: str) -> None:
    """Read the reference and write the table, a function a line."""
    body = ast.parse(Path(path).read_text(encoding="utf-8")).body
    functions = {n.name: parameters(n) for n in body if isinstance(n, ast.FunctionDef)}
    enums = {n.name: members(n) for n in body if isinstance(n, ast.ClassDef) and members(n)}
    constants = [n.target.id for n in body if isinstance(n, ast.AnnAssign)]
    constants += [n.targets[0].id for n in body if isinstance(n, ast.Assign)]
    table, reference = next(TABLES[part] for part in TABLES if f"{part}/api" in path)
    command = "python tests/golden/make_nki_isa.py " + path[path.index("aws-neuron-sdk") :]
    lines = ",\n".join(f"  {json.dumps(n)}: {json.dumps(p)}" for n, p in functions.items())
    text = (
        f'{{"made_with": {json.dumps(command)}, "reference": "{reference}",\n'
        f' "functions": {{\n{lines}\n }},\n'
        f' "enums": {json.dumps(enums)},\n "constants": {json.dumps(constants)}}}\n'
    )
    Path(__file__).with_name(table).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
