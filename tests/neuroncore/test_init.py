"""The front door.  Judges: a fresh Python, and the names that it promises."""

import importlib
import json
import subprocess
import sys

from trainium_edu import neuroncore

SCRIPT = """
import json, sys
import trainium_edu.neuroncore
light = sorted({m.split(".")[0] for m in sys.modules} & {"numba", "numpy", "matplotlib"})
import trainium_edu.neuroncore.timing.why
from trainium_edu.neuroncore import why
print(json.dumps([light, callable(why)]))
"""


def test_every_promised_name_is_there_and_known_to_dir():
    for name in neuroncore.__all__:
        assert getattr(neuroncore, name) is not None
    assert sorted(neuroncore.__all__) == dir(neuroncore)


def test_the_door_is_light_and_functions_win_over_files_of_their_name():
    run = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    light, is_function = json.loads(done.stdout)
    assert light == []
    assert is_function


def test_files_stay_importable_under_their_names():
    assert importlib.import_module("trainium_edu.neuroncore.timing.why").why is neuroncore.why
    module = importlib.import_module("trainium_edu.neuroncore.timing.optimise")
    assert module.optimise is neuroncore.optimise


def test_the_docstring_fits_a_screen():
    assert len(neuroncore.__doc__.splitlines()) <= 40
