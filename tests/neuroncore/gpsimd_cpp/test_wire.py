"""The bytes of a call as C++ and Python see them; judge: the C++ compiler."""

import ctypes
import subprocess
from pathlib import Path

from trainium_edu.neuroncore import gpsimd_cpp
from trainium_edu.neuroncore.gpsimd_cpp import wire

INCLUDE = Path(gpsimd_cpp.__file__).parent / "cpp" / "include"
FIELDS = [name for name, *_ in wire.Call._fields_]


def test_every_field_lies_where_cpp_has_it(compiler, tmp_path):
    prints = "".join(f'  printf("%zu\\n", offsetof(Call, {name}));\n' for name in FIELDS)
    (tmp_path / "offsets.cpp").write_text(
        "#include <stddef.h>\n#include <stdio.h>\n#include <neuron_edu/call.h>\n"
        "using namespace neuron_edu;\nint main() {\n"
        + prints
        + '  printf("%zu %zu\\n", sizeof(Call), sizeof(Counts));\n}\n'
    )
    command = [*compiler.command, f"-I{INCLUDE}", "offsets.cpp", "-o", "offsets"]
    subprocess.run(command, cwd=tmp_path, check=True)
    said = subprocess.run([tmp_path / "offsets"], capture_output=True, text=True, check=True).stdout
    *offsets, sizes = said.splitlines()
    assert list(map(int, offsets)) == [getattr(wire.Call, name).offset for name in FIELDS]
    assert sizes == f"{ctypes.sizeof(wire.Call)} {ctypes.sizeof(wire.Counts)}"
