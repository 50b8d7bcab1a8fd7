"""``import nki`` without changing the code.  Judge: Python's own import, in a fresh process."""

import os
import subprocess
import sys

import pytest

import trainium_edu.nki as nki


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
