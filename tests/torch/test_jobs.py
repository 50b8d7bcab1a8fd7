"""Training jobs as the managed service runs them.

Judges: the list of variables and the rules for arguments in AWS's SageMaker Training Toolkit
(`sagemaker-variables`, `sagemaker-training-toolkit`), with the examples of its documentation; the
price of the post that the rate is from; PyTorch for predictions.
"""

import json
import os
import re
import signal
import sys
import tarfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.for_each import raises
from tests.texts import table_beside, text_beside
from trainium_edu.specs import PRICES, SOURCES
from trainium_edu.torch.jobs import Estimator, PyTorch, PyTorchModel, UnexpectedStatusException
from trainium_edu.torch.jobs import estimator as estimators
from trainium_edu.torch.jobs.toolkit import arguments_of

TABLES = table_beside(__file__, "jobs.toml")

DISTRIBUTED = {"torch_distributed": {"enabled": True}}

#: Stands for ``python -m trainium_edu``: runs the script once, and reports what it is told to.
LAUNCHER = text_beside(__file__, "launcher.txt")

TRAIN = text_beside(__file__, "job_train.py.txt")


@pytest.fixture
def launched(tmp_path, monkeypatch):
    """Let jobs start the stand-in for our command line; return a folder with sources."""
    launcher = tmp_path / "launcher.py"
    launcher.write_text(LAUNCHER)
    monkeypatch.setattr(estimators, "_LAUNCHER", [sys.executable, str(launcher)])
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text(TRAIN)
    (code / "helper.py").write_text("TEXT = 'from the helper'")
    (tmp_path / "train.csv").write_text("label,content")
    return tmp_path


def make(folder, **fields):
    given = {"entry_point": "train.py", "source_dir": str(folder / "code"), "role": "any",
             "output_path": folder / "jobs", "distribution": DISTRIBUTED}  # fmt: skip
    return Estimator(**given | fields)


# -- what a script finds --------------------------------------------------------------------------


def test_hyperparameters_become_the_arguments_of_the_toolkit_s_documentation():
    documented = {"batch-size": "256", "learning_rate": "0.0001", "communicator": "nccl"}
    found = "--batch-size 256 --communicator nccl --learning_rate 0.0001"
    assert arguments_of(documented) == found.split()
    assert arguments_of({"n": 1, "on": True, "none": None}) == ["-n", "1", "--none", "", "--on",
        "True"]  # fmt: skip
    assert arguments_of({"of": {"b": 2, "a": 1}, "to": [1, 2]}) == ["--of", "a=1,b=2", "--to",
        "[1, 2]"]  # fmt: skip


#: The page's own list, with the channels and hyperparameters of the test.
DOCUMENTED = set(TABLES["variables"])


def test_a_script_finds_every_variable_that_the_toolkit_documents(launched):
    estimator = make(launched, instance_count=2, hyperparameters={"batch-size": 8, "lr": 5e-5})
    (launched / "val").mkdir()
    inputs = {"train": launched / "train.csv", "val": f"file://{launched}/val"}
    estimator.fit(inputs, logs=False)
    job = estimator.latest_training_job
    found = json.loads((job.folder / "model/model.json").read_text())
    assert not DOCUMENTED - set(found)
    assert found["SM_CURRENT_HOST"] == "algo-1"
    assert found["SM_MODEL_DIR"] == str(job.folder / "model")
    assert found["SM_NETWORK_INTERFACE_NAME"] == "eth0"
    assert found["SM_CHANNEL_TRAIN"] == str(job.folder / "input/data/train")
    assert found["SM_CHANNEL_VAL"] == str(launched / "val")
    read = {name: json.loads(found[f"SM_{name}"]) for name in (
        "HOSTS", "CHANNELS", "HPS", "USER_ARGS", "NUM_GPUS", "NUM_NEURONS", "NUM_CPUS", "LOG_LEVEL",
        "RESOURCE_CONFIG", "INPUT_DATA_CONFIG", "TRAINING_ENV")}  # fmt: skip
    assert read["HOSTS"] == ["algo-1", "algo-2"]
    assert read["CHANNELS"] == ["train", "val"]
    assert read["HPS"] == {"batch-size": 8, "lr": 5e-5}
    assert read["USER_ARGS"] == ["--batch-size", "8", "--lr", "5e-05"]
    assert (read["NUM_GPUS"], read["NUM_NEURONS"], read["NUM_CPUS"]) == (0, 32, 128)
    assert read["LOG_LEVEL"] == 20
    assert read["RESOURCE_CONFIG"]["hosts"] == read["HOSTS"]
    assert read["INPUT_DATA_CONFIG"]["train"]["TrainingInputMode"] == "File"
    documented = set(TABLES["attributes"])
    assert not documented - set(read["TRAINING_ENV"])


