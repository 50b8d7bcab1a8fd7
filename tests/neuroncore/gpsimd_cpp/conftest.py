"""Build operators from C++ in a string; without a compiler these tests are left out."""

import pytest

from trainium_edu.neuroncore import gpsimd_cpp

SHAPE = """#include <torch/torch.h>
#include "torchneuron/register.h"
{functions}
NEURON_LIBRARY(my_ops, m) {{
{lines}
}}
"""
LIKE_FIRST = "torch::Tensor {name}_shape({arguments}) {{ return torch::zeros({like}, {dtype}); }}"


@pytest.fixture(scope="session")
def compiler():
    """The machine's compiler; without one a test is skipped in a sentence."""
    try:
        return gpsimd_cpp.find_compiler()
    except gpsimd_cpp.NoCompilerError as missing:
        pytest.skip(str(missing))


@pytest.fixture
def build(compiler, tmp_path):
    """Return a function that builds a library.

    ``build(kernel, relu="torch::Tensor x")`` registers an operator for each keyword: the arguments
    of its shape function, whose result is like the first tensor ``x``, in float.
    """

    def build(kernel, *, shape=None, dtype="torch::kFloat", like="x.sizes()", multicore=False,
              flags=(), cpu_seconds=2, **operators):  # fmt: skip
        (tmp_path / "kernel.cpp").write_text(kernel)
        if shape is None:
            functions = [
                LIKE_FIRST.format(name=name, arguments=arguments, like=like, dtype=dtype)
                for name, arguments in operators.items()
            ]
            lines = [f'  m.def("{name}", &{name}_shape, "{name}");' for name in operators]
            shape = SHAPE.format(functions="\n".join(functions), lines="\n".join(lines))
        (tmp_path / "shape.cpp").write_text(shape)
        return gpsimd_cpp.load(
            "made", [tmp_path / "kernel.cpp"], [tmp_path / "shape.cpp"], multicore=multicore,
            extra_cflags=list(flags), cpu_seconds=cpu_seconds,
        )  # fmt: skip

    return build
