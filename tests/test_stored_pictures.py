"""What lessons show where no kernel runs.  Judges: the stored notebooks, and made-up outputs."""

import base64
import importlib
import importlib.util
import json
import pkgutil
import struct
from pathlib import Path

import anywidget
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tests.for_each import for_each, for_rows
from trainium_edu import widgets
from trainium_edu.widgets.graph_explorer import GraphExplorer
from trainium_edu.widgets.prediction import Prediction

ROOT = Path(__file__).parents[1]
_spec = importlib.util.spec_from_file_location("pictures", ROOT / ".ci/pictures.py")
pictures = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(pictures)


BOXES = {GraphExplorer.__name__}  #: around what the page draws


def page_drawn():
    """Return the names of all classes that the page draws."""
    for found in pkgutil.iter_modules(widgets.__path__, f"{widgets.__name__}."):
        importlib.import_module(found.name)
    classes, names = [anywidget.AnyWidget], set()
    while classes:
        each = classes.pop()
        classes += each.__subclasses__()
        if each.__module__.startswith(widgets.__name__) and hasattr(each, "_esm"):
            names.add(each.__name__)
    return names - {Prediction.__name__}


def outputs(lesson):
    for cell in json.loads(lesson.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", ()):
            yield output.get("data", {})


@for_each("lesson", sorted((ROOT / "notebooks").glob("[0-9]*.ipynb")), ids=lambda p: p.stem)
def test_every_widget_of_a_stored_lesson_has_a_picture(lesson):
    shown, starts = 0, tuple(f"{name}(" for name in BOXES | page_drawn())
    for data in outputs(lesson):
        lines = "".join(data.get("text/plain", "")).splitlines()
        if any(line.startswith(starts) for line in lines):
            png = base64.b64decode(data["image/png"])
            width, height = struct.unpack(">II", png[16:24])
            assert png.startswith(b"\x89PNG")
            assert (width >= 600, height >= 200) == (True, True)
            shown += 1
    assert shown


STATES = {
    "player": {"_anywidget_id": "trainium_edu.widgets.zoom.ZoomLadder"},
    "question": {"_anywidget_id": "trainium_edu.widgets.prediction.Prediction"},
    "slider": {"value": 3},
    "panel": {"children": ["IPY_MODEL_slider", "IPY_MODEL_question", "IPY_MODEL_row"]},
    "row": {"children": ["IPY_MODEL_player"]},
}


@for_rows(
    "model, found", ("player", "player"), ("panel", "player"), ("question", None), ("slider", None),
    ("x", None),
)  # fmt: skip
def test_the_first_widget_that_the_page_draws_is_found(model, found):
    assert pictures.drawn(model, STATES) == found


def test_pictures_come_from_the_page_only_where_python_drew_none(monkeypatch):
    monkeypatch.setattr(pictures, "take", lambda browser, state, buffers: (b"page", 400))
    view = {pictures.VIEW: {"model_id": "panel"}}
    made = [
        new_output("display_data", {**view}),
        new_output("display_data", {**view, "image/png": "from Python"}),
        new_output("display_data", {"text/plain": "42"}),
    ]
    pictures.add_pictures(new_notebook(cells=[new_code_cell(outputs=made)]), STATES, {}, None)
    assert base64.b64decode(made[0].data["image/png"]) == b"page"
    assert made[0].metadata["image/png"] == {"width": 900, "height": 400}
    assert made[1].data["image/png"] == "from Python"
    assert "image/png" not in made[2].data


def test_without_chromium_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setattr(pictures.shutil, "which", lambda name: None)
    with pytest.raises(SystemExit, match="apt-get install chromium"), pictures.chromium():
        pass
