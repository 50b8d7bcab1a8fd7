"""Every name, parameter, order and default of the older ``nki.isa``.

Judge: ``tests/golden/nki_beta1_isa.json``, made from AWS's own stub of SDK 2.26 (its first line
says how); for ``tensor_scalar_cumulative``, AWS's test file of SDK 2.27.
"""

import inspect
from enum import Enum

import numpy as np
import pytest

import trainium_edu.nki.beta1.isa as nisa
from tests.for_each import for_each, for_rows, raises
from tests.texts import golden
from trainium_edu.nki.beta1.kernel import simulate_kernel
from trainium_edu.specs.errors import NkiValidationError

TABLE = golden("nki_beta1_isa.json")
FUNCTIONS = TABLE["functions"]


def _text(default) -> str:
    """Write a default as the reference's source does."""
    if isinstance(default, float) and default == np.finfo(np.float32).min:
        return "fp32.min"
    if isinstance(default, Enum):
        return f"{type(default).__name__}.{default.name}"
    return f"np.{np.amax.__name__}" if default is np.amax else repr(default)


def _found(function) -> list:
    found = []
    for p in inspect.signature(function).parameters.values():
        if p.kind is p.VAR_KEYWORD:
            continue
        if p.kind is p.KEYWORD_ONLY and ["*"] not in found:
            found.append(["*"])
        found.append([p.name] if p.default is p.empty else [p.name, _text(p.default)])
    return found


@for_each("name", FUNCTIONS)
def test_parameters_their_order_and_defaults(name):
    assert _found(getattr(nisa, name)) == FUNCTIONS[name]


def test_the_scan_of_the_next_release():
    given = ["src", "dst", "op0", "op1", "imm0", "imm1", "reduce_cmd"]
    assert [name for name, *_ in _found(nisa.tensor_scalar_cumulative)][1:8] == given


@for_each("name", TABLE["enums"])
def test_enums_have_the_members_and_values(name):
    documented = TABLE["enums"][name].items()
    assert documented <= {m.name: int(m.value) for m in getattr(nisa, name)}.items()
    assert getattr(nisa.constants, name) is getattr(nisa, name)


@for_each("name", TABLE["constants"])
def test_engine_names(name):
    assert getattr(nisa, name) is nisa.engine[name.removesuffix("_engine")]


def test_no_public_name_is_missing_and_ours_are_few():
    known = {*FUNCTIONS, *TABLE["enums"], *TABLE["constants"]}
    ours = {"NkiValidationError", "constants", "tensor_scalar_cumulative"}
    assert set(nisa.__all__) ^ known == ours


def test_unknown_keywords_are_type_errors_with_a_hint():
    def kernel(x):
        nisa.memset((2, 2), 0, np.float32, engin=nisa.vector_engine)

    with pytest.raises(TypeError, match=r"memset has no keyword 'engin'; is engine meant\?"):
        simulate_kernel(kernel, np.zeros((2, 2), np.float32))


@for_rows(
    "name, match", ("range_select", "needs NeuronCore-v3"), ("builtin_custom_op", "machine code")
)
def test_what_this_chip_cannot_do_says_so_in_one_sentence(name, match):
    needed = {p[0]: None for p in FUNCTIONS[name] if len(p) == 1 and p != ["*"]}
    raises(NkiValidationError, match, getattr(nisa, name), **needed)


def test_the_generation_is_the_second():
    assert nisa.get_nc_version() == nisa.nc_version.gen2 < nisa.nc_version.gen3
