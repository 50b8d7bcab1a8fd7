"""Predictions from a saved model on this computer's CPU, with a script's own functions.

As the service's PyTorch inference toolkit does: ``model_fn(model_dir)`` loads, ``input_fn(body,
content_type)`` reads a request, ``predict_fn(data, model)`` predicts, ``output_fn(prediction,
accept)`` writes the response.  A script without one of the last three gets the toolkit's own, for
JSON.  Left out: the web server, workers, and the time and price of an endpoint.
"""

import io
import json
import runpy
import shutil
import sys
import tempfile
from unittest.mock import patch

from trainium_edu.torch.jobs.toolkit import path_of

__all__ = ["JSONDeserializer", "JSONSerializer", "ModelError", "Predictor", "PyTorchModel"]


class ModelError(RuntimeError):
    """A script's function failed on the model or on a request."""


class JSONSerializer:
    """Write what is predicted from as JSON."""

    CONTENT_TYPE = "application/json"

    def serialize(self, data) -> str:
        """Return a request's body."""
        return json.dumps(data, default=lambda value: value.tolist())


class JSONDeserializer:
    """Read a prediction from JSON."""

    def deserialize(self, stream, content_type):
        """Return the content of a response's stream."""
        return json.load(stream)


class PyTorchModel:
    """A packed model and the script that serves it.

    Parameters
    ----------
    model_data : str or Path
        ``model.tar.gz``.
    entry_point : str
        Script with ``model_fn`` and, if wanted, ``input_fn``, ``predict_fn``, ``output_fn``.
    source_dir : str or Path
        Its folder.
    **more
        Other fields of the service's model: taken, and without effect.
    """

    def __init__(self, model_data, entry_point, source_dir=".", **more):
        self.model_data = path_of(model_data, "model_data")
        self.entry_point = path_of(entry_point, "entry_point", path_of(source_dir, "source_dir"))

    def deploy(self, initial_instance_count=1, instance_type="ml.c5.xlarge", serializer=None,
               deserializer=None, **more) -> "Predictor":  # fmt: skip
        """Serve the model in this process, on the CPU.

        Parameters
        ----------
        initial_instance_count, instance_type : object
            Taken: predictions are made here, and neither timed nor priced.
        serializer, deserializer : object, optional
            Default JSON; those of the service's package work as well.
        """
        return Predictor(self, serializer or JSONSerializer(), deserializer or JSONDeserializer())


class Predictor:
    """An endpoint that answers in this process.

    Parameters
    ----------
    model : PyTorchModel
    serializer, deserializer : object

    Raises
    ------
    ModelError
        If the script or the model cannot be loaded.
    """

    def __init__(self, model, serializer, deserializer):
        self.serializer, self.deserializer = serializer, deserializer
        self._folder = tempfile.mkdtemp(prefix="served-", dir=model.model_data.parent)
        shutil.unpack_archive(model.model_data, self._folder, filter="data")
        with patch.object(sys, "path", [str(model.entry_point.parent), *sys.path]):
            script = _run(runpy.run_path, str(model.entry_point))
        if "model_fn" not in script:
            raise ModelError(f"{model.entry_point.name} has no model_fn(model_dir), which loads "
                             "the model")  # fmt: skip
        self._functions = _DEFAULTS | script
        self._model = _run(script["model_fn"], self._folder)

    def predict(self, data):
        """Return the prediction for one request.

        Raises
        ------
        ModelError
            If a function of the script fails, with its line.
        ValueError
            If the endpoint was deleted.
        """
        if self._model is None:
            raise ValueError("the endpoint was deleted; deploy the model again")
        kind, body = self.serializer.CONTENT_TYPE, self.serializer.serialize(data)
        request = _run(self._functions["input_fn"], body, kind)
        prediction = _run(self._functions["predict_fn"], request, self._model)
        response = _run(self._functions["output_fn"], prediction, kind)
        response = response[0] if isinstance(response, tuple) else response  # with its content type
        return self.deserializer.deserialize(io.BytesIO(response.encode("utf-8")), kind)

    def delete_model(self) -> None:
        """Remove the unpacked model."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def delete_endpoint(self) -> None:
        """Stop answering."""
        self._model = None


def _run(function, *given):
    try:
        return function(*given)
    except Exception as error:
        from trainium_edu.torch.script import told_of  # loads PyTorch; a failed job need not

        raise ModelError(told_of(error)) from error


def _predict_fn(data, model):
    model.eval()
    import torch

    with torch.no_grad():
        return model(data)


def _input_fn(body, content_type):
    import torch

    return torch.tensor(json.loads(body), dtype=torch.float32)


#: the toolkit's own functions
_DEFAULTS = {
    "input_fn": _input_fn,
    "predict_fn": _predict_fn,
    "output_fn": lambda prediction, accept: json.dumps(prediction.tolist()),
}
