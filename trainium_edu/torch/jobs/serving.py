"""Predictions from a saved model on this computer's CPU, with a script's own functions.

As the service's PyTorch inference toolkit does: ``model_fn(model_dir)`` loads, ``input_fn(body,
content_type)`` reads a request, ``predict_fn(data, model)`` predicts, ``output_fn(prediction,
accept)`` writes the response; ``transform_fn(model, body, content_type, accept)`` stands for the
last three.  Each may take a context too; the default ones are the toolkit's.  Left out: the web
server, workers, and the time and price of an endpoint.
"""

import importlib.util
import inspect
import io
import json
import shutil
import sys
import traceback
from pathlib import Path
from types import SimpleNamespace

import torch

__all__ = ["ModelError", "Predictor"]

_TEXTS = ("application/json", "text/csv", "text/plain")


class ModelError(RuntimeError):
    """A script's function failed on the model or on a request."""


class Predictor:
    """An endpoint that answers in this process.

    Parameters
    ----------
    endpoint_name : str
    model_dir : Path
        The unpacked model.
    entry_point : Path or None
        The script with the functions; None: all are the default ones.
    serializer, deserializer : object

    Raises
    ------
    ModelError
        If the script or the model cannot be loaded.
    """

    def __init__(self, endpoint_name, model_dir, entry_point, serializer, deserializer):
        self.endpoint_name = endpoint_name
        self.serializer, self.deserializer = serializer, deserializer
        self._model_dir, self._entry_point = Path(model_dir), entry_point
        properties = {"model_dir": str(model_dir), "gpu_id": None}
        self._context = SimpleNamespace(system_properties=properties)
        script = None if entry_point is None else self._run(_load, entry_point)
        defaults = _DEFAULTS.items()
        self._functions = {name: getattr(script, name, default) for name, default in defaults}
        self._model = self._call("model_fn", str(model_dir))

    def predict(self, data, initial_args=None):
        """Return the prediction for one request.

        Parameters
        ----------
        data : object
            What the serializer takes.
        initial_args : optional
            Taken, and not looked at.

        Raises
        ------
        ModelError
            If a function of the script fails, with its line.
        ValueError
            If the endpoint was deleted.
        """
        if self._model is None:
            raise ValueError(f"endpoint {self.endpoint_name} was deleted; deploy the model again")
        content_type = _first(self.serializer, "CONTENT_TYPE", "content_type")
        accept = _first(self.deserializer, "ACCEPT", "accept")
        body = self.serializer.serialize(data)
        if isinstance(body, bytes | bytearray) and content_type in _TEXTS:
            body = body.decode("utf-8")
        if self._functions["transform_fn"] is not None:
            response = self._call("transform_fn", self._model, body, content_type, accept)
        else:
            given = self._call("input_fn", body, content_type)
            prediction = self._call("predict_fn", given, self._model)
            response = self._call("output_fn", prediction, accept)
        if isinstance(response, tuple):
            response, accept = response
        stream = io.BytesIO(response.encode("utf-8") if isinstance(response, str) else response)
        return self.deserializer.deserialize(stream, accept)

    def delete_model(self) -> None:
        """Remove the unpacked model."""
        shutil.rmtree(self._model_dir, ignore_errors=True)

    def delete_endpoint(self, delete_endpoint_config=True) -> None:
        """Stop answering."""
        self._model = None

    def _call(self, name, *given):
        """Call one of the functions, with the context if it takes one more."""
        function = self._functions[name]
        if len(inspect.signature(function).parameters) == len(given) + 1:
            given = (*given, self._context)
        return self._run(function, *given)

    def _run(self, function, *given):
        try:
            return function(*given)
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            lines = [f" at line {frame.lineno}" for frame in frames
                     if self._entry_point and frame.filename == str(self._entry_point)]  # fmt: skip
            where = f"{self._entry_point.name}{lines[-1] if lines else ''}: " if lines else ""
            raise ModelError(
                f"{where}{type(error).__name__}: {error}{_remedy(error, self._model_dir)}"
            ) from error


def _remedy(error, model_dir) -> str:
    """Return what to try, where the reason is known."""
    if isinstance(error, ModuleNotFoundError) and str(error.name).startswith("torch_"):
        return ("; serving runs on a CPU without PyTorch/XLA, in the service too: put model_fn in "
                'a script of its own and give deploy(entry_point="inference.py")')  # fmt: skip
    if "/opt/ml/model" in str(error):
        return f"; the service unpacks models there, and here model_fn is given {model_dir}"
    return ""


def _load(path):
    """Import a script under a name of its own; its folder is searched for what it imports."""
    spec = importlib.util.spec_from_file_location(f"_served_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    if getattr(module, "transform_fn", None) and any(
        hasattr(module, name) for name in ("input_fn", "predict_fn", "output_fn")
    ):
        raise ValueError("there is transform_fn and also input_fn, predict_fn or output_fn, which "
                         "it stands for; keep one or the others")  # fmt: skip
    return module


def _first(owner, *names) -> str:
    """Return the first content type that a serializer or deserializer names."""
    found = next(value for value in (getattr(owner, name, None) for name in names) if value)
    return found if isinstance(found, str) else found[0]


# -- the toolkit's default functions --------------------------------------------------------------


def _model_fn(model_dir):
    files = sorted(path for path in Path(model_dir).iterdir() if path.suffix in (".pt", ".pth"))
    files = [path for path in files if path.name == "model.pt"] or files
    if len(files) != 1:
        raise ValueError(f"the model has {len(files)} .pt or .pth files; without model_fn it needs "
                         "exactly one, saved with torch.jit.save")  # fmt: skip
    return torch.jit.load(files[0], map_location="cpu")


def _input_fn(body, content_type):
    if content_type != "application/json":
        raise ValueError(f"content type {content_type} needs an input_fn of the script's")
    return torch.tensor(json.loads(body), dtype=torch.float32)


def _predict_fn(data, model):
    model.eval()
    with torch.no_grad():
        return model(data)


def _output_fn(prediction, accept):
    if accept != "application/json":
        raise ValueError(f"content type {accept} needs an output_fn of the script's")
    return json.dumps(prediction, default=lambda value: value.tolist())


_DEFAULTS = {"model_fn": _model_fn, "input_fn": _input_fn, "predict_fn": _predict_fn,
             "output_fn": _output_fn, "transform_fn": None}  # fmt: skip
