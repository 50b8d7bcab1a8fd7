"""Every name, parameter, order and default of ``nki.isa``, against the public reference.

The table in ``tests/golden/nki_isa.json`` was made from AWS's own stub (its first line says how).
"""

import inspect
from enum import Enum

import numpy as np
import pytest

import trainium_edu.nki as nki
import trainium_edu.nki.beta1.isa as older_isa
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_each, for_rows, raises
from tests.texts import golden
from trainium_edu.neuroncore import INSTRUCTIONS
from trainium_edu.nki.coverage_table import entries, rows_of
from trainium_edu.specs.errors import NkiValidationError

TABLE = golden("nki_isa.json")
FUNCTIONS = TABLE["functions"]
LATER = [e.name for e in entries() if (e.section, e.state) == ("nki.isa", "later chip")]


def _text(default) -> str:
    """Write a default as the reference's source does."""
    if default is Ellipsis:
        return "..."
    if isinstance(default, Enum):
        return f"{type(default).__name__}.{default.name}"
    return default.__name__ if callable(default) else repr(default)


@for_each("name", FUNCTIONS)
def test_parameters_their_order_and_defaults(name):
    found = [
        [p.name] if p.default is p.empty else [p.name, _text(p.default)]
        for p in inspect.signature(getattr(nisa, name)).parameters.values()
    ]
    assert found == FUNCTIONS[name]


@for_each("name", TABLE["enums"])
def test_enums_have_the_members_and_values(name):
    assert {m.name: m.value for m in getattr(nisa, name)} == TABLE["enums"][name]


@for_each("name", TABLE["constants"])
def test_old_engine_names(name):
    assert getattr(nisa, name) is nisa.engine[name.removesuffix("_engine")]


def test_no_public_name_is_missing_and_ours_are_none_beside():
    known = {*FUNCTIONS, *TABLE["enums"], *TABLE["constants"]}
    for section, state, _, _, names in rows_of("newer"):  # of the reference that came after it
        known |= set(names) if (section, state) == ("nki.isa", "done") else set()
    assert set(nisa.__all__) - known == {
        "NkiInstruction", "NkiValidationError", "VirtualRegister", "constants"
    }  # fmt: skip


@for_each("name", FUNCTIONS)
def test_unknown_keywords_are_type_errors(name):
    raises(TypeError, "mask", getattr(nisa, name), mask=None)


@for_each("name", sorted(set(FUNCTIONS) - set(LATER)))
def test_every_instruction_of_this_chip_has_a_row(name):
    without = {"get_nc_version", "get_nc_sub_version", "register_alloc", "register_move"}
    assert name in without or name in INSTRUCTIONS


@for_rows("interface", nisa, older_isa)
def test_source_of_an_instruction_made_from_a_row_can_be_read(interface):
    """Judge: ``inspect``, which IPython's ``nisa.activation??`` asks."""
    source = inspect.getsource(interface.activation)
    assert source.startswith("def activation(")
    assert "reduce_cmd=reduce_cmd.idle" in source


def test_generations_are_ordered():
    assert nisa.get_nc_version() is nisa.nc_version.gen2
    assert nisa.nc_version.gen2 < nisa.nc_version.gen3 <= nisa.nc_version.gen4
    assert nisa.get_nc_version() <= nisa.nc_version.gen2
    assert nisa.get_nc_sub_version() == 0


def _run(body, *arrays):
    """Run `body(tiles...)` in a kernel that loads its arrays and stores what body returns."""

    def kernel(*tensors):
        out = body(*[nl.load(t) for t in tensors])
        result = nl.ndarray(out.shape, dtype=out.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=result, src=out)
        return result

    return np.asarray(nki.simulate(kernel)(*arrays))


def _new(like, *shape, dtype=nl.float32):
    return nl.ndarray(shape or like.shape, dtype=dtype, buffer=nl.sbuf)


X = np.random.default_rng(3).standard_normal((32, 24)).astype(np.float32)


def test_engines_are_members_of_the_enum():
    def body(x):
        nisa.tensor_copy(dst=_new(x), src=x, engine="vector")

    raises(TypeError, r"member of nki\.isa\.engine", _run, body, X)


def test_choices_are_taken_by_their_value_too():
    """nki-library writes ``dge_mode=3`` for ``none``.  Judge: the same kernel with the member."""

    def body(x):
        tiles = [_new(x) for _ in range(2)]
        nisa.tensor_copy(dst=tiles[0], src=x, engine=5)
        nisa.tensor_copy(dst=tiles[1], src=x, engine=nisa.engine.vector)
        sums = [nl.ndarray((x.shape[0], 1), nl.float32) for _ in range(2)]
        for tile, total, command in zip(
            tiles, sums, (3, nisa.reduce_cmd.reset_reduce), strict=True
        ):
            nisa.activation(dst=tile, op=nl.exp, data=tile, reduce_op=nl.add, reduce_res=total,
                            reduce_cmd=command)  # fmt: skip
        return nl.subtract(*sums)

    assert not _run(body, X).any()

    def copies(x, mode):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out, src=x, dge_mode=mode, oob_mode=0, engine=0)
        return out

    for mode in (3, np.int64(3), 0, nisa.dge_mode.none):
        np.testing.assert_array_equal(nki.simulate(copies)(X, mode), X)
    raises(NkiValidationError, "NeuronCore-v3", nki.simulate(copies), X, 2)
    for wrong in (True, 4, "none", nisa.engine.gpsimd, None, 3.5):
        with pytest.raises(TypeError, match=r"member of nki\.isa\.dge_mode, or its value"):
            nki.simulate(copies)(X, wrong)


def test_generations_compare_with_numbers_in_both_directions():
    version = nisa.get_nc_version()
    for number in (1, 2, 3, 2.5):
        assert (version == number) is (number == 2)
        assert (version >= number) is (number <= 2)
        assert (version > number) is (number < 2)
        assert (version <= number) is (number >= 2)
        assert (version < number) is (number > 2)
        assert [number == version, number >= version, number < version] == [
            number == 2, number >= 2, number < 2
        ]  # fmt: skip
    assert [max(nisa.nc_version), sorted(nisa.nc_version)[0], int(version)] == [4, version, 2]
    assert [{2: "trn1"}[version], range(4)[version]] == ["trn1", 2]
    assert [nisa.dge_mode.none, nisa.matmul_perf_mode.none] == [3, "none"]
    assert nisa.engine.scalar != nisa.nc_version.gen2  # of two kinds, though both are 2
    raises(TypeError, "", lambda: version < "gen3")
