"""Predictions from a saved model on this computer's CPU, with a script's own functions.

As in the service's PyTorch inference toolkit, ``model_fn(model_dir)`` loads the model and
``input_fn(body, content_type)`` reads a request.  ``predict_fn(data, model)`` predicts, and
``output_fn(prediction, accept)`` writes the response.  A script without one of the last three gets
the toolkit's own, for JSON.  Left out: the web server, workers, and an endpoint's time and price.
"""

import json
import runpy
import shutil
import sys
import tempfile
from unittest.mock import patch

from trainium_edu.torch.jobs.toolkit import path_of

__all__ = ["ModelError", "Predictor", "PyTorchModel"]

_JSON = "application/json"


class ModelError(RuntimeError):
    """A script's function failed on the model or on a request."""


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

    def deploy(self, *given, serializer=None, **more) -> "Predictor":
        """Serve the model in this process, on the CPU.

        Parameters
        ----------
        serializer : object, optional
            One that writes JSON, which is how predictions travel here.
        *given, **more
            Other arguments of the service, such as ``instance_type``: accepted, and without effect;
            predictions are neither timed nor priced.

        Raises
        ------
        ValueError
            For a serializer that writes something else.
        """
        kind = getattr(serializer, "CONTENT_TYPE", _JSON)
        if kind != _JSON:
            raise ValueError(f"serializer writes {kind}; an endpoint here takes {_JSON}")
        return Predictor(self)


class Predictor:
    """An endpoint that answers in this process.

    Parameters
    ----------
    model : PyTorchModel

    Raises
    ------
    ModelError
        If the script or the model cannot be loaded.
    """

    def __init__(self, model):
        self._folder = tempfile.mkdtemp(prefix="served-", dir=model.model_data.parent)
        shutil.unpack_archive(model.model_data, self._folder, filter="data")
        with patch.object(sys, "path", [str(model.entry_point.parent), *sys.path]):
            script = _run(runpy.run_path, str(model.entry_point))
        if "model_fn" not in script:
            raise ModelError(f"{model.entry_point.name} has no model_fn(model_dir), which loads "
                             "the model")  # fmt: skip
        self._functions = _defaults() | script
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
        body = json.dumps(data, default=lambda value: value.tolist())
        request = _run(self._functions["input_fn"], body, _JSON)
        prediction = _run(self._functions["predict_fn"], request, self._model)
        response = _run(self._functions["output_fn"], prediction, _JSON)
        return json.loads(response[0] if isinstance(response, tuple) else response)

    def delete_model(self) -> None:
        """Remove the unpacked model."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def delete_endpoint(self) -> None:
        """Drop the model; later requests are refused."""
        self._model = None


def _run(function, *given):
    try:
        return function(*given)
    except Exception as error:
        from trainium_edu.torch.script import told_of  # loads PyTorch; a failed job need not

        raise ModelError(told_of(error)) from error


def _defaults() -> dict:
    """Return the toolkit's own functions."""
    import torch

    return {
        "input_fn": lambda body, content_type: torch.tensor(json.loads(body), dtype=torch.float32),
        "predict_fn": torch.no_grad()(lambda data, model: model.eval()(data)),
        "output_fn": lambda prediction, accept: json.dumps(prediction.tolist()),
    }
