"""Write the names and parameters of the older interface's reference, ``neuronxcc.nki``, as a table.

Needs a checkout of aws-neuron/aws-neuron-sdk at SDK 2.26; ``nki.isa`` is in ``make_nki_isa.py``:

    python tests/golden/make_nki_beta1.py aws-neuron-sdk/general/nki/api/nki
"""

import ast
import json
import sys
from pathlib import Path

from make_nki_isa import parameters

MODULES = {
    "nki": "__init__.py", "nki.language": "language/__init__.py",
    "nki.compiler": "compiler/__init__.py", "nki.compiler.sbuf": "compiler/sbuf.py",
    "nki.compiler.psum": "compiler/psum.py",
}  # fmt: skip
CLASSES = {"nki": {"tensor": "tensor"}, "nki.language": {"tile_size": "tile_size"}}


def main(folder: str) -> None:
    """Read the reference and write the table, a module a line."""
    lines = []
    for module, file in MODULES.items():
        body = ast.parse((Path(folder) / file).read_text(encoding="utf-8")).body
        functions = {n.name: parameters(n) for n in body if isinstance(n, ast.FunctionDef)}
        others = [n.targets[0].id for n in body if isinstance(n, ast.Assign)]
        others += [n.name for n in body if isinstance(n, ast.ClassDef)]
        lines.append((module, {"functions": functions, "others": others}))
        for cls in (n for n in body if isinstance(n, ast.ClassDef)):
            if cls.name in CLASSES.get(module, {}):
                methods = [n.name for n in cls.body if isinstance(n, ast.FunctionDef)]
                lines.append((cls.name, methods))
    text = ",\n".join(f"{json.dumps(name)}: {json.dumps(what)}" for name, what in lines)
    head = '"made_with": "python tests/golden/make_nki_beta1.py aws-neuron-sdk/general/nki/api/nki"'
    Path(__file__).with_name("nki_beta1_names.json").write_text(
        f'{{{head}, "reference": "SDK 2.26.0",\n{text}}}\n', encoding="utf-8"
    )


if __name__ == "__main__":
    main(sys.argv[1])
