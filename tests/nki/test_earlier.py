"""Kernels of the first interface are told apart.  Judge: AWS's migration guide names what went."""

import importlib

import pytest

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_each, for_rows, raises
from tests.texts import table_beside
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
    raises(AttributeError, "has no attribute 'nope'", lambda: module.nope)


@for_each("public, name, meant", table_beside(__file__, "misspelt.toml")["names"])
def test_misspelt_name_gets_the_public_module_and_a_suggestion(public, name, meant):
    home = public.replace("neuronxcc.nki", "nki.beta1")
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
