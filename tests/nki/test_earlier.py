"""Kernels of the first interface are told apart.  Judge: AWS's migration guide names what went."""

import importlib

import pytest

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_each, for_rows, raises
from trainium_edu.cli.run import run_script


@for_rows(
    "module, name, instead",
    (nki, "benchmark", "nki.run"),
    (nki, "simulate_kernel", r"nki\.simulate\(kernel\)"),
    (nl, "arange", "nl.ds"),
    (nl, "mgrid", "t.ap"),
    (nl, "par_dim", "first dimension"),
    (nisa, "tensor_copy_dynamic_src", "scalar_offset"),
)
def test_a_name_that_went_says_what_to_write(module, name, instead):
    assert not hasattr(module, name)
    raises(AttributeError, f"{name} was part of an earlier NKI; .*{instead}", getattr, module, name)


@for_rows("module", nki, nl, nisa)
def test_a_name_that_never_was_is_an_ordinary_error(module):
    with pytest.raises(AttributeError, match="has no attribute 'nope'"):
        module.nope  # noqa: B018


MISSPELT = {
    "nki.language": ("ad", "nl.add"), "nki.isa": ("tensor_tensr", "nisa.tensor_tensor"),
    "nki.isa.constants": ("Engine", "nki.isa.constants.engine"),
    "nki.typing": ("tenso", "nki.typing.tensor"), "nki": ("simulat", "nki.simulate"),
    "nki.collectives": ("all_reduc", "nki.collectives.all_reduce"),
    "neuronxcc.nki": ("benchmrk", "nki.benchmark"), "neuronxcc.nki.language": ("ad", "nl.add"),
    "neuronxcc.nki.isa": ("tensor_tensr", "nisa.tensor_tensor"),
    "neuronxcc.nki.isa.constants": ("Engine", "nki.isa.constants.engine"),
    "neuronxcc.nki.typing": ("mutabl_tensor", "nki.typing.mutable_tensor"),
    "neuronxcc.nki.nccl": ("all_reduc", "nki.nccl.all_reduce"),
    "neuronxcc.nki.compiler": ("sbu", "nki.compiler.sbuf"),
    "neuronxcc.nki.compiler.sbuf": ("modalloc", "nki.compiler.sbuf.mod_alloc"),
    "neuronxcc.nki.compiler.psum": ("aloc", "nki.compiler.psum.alloc"),
}  # fmt: skip


@for_each("public", MISSPELT)
def test_misspelt_name_gets_the_public_module_and_a_suggestion(public):
    home = public.replace("neuronxcc.nki", "nki.beta1") if "cc" in public[:9] else public
    name, meant = MISSPELT[public]
    with pytest.raises(AttributeError) as caught:
        getattr(importlib.import_module(f"trainium_edu.{home}"), name)
    assert str(caught.value) == f"module {public!r} has no attribute {name!r}; is {meant} meant?"


@pytest.mark.parametrize(
    "line", ["import neuronxcc.nki as nki", "from neuronxcc.nki import benchmark"]
)
def test_a_script_of_the_first_interface_runs(line, tmp_path):
    script = tmp_path / "old.py"
    script.write_text(f"import logging\n{line}\nprint(logging.OFF)\n")
    assert run_script(script) == 0
