"""Operators in C++ in a PyTorch script: ``torch.ops.my_ops.relu`` on tensors of the device.

PyTorch knows each by a schema of tensors and floats.  On the device its value is the kernel's, its
time that of the graph's node; on the CPU there is none, as on a Trn1.
"""

from collections.abc import Sequence
from functools import partial
from os import PathLike

import torch

from trainium_edu.neuroncore import gpsimd_cpp
from trainium_edu.neuroncore.gpsimd_cpp import Library, Operator
from trainium_edu.numerics.frameworks import in_framework
from trainium_edu.torch.operations import ON_CPU, ROWS, dtype_of
from trainium_edu.torch.refusals import refusal
from trainium_edu.xla.tensor import custom_op

__all__ = ["load", "load_library"]

_defined: dict[str, tuple[torch.library.Library, dict[str, Operator]]] = {}


def load(name: str, compute_srcs: Sequence, shape_srcs: Sequence, build_directory=None,
         multicore: bool = False, extra_cflags: Sequence | None = None,
         verbose: bool = False) -> None:  # fmt: skip
    """Build a library of operators, and let ``torch.ops`` have them.

    Parameters
    ----------
    name, compute_srcs, shape_srcs, build_directory, multicore, extra_cflags, verbose
        As for :func:`trainium_edu.neuroncore.gpsimd_cpp.load`.
    """
    _define(gpsimd_cpp.load(
        name, list(compute_srcs), list(shape_srcs), build_directory=build_directory,
        multicore=multicore, extra_cflags=extra_cflags, verbose=verbose,
    ))  # fmt: skip


def load_library(path: str | PathLike) -> None:
    """Load a library that :func:`load` built, and let ``torch.ops`` have its operators."""
    _define(gpsimd_cpp.load_library(path))


def _define(library: Library) -> None:
    """Register a library's operators; loaded again, the newest sources count."""
    schemas = {name: _schema(name, one.signature) for name, one in library.operators.items()}
    if library.name in _defined:
        registered, operators = _defined[library.name]
        if {n: _schema(n, o.signature) for n, o in operators.items()} == schemas:
            operators.update(library.operators)
            return
        raise refusal("operations.library", name=library.name)
    registered = torch.library.Library(library.name, "DEF")
    operators = dict(library.operators)
    _defined[library.name] = registered, operators
    for name, schema in schemas.items():
        registered.define(schema)
        full = f"{library.name}::{name}"
        registered.impl(name, partial(_refuse, full), "CPU")
        ON_CPU[full] = partial(_value, operators, name)
        registered.impl(name, ON_CPU[full], "Meta")
        ROWS[full] = partial(_row, operators, name)


def _schema(name: str, signature: str) -> str:
    kinds = [f"{'Tensor' if s == 'T' else 'float'} a{i}" for i, s in enumerate(signature)]
    return f"{name}({', '.join(kinds)}) -> Tensor"


def _refuse(name: str, *arguments):
    raise refusal("operations.custom_on_cpu", name=name)


def _value(operators: dict[str, Operator], name: str, *arguments):
    """Compute a call on values; on none, return what the shape function says."""
    if not any(getattr(one, "is_meta", False) for one in arguments):
        return in_framework(operators[name](*arguments), "torch")
    types = [(tuple(one.shape), dtype_of(one.dtype)) if isinstance(one, torch.Tensor)
             else float(one) for one in arguments]  # fmt: skip
    shape, dtype = operators[name].shape(*types)
    return torch.empty(shape, dtype=getattr(torch, dtype), device="meta")


def _row(operators: dict[str, Operator], name: str, *arguments):
    return custom_op(operators[name], *arguments)
