"""The lesson's programs: run live where PyTorch is installed, and else as they were stored.

Emulated times follow from the graphs, which are stored, so both print the same.
"""

import io
import json
import lzma
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from trainium_edu import aside, files
from trainium_edu.neuroncore.timing.bands import Band
from trainium_edu.specs.arguments import instance
from trainium_edu.specs.signatures import checked
from trainium_edu.training.instances import OnInstance
from trainium_edu.training.run_record import RunRecord, from_json, to_json

__all__ = ["Outcome", "fit", "operations", "run", "store", "stored", "vit_on_instances"]

_STORED = Path(__file__).with_name("programs.json.xz")


@dataclass(frozen=True)
class Outcome:
    """The outcome of a program.

    Attributes
    ----------
    record : RunRecord
    printed : str
        Its own lines on the screen.
    is_live : bool
        Whether it ran just now.
    """

    record: RunRecord
    printed: str
    is_live: bool


@checked
def run(script: str | Path, arguments: Sequence = (), *, live: bool | None = None,
        options: Mapping | None = None) -> Outcome:  # fmt: skip
    """Run a program on the emulated device, or tell how it went when it was stored.

    Parameters
    ----------
    script : str or Path
        A file.
    arguments : sequence of str
        What it finds in ``sys.argv[1:]``; what is stored had none.
    live : bool, optional
        Default: if PyTorch is installed.
    options : mapping, optional
        Of ``run_script``: ranks, instance, values.

    Raises
    ------
    ModuleNotFoundError
        If it is not a stored program, and PyTorch is not installed.
    RuntimeError
        If the program ends with an error, in its words.
    """
    script = Path(script)
    if not _runs_here(live):
        return stored(script.stem)
    running = aside.load("trainium_edu.torch.running")
    out, told = io.StringIO(), io.StringIO()
    with ExitStack() as here:
        own = here.enter_context(TemporaryDirectory())  # what was compiled before does not count
        here.enter_context(patch.dict(os.environ, NEURON_COMPILE_CACHE_URL=own))
        here.enter_context(redirect_stdout(out))
        here.enter_context(redirect_stderr(told))
        code = running.run_script(script, [*map(str, arguments)], **dict(options or {}))
    if code:
        said = told.getvalue().strip().splitlines() or ["no message"]
        raise RuntimeError(f"{script.name} exits with {code}: {said[-1]}")
    record = replace(running.last_run(), script=script.name, wall_s=0.0)
    return Outcome(record, out.getvalue(), True)


def stored(name: str) -> Outcome:
    """Return how a program of the lesson went when it was stored.

    Raises
    ------
    ModuleNotFoundError
        If it is none of those.
    """
    programs = _kept()["programs"]
    if name not in programs:
        raise ModuleNotFoundError(
            f"{name} needs PyTorch, which is not installed here: pip install "
            f"'trainium-edu[torch]'; stored are {', '.join(programs)}"
        )
    one = programs[name]
    return Outcome(from_json(one["record"]), one["printed"], False)


@checked
def fit(estimator, *, live: bool | None = None) -> str:
    """Run a training job, or take the times that its program had when it was stored.

    Parameters
    ----------
    estimator : trainium_edu.torch.jobs.Estimator
    live : bool, optional
        Default: if PyTorch is installed.  What is stored ran on one rank and had no arguments.

    Returns
    -------
    str
        The job's bill.

    Raises
    ------
    ModuleNotFoundError
        If it is not the job of a stored program as it was stored, and PyTorch is not installed.
    """
    jobs = aside.load("trainium_edu.torch.jobs.estimator")
    instance(estimator, "estimator", jobs.Estimator, "an Estimator of trainium_edu.torch.jobs")
    if _runs_here(live):
        estimator.fit(logs=None)
    else:
        is_other = estimator.ranks or estimator.hyperparameters()
        name = (
            "a job on several ranks or with arguments" if is_other else estimator.entry_point.stem
        )
        ended_ns = max(s.end_ns for s in stored(name).record.steps)
        job = jobs.TrainingJob("stored", Path(), "Completed", ended_ns / 1e9)
        estimator.latest_training_job = job
    return estimator.bill()


def operations(*, live: bool | None = None) -> list[str]:
    """Return the operations of PyTorch that have a row: of this release, or as they were stored."""
    if not _runs_here(live):
        return list(_kept()["operations"])
    return aside.load("trainium_edu.torch.operations").supported()


def vit_on_instances() -> list[OnInstance]:
    """Return the step of the published comparison's ViT-B/16 on all sizes, as it was stored.

    Its graph has 1.2 MB and takes minutes to record and time; batch 16, 224 x 224, BF16, Adam.
    """
    return [OnInstance(**{**row, "band": Band(**row["band"])}) for row in _kept()["instances"]]


def _runs_here(asked: bool | None) -> bool:
    return find_spec("torch") is not None if asked is None else asked


@cache
def _kept() -> dict:
    return json.loads(lzma.decompress(_STORED.read_bytes()))


def store(outcomes: Mapping[str, Outcome], instances: Sequence[OnInstance],
          names: Sequence[str]) -> None:  # fmt: skip
    """Store how programs went, the ViT's step and all operations, for machines without PyTorch."""
    programs = {name: {"record": to_json(one.record), "printed": one.printed}
                for name, one in outcomes.items()}  # fmt: skip
    text = json.dumps({"programs": programs, "operations": list(names),
                       "instances": [asdict(one) for one in instances]})  # fmt: skip
    files.write(_STORED, lzma.compress(text.encode(), preset=9))
    _kept.cache_clear()
