"""Write the names of NKI's public reference, and its language's signatures, as a table.

Needs a checkout of aws-neuron/aws-neuron-sdk:

    python tests/golden/make_nki_names.py aws-neuron-sdk/nki/api/nki
"""

import ast
import json
import sys
from pathlib import Path

COMMAND = "python tests/golden/make_nki_names.py aws-neuron-sdk/nki/api/nki"
TABLE = Path(__file__).with_name("nki_names.json")
MODULES = {
    "nki": "", "nki.language": "language", "nki.isa": "isa", "nki.collectives": "collectives",
}  # fmt: skip
CLASSES = {"NkiTensor": "NkiTensor", "_TileSize": "tile_size"}


def names(body) -> list:
    """Return what a body defines, in order."""
    found = []
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.append(node.name)
        elif isinstance(node, ast.AnnAssign):
            found.append(node.target.id)
        elif isinstance(node, ast.Assign):
            found += [target.id for target in node.targets]
    return [name for name in found if name != "__init__"]


def signatures(body) -> dict:
    """Return {function: [[parameter] or [parameter, default as text], ...]}."""
    found = {}
    for node in body:
        if isinstance(node, ast.FunctionDef) and not node.decorator_list:
            texts = [ast.unparse(default) for default in node.args.defaults]
            names = [argument.arg for argument in node.args.args]
            required = len(names) - len(texts)
            given = zip(names[required:], texts, strict=True)
            found[node.name] = [[n] for n in names[:required]] + [list(pair) for pair in given]
    return found


def main(folder: str) -> None:
    """Read the reference and write the table, a section a line."""
    table = {}
    calls = {}
    for section, part in MODULES.items():
        text = (Path(folder) / part / "__init__.py").read_text(encoding="utf-8")
        body = ast.parse(text).body
        table[section] = names(body)
        for node in body:
            if isinstance(node, ast.ClassDef) and node.name in CLASSES:
                table[CLASSES[node.name]] = names(node.body)
                if node.name == "NkiTensor":
                    calls["NkiTensor"] = signatures(node.body)
        if section == "nki.language":
            calls[section] = signatures(body)
    table["signatures"] = calls
    lines = ",\n".join(f" {json.dumps(s)}: {json.dumps(n)}" for s, n in table.items())
    head = f'{{"made_with": {json.dumps(COMMAND)}, "reference": "NKI 0.6.0",\n'
    TABLE.write_text(head + lines + "}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
