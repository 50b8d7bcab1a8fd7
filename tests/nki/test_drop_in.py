"""``import nki`` without changing the code.  Judge: Python's own import, in a fresh process."""

import os
import subprocess
import sys

import pytest

import trainium_edu.nki as nki
from tests.texts import text_beside


def python(code, *, folder=None, **environment):
    """Run code in a fresh Python and return what it printed."""
    env = {**os.environ, **environment}
    if folder:
        env["PYTHONPATH"] = str(folder)
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False
    )
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


IMPORTS = """
import nki, nki.language as nl, nki.isa as nisa
from nki.isa.constants import oob_mode
from nki.typing import tensor
from nki import collectives
import nki.collectives as ncc
import nki.dtype as nt
import trainium_edu.nki as ours
print(nki is ours, nl is ours.language, nisa.oob_mode is oob_mode, tensor[1, 2] is tensor,
      ncc is collectives, nki.dtype is nl.DType,
      nt.float8_e4m3 is nl.float8_e4m3)
"""


def test_the_public_imports_find_this_package():
    code = "import trainium_edu.nki as t; print(t.activate())" + IMPORTS
    assert python(code).split() == ["True"] * 8


def test_kernels_that_aws_published_are_found_where_its_tests_look_for_them(tmp_path):
    """Judge: Python's import of a file in a folder called reference, under a name of AWS's."""
    (tmp_path / "reference").mkdir()
    (tmp_path / "reference" / "attention.py").write_text("twice = lambda x: 2 * x\n")
    code = """
import trainium_edu.nki as t; t.activate()
from neuronxcc.nki.kernels.attention import twice
from neuronxcc.nki.language.constants import sizeinbytes
from neuronxcc.nki.compiler.backends.neuron.tensor import local_tile
from neuronxcc.nki.compiler.backends.neuron.indexing import TileIndex
import numpy as np, neuronxcc.nki as nki, neuronxcc.nki.language as nl
kinds = []
def kernel(x):
    kinds.append((isinstance(nl.load(x), local_tile), type(nl.arange(4)[:, None]) is TileIndex))
    return x
nki.simulate_kernel(nki.jit(kernel), np.zeros((4, 4), np.float32))
print(twice(4), sizeinbytes(nl.bfloat16), sizeinbytes(np.float32), *kinds[0])
"""
    assert python(code, folder=tmp_path).split() == ["8", "2", "4", "True", "True"]


def test_a_script_of_the_documentation_finds_the_kernel_beside_it(tmp_path):
    """Judge: the import of AWS's layer norm script, ``neuronxcc.nki.docs.examples.<folder>``."""
    folder = tmp_path / "examples" / "softmax"
    folder.mkdir(parents=True)
    (folder / "twice.py").write_text("factor = 2\n")
    code = f"""
import sys, trainium_edu.nki as ours
ours.activate()
sys.path.insert(0, {str(folder)!r})  # as Python does for a script, and `trainium_edu run`
from neuronxcc.nki.docs.examples.softmax.twice import factor
print(factor)
"""
    assert python(code) == "2"


def test_deactivate_takes_it_back():
    code = """
import trainium_edu.nki as ours
ours.activate(), ours.deactivate()
try:
    import nki
except ModuleNotFoundError:
    print("gone")
"""
    assert python(code) == "gone"


@pytest.fixture
def with_aws(tmp_path):
    """Make a folder that holds another package called nki."""
    (tmp_path / "nki").mkdir()
    (tmp_path / "nki" / "__init__.py").write_text("whose = 'AWS'\n")
    return tmp_path


def test_a_machine_with_aws_packages_is_left_alone_unless_asked(with_aws):
    code = """
import trainium_edu.nki as ours
print(ours.activate())
import nki
print(nki.whose, ours.activate())
print(ours.activate(replace=True))
import nki
print(nki is ours)
"""
    assert python(code, folder=with_aws).split() == ["False", "AWS", "False", "True", "True"]


def test_load_ext_activates_and_unload_ext_takes_back():
    pytest.importorskip("IPython")
    code = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell()
shell.run_line_magic("load_ext", "trainium_edu")
import nki, trainium_edu.nki
print(nki is trainium_edu.nki)
shell.run_line_magic("unload_ext", "trainium_edu")
import sys
print("nki" in sys.modules)
"""
    assert python(code).split() == ["True", "False"]


def test_annotations_of_parameters_take_a_shape():
    import numpy as np

    from trainium_edu.nki import typing

    @nki.jit
    def kernel(x: typing.tensor[2, 2], kind: nki.dtype = "float32"):
        return x

    assert kernel(np.ones((2, 2), np.float32)).shape == (2, 2)


OLDER = text_beside(__file__, "older_imports.py.txt")


def test_the_older_imports_find_this_package_too():
    """Judge besides: the imports at the head of AWS's own examples, SDK 2.20 to 2.26."""
    code = "import trainium_edu.nki as t; t.activate()" + OLDER
    assert python(code).split() == ["True"] * 8


def test_what_published_scripts_import_from_inside_the_compiler():
    """Judge: NumPy's allclose; imports at the head of AWS's benchmarks, tuners and libraries."""
    code = """
import trainium_edu.nki as t; t.activate()
from neuronxcc.nki.compile import GenericKernel
from neuronxcc.nki.compiler.backends.neuron.dimensions import VNC
from neuronxcc.nki.compiler.backends.neuron.tensors import KernelHBMTensor
from neuronxcc.starfish.penguin.targets.nki.private_api import vnc
from neuronxcc.starfish.support.dtype import bfloat16, static_cast
from neuronxcc.starfish.support.util import allclose
import neuronxcc.nki.language as nl
import numpy as np
print(VNC is nl.nc, vnc is nl.nc, bfloat16 is nl.bfloat16)
print(allclose(np.ones(2), np.ones(2) + 0.01, atol=0.1, rtol=0, verbose=1),
      allclose(np.ones(2), np.ones(2) + 0.5, verbose=1))
"""
    assert python(code).splitlines() == [
        "True True True", "allclose: the largest error is 0.5", "True False",
    ]  # fmt: skip


def test_the_older_names_are_taken_back_too():
    code = """
import logging
import trainium_edu.nki as ours
ours.activate(), ours.deactivate()
try:
    import neuronxcc.nki
except ModuleNotFoundError:
    print("gone", hasattr(logging, "OFF"))
"""
    assert python(code) == "gone False"


def test_an_older_package_of_aws_is_left_alone(tmp_path):
    (tmp_path / "neuronxcc").mkdir()
    (tmp_path / "neuronxcc" / "__init__.py").write_text("whose = 'AWS'\n")
    code = """
import trainium_edu.nki as ours
print(ours.activate())
import neuronxcc
print(neuronxcc.whose)
ours.activate(replace=True)
import neuronxcc
print(neuronxcc.nki.__name__)
"""
    assert python(code, folder=tmp_path).split() == ["True", "AWS", "trainium_edu.nki.beta1"]