def test_the_sources_of_the_variables_are_named():
    assert "sagemaker-training-toolkit" in SOURCES["sagemaker-variables"].url


@pytest.mark.parametrize(
    ("kind", "ranks"), [("ml.trn1.32xlarge", 32), ("ml.trn1.2xlarge", 2), ("ml.trn1n.32xlarge", 32)]
)
def test_torchrun_gets_a_rank_for_each_neuroncore(launched, kind, ranks, capfd):
    estimator = make(launched, instance_type=kind, options=("--values", "none"))
    estimator.fit({"train": launched / "train.csv"})
    shown = capfd.readouterr().out
    instance = kind.removeprefix("ml.")
    report = estimator.latest_training_job.folder / "report"
    assert (f"launched torchrun --nnodes 1 --nproc_per_node {ranks} --instance {instance} "
            f"--report {report} --values none\n") in shown  # fmt: skip
    assert "from the helper label,content" in shown


def test_without_distribution_one_rank_runs(launched, capfd):
    make(launched, distribution=None).fit({"train": launched / "train.csv"})
    assert "launched run --instance trn1.32xlarge --report" in capfd.readouterr().out


# -- what is left, and what it costs --------------------------------------------------------------


def test_what_was_saved_is_packed_and_the_log_is_kept(launched, capfd):
    estimator = make(launched, base_job_name="reviews")
    estimator.fit({"train": str(launched / "train.csv")}, logs=False)
    assert capfd.readouterr().out == ""
    assert re.fullmatch(r"reviews-\d{4}(-\d\d){5}-\d{6}", estimator.latest_training_job.name)
    with tarfile.open(estimator.model_data) as archive:
        assert archive.getnames() == [".", "./model.json"]
    job = estimator.latest_training_job
    with tarfile.open(job.folder / "output/output.tar.gz") as archive:
        assert archive.getnames() == [".", "./notes.txt"]
    assert "from the helper label,content" in (job.folder / "log.txt").read_text()
    assert job.status == "Completed"


def test_emulated_seconds_are_billed_at_a_price_that_may_be_unknown(launched, capfd):
    estimator = make(launched, instance_count=4)
    estimator.fit({"train": launched / "train.csv"})
    job, shown = estimator.latest_training_job, capfd.readouterr().out
    assert (job.emulated_s, job.wall_s) == (71.5, 2.0)
    billed = " (2 s here)\nBillable seconds: 288 (emulated: 71.5 s on 4 x ml.trn1.32xlarge)\n"
    assert billed in shown
    assert "Price: 1.9780 USD at 24.725 USD/hour (aws-ml-blog-sagemaker, 2023-03)" in shown
    assert float(PRICES["trn1.32xlarge"].sagemaker_usd_per_hour) == 24.725
    estimator = make(launched, instance_type="ml.trn1.2xlarge")
    estimator.fit({"train": launched / "train.csv"})
    shown = capfd.readouterr().out
    assert "not known here; EC2 on demand would be 0.0268 USD at 1.34 USD/hour" in shown


# -- how jobs end ---------------------------------------------------------------------------------


def test_a_job_that_fails_says_the_script_s_last_error_in_one_sentence(launched):
    (launched / "code/train.py").write_text("def f():\n    raise ValueError('rate is -1')\nf()\n")
    estimator = make(launched)
    caught = raises(UnexpectedStatusException, "", estimator.fit, logs=False)
    job = estimator.latest_training_job
    log = job.folder / "log.txt"
    assert str(caught) == (
        f"training job {job.name} failed: ValueError: rate is -1 (exit code 1); its log is {log}"
    )
    assert job.status == "Failed"
    assert "Traceback" in log.read_text()
    raises(ValueError, "no training job with a model yet", lambda: estimator.model_data)
    (launched / "code/train.py").write_text("print('no data')\nraise SystemExit(3)\n")
    raises(UnexpectedStatusException, r"no data \(exit code 3\)", make(launched).fit, logs=False)


