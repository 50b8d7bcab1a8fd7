"""A saved model, and how requests and predictions are written."""

import json
import tarfile
from datetime import datetime

from trainium_edu.specs.arguments import text, whole
from trainium_edu.torch.jobs.fields import path_of, script_of

__all__ = ["JSONDeserializer", "JSONSerializer", "PyTorchModel"]


class PyTorchModel:
    """A packed model and the script that serves it.

    Parameters
    ----------
    model_data : str or Path
        ``model.tar.gz``.
    entry_point : str
        Script with ``model_fn`` and, if wanted, ``input_fn``, ``predict_fn``, ``output_fn``.
    source_dir : str or Path, optional
    **more
        Other fields of the service's model: taken, and without effect.
    """

    def __init__(self, model_data, entry_point=None, source_dir=None, **more):
        self.model_data = path_of(model_data, "model_data", exists=True)
        self.entry_point = None if entry_point is None else script_of(entry_point, source_dir)[0]

    def deploy(self, initial_instance_count=1, instance_type="ml.c5.xlarge", serializer=None,
               deserializer=None, endpoint_name=None, wait=True, **more):  # fmt: skip
        """Serve the model in this process, on the CPU.

        Parameters
        ----------
        initial_instance_count : int
        instance_type : str
            Taken: predictions are made here, and neither timed nor priced.
        serializer, deserializer : object, optional
            Default JSON; those of the service's package work as well.
        endpoint_name : str, optional
        wait : bool

        Returns
        -------
        Predictor
        """
        from trainium_edu.torch.jobs.serving import Predictor  # brings PyTorch, which jobs need not

        whole(initial_instance_count, "initial_instance_count", 1)
        if not text(instance_type, "instance_type").startswith("ml."):
            raise ValueError(f"instance_type is {instance_type!r}; it must be one such as "
                             "ml.c5.xlarge")  # fmt: skip
        folder = self.model_data.with_name(f"served-{datetime.now():%Y%m%d-%H%M%S-%f}")
        with tarfile.open(self.model_data) as archive:
            archive.extractall(folder, filter="data")
        return Predictor(endpoint_name or f"pytorch-inference-{folder.name[7:]}", folder,
                         self.entry_point, serializer or JSONSerializer(),
                         deserializer or JSONDeserializer())  # fmt: skip


class JSONSerializer:
    """Write what is predicted from as JSON."""

    CONTENT_TYPE = "application/json"

    def serialize(self, data) -> str:
        """Return a request's body."""
        if hasattr(data, "read"):
            return data.read()
        return json.dumps(data, default=lambda value: value.tolist())


class JSONDeserializer:
    """Read a prediction from JSON."""

    ACCEPT = ("application/json",)

    def deserialize(self, stream, content_type):
        """Return the content of a response's stream."""
        with stream:
            return json.loads(stream.read().decode("utf-8"))
