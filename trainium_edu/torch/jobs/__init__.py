"""The job around a script: an estimator with the managed service's names, run on this computer.

``Estimator`` (also ``PyTorch``) takes what ``sagemaker.pytorch.PyTorch`` takes; the import line is
all that changes.  ``fit`` copies the sources to a folder of the job, sets the variables that the
service's training toolkit documents (``SM_CHANNEL_TRAIN``, ``SM_MODEL_DIR``, ...), turns
hyperparameters into arguments, starts ``torchrun`` on all NeuronCores, shows the log, packs the
model and says what the *emulated* seconds cost.  ``deploy`` serves the model here, on the CPU.

Left out: the service also checks a role's rights (IAM), waits for instances and pulls a container
image with PyTorch and Neuron.  It copies the data from S3 to a volume, installs
``requirements.txt`` and compiles graphs (minutes, which are billed and not modelled).  It sends the
log to CloudWatch and the model to S3.  Its folders are ``/opt/ml/...``: a script that names them by
hand finds nothing here.  ``SM_INPUT_CONFIG_DIR`` is empty: variables say the same.  On many
instances each has its own ``SM_CURRENT_HOST``; here all are "algo-1".  A job here has ended when
``fit`` returns, and an endpoint takes JSON only.
"""

from trainium_edu import names

_HOMES = {
    "estimator": "Estimator PyTorch TrainingJob UnexpectedStatusException",
    "serving": "ModelError Predictor PyTorchModel",
}
__all__, __getattr__, __dir__ = names.late(__name__, _HOMES)