SLOW = "import os, time\nprint('begun', os.getpid(), flush=True)\ntime.sleep(600)\n"


def test_ctrl_c_stops_the_job(launched):
    (launched / "code/train.py").write_text(SLOW)
    estimator = make(launched)

    def interrupt():
        while not any("begun" in path.read_text() for path in launched.glob("jobs/*/log.txt")):
            time.sleep(0.02)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)  # as a terminal does

    threading.Thread(target=interrupt, daemon=True).start()
    raises(KeyboardInterrupt, "", estimator.fit, logs=False)
    job = estimator.latest_training_job
    assert job.status == "Stopped"
    with pytest.raises(ProcessLookupError):
        os.kill(int(re.search(r"begun (\d+)", (job.folder / "log.txt").read_text())[1]), 0)


def test_a_folder_of_jobs_among_the_sources_is_not_copied(launched, monkeypatch):
    monkeypatch.chdir(launched / "code")
    estimator = make(launched, output_path="jobs", source_dir=".")
    for _ in range(2):
        estimator.fit({"train": launched / "train.csv"}, logs=False)
    copied = estimator.latest_training_job.folder / "code"
    assert sorted(path.name for path in copied.iterdir() if path.suffix == ".py") == [
        "helper.py", "train.py"]  # fmt: skip
    assert not (copied / "jobs").exists()


# -- fields ---------------------------------------------------------------------------------------


def test_the_fields_of_the_source_s_example_are_taken(launched):
    estimator = PyTorch(
        entry_point="train.py", source_dir=str(launched / "code"), role="role", instance_count=1,
        instance_type="ml.trn1.32xlarge", framework_version="1.11.0", py_version="py38",
        disable_profiler=True, base_job_name="amazon-review-classification",
        hyperparameters={"model_name_or_path": "bert-base-uncased", "learning_rate": 5e-5},
        volume_size=512, checkpoint_local_path="/opt/ml/checkpoints",
        checkpoint_s3_uri="s3://bucket/cache", distribution=DISTRIBUTED,
    )  # fmt: skip
    assert estimator.ranks == 32
    assert estimator.hyperparameters()["learning_rate"] == 5e-5


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        *TABLES["fields"],
        ({"instance_count": 2, "distribution": None}, "instance_count is 2 without distribution"),
        ({"hyperparameters": {"lr": object()}}, "hyperparameters is .* service sends it as JSON"),
    ],
)
def test_a_field_that_cannot_be_is_refused_in_one_sentence(launched, fields, message):
    raises((TypeError, ValueError), message, make, launched, **fields)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [*TABLES["channels"], ({"train": None}, "channel train is None; it must be a path")],
)
def test_a_channel_that_cannot_be_is_refused_before_the_job_begins(launched, inputs, message):
    estimator = make(launched)
    raises((TypeError, ValueError), message, estimator.fit, inputs)
    assert estimator.latest_training_job is None


def test_before_the_first_job_there_is_no_model(launched):
    raises(ValueError, "no training job with a model yet; call fit", make(launched).deploy)


# -- predictions ----------------------------------------------------------------------------------

INFERENCE = text_beside(__file__, "inference.txt")


@pytest.fixture
def packed(tmp_path):
    """Return a linear model, and a function that packs files as a job does."""
    torch = pytest.importorskip("torch")

    def pack(script=None, **files):
        for name, write in files.items():
            write(tmp_path / name.replace("_pt", ".pt"))
        path = tmp_path / "model.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            for name in files:
                archive.add(tmp_path / name.replace("_pt", ".pt"), name.replace("_pt", ".pt"))
        entry = tmp_path / "inference.py"
        entry.write_text(script or "")
        return PyTorchModel(str(path), role="any", entry_point="inference.py", source_dir=tmp_path,
                            framework_version="1.12.0", py_version="py38")  # fmt: skip

    torch.manual_seed(0)
    return SimpleNamespace(torch=torch, model=torch.nn.Linear(3, 2), pack=pack)


@pytest.mark.judge
def test_the_script_s_functions_serve_the_model(packed):
    torch, model = packed.torch, packed.model
    saved = packed.pack(INFERENCE, checkpoint_pt=lambda path: torch.save(model.state_dict(), path))
    predictor = saved.deploy(
        1, "ml.c5.xlarge", serializer=SimpleNamespace(CONTENT_TYPE="application/json")
    )
    with pytest.raises(ValueError, match="serializer writes text/csv; an endpoint here takes"):
        saved.deploy(serializer=SimpleNamespace(CONTENT_TYPE="text/csv"))
    x = [[1.0, 2.0, 3.0], [0.0, -1.0, 0.5]]
    found = predictor.predict({"x": x})
    assert torch.equal(torch.tensor(found["y"]), model(torch.tensor(x)))
    predictor.delete_model()
    predictor.delete_endpoint()
    raises(ValueError, "was deleted; deploy the model again", predictor.predict, {"x": x})


@pytest.mark.judge
@pytest.mark.parametrize(("script", "message"), TABLES["models"])
def test_a_model_that_cannot_be_served_is_told_in_one_sentence(packed, script, message):
    from trainium_edu.torch.jobs.serving import ModelError

    saved = packed.pack(script, notes=lambda path: path.write_text("none"))
    raises(ModelError, message, saved.deploy)


@pytest.mark.judge
def test_a_request_that_fails_names_the_script_s_line(packed):
    from trainium_edu.torch.jobs.serving import ModelError

    torch, model = packed.torch, packed.model
    saved = packed.pack(INFERENCE, checkpoint_pt=lambda path: torch.save(model.state_dict(), path))
    predictor = saved.deploy()
    raises(ModelError, r"KeyError: 'x' at inference.py:9", predictor.predict, {"z": 1})


def test_jobs_need_no_torch():
    import subprocess

    code = "import sys, trainium_edu.torch.jobs; print('torch' in sys.modules)"
    above = Path(__file__).parents[2]
    assert subprocess.check_output([sys.executable, "-c", code], cwd=above) == b"False\n"


# -- a real one -----------------------------------------------------------------------------------

REAL = text_beside(__file__, "real_job.txt")


@pytest.mark.slow
@pytest.mark.judge
def test_a_job_on_two_neuroncores_trains_as_pytorch_and_its_model_is_served(tmp_path, capfd):
    torch = pytest.importorskip("torch")
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text(REAL)
    (code / "inference.py").write_text(INFERENCE.replace("Linear(3, 2)", "Linear(8, 2)"))
    data = torch.randn(64, 8), torch.randint(2, (64,))
    torch.save(data, tmp_path / "data.pt")
    estimator = make(
        tmp_path, instance_type="ml.trn1.2xlarge", hyperparameters={"learning_rate": 0.1}
    )
    estimator.fit({"train": tmp_path / "data.pt"})
    shown = capfd.readouterr().out
    assert sorted(re.findall(r"Local rank (\d), world size 2", shown)) == ["0", "1"]
    job = estimator.latest_training_job
    assert "Billable seconds: 1 (emulated" in shown
    assert 0 < job.emulated_s < 1 < job.wall_s
    predictor = estimator.deploy(entry_point="inference.py")

    torch.manual_seed(0)
    model = torch.nn.Linear(8, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in zip(data[0].split(16), data[1].split(16), strict=True):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    found = torch.tensor(predictor.predict({"x": data[0].tolist()})["y"])
    assert torch.allclose(found, model(data[0]), atol=1e-5)


@pytest.mark.slow
@pytest.mark.judge
def test_a_rank_that_dies_fails_the_job(tmp_path):
    torch = pytest.importorskip("torch")
    (tmp_path / "code").mkdir()
    (tmp_path / "code/train.py").write_text(REAL)
    torch.save((torch.ones(64, 8), torch.zeros(64, dtype=torch.int64)), tmp_path / "data.pt")
    estimator = make(tmp_path, instance_type="ml.trn1.2xlarge",
                     hyperparameters={"learning_rate": 0.1, "fails": 1})  # fmt: skip
    with pytest.raises(UnexpectedStatusException, match=r"rank 1 .*ValueError: rank one is tired"):
        estimator.fit({"train": tmp_path / "data.pt"}, logs=False)
