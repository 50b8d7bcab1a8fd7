"""What tutorials take besides from ``torch_xla.utils``, ``.test`` and ``.debug``, on the host."""

import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import torch

from trainium_edu import settings
from trainium_edu.torch.refusals import refusal
from trainium_edu.torch.stand_ins import xla_model as xm
from trainium_edu.xla import metrics

__all__ = [
    "SampleGenerator", "StepTrace", "Trace", "close_summary_writer", "eprint",
    "get_summary_writer", "getenv_as", "load", "now", "print_test_update", "print_training_update",
    "save", "start_server", "start_trace", "stop_trace", "trace", "trace_detached",
    "write_to_summary",
]  # fmt: skip


# -- torch_xla.utils.utils ------------------------------------------------------------------------


class SampleGenerator:
    """Hands out the same data again and again, in place of a loader.

    Parameters
    ----------
    data : object
    sample_count : int
    """

    def __init__(self, data, sample_count: int):
        self._data, self._count, self._given = data, sample_count, 0

    def __iter__(self):
        return SampleGenerator(self._data, self._count)

    def __len__(self) -> int:
        return self._count

    def __next__(self):
        if self._given >= self._count:
            raise StopIteration
        self._given += 1
        return self._data

    next = __next__


def getenv_as(name: str, type: Callable, defval=None):
    """Return a variable of the environment as a type."""
    text = settings.variable(name)
    if text is None:
        return defval
    return bool(int(text)) if type is bool else type(text)


def eprint(*args, **kwargs) -> None:
    """Print to the error stream."""
    print(*args, file=sys.stderr, **kwargs)


# -- torch_xla.test.test_utils --------------------------------------------------------------------


def now(format: str = "%H:%M:%S") -> str:
    """Return the time of day."""
    return datetime.now().strftime(format)


def _update(kind, device, **said) -> None:
    parts = [kind, f"Device={device}/{xm.get_ordinal()}"]
    parts += [f"{name}={text}" for name, text in said.items() if text is not None]
    print("|", *parts, f"Time={now()}", flush=True)


def print_training_update(device, step, loss, rate, global_rate, epoch=None,
                          summary_writer=None) -> None:  # fmt: skip
    """Print loss and rates of a step, as the tutorials do."""
    _update("Training", device, Epoch=epoch, Step=step, Loss=f"{float(loss):.5f}",
            Rate=f"{rate:.2f}", GlobalRate=f"{global_rate:.2f}")  # fmt: skip
    if summary_writer is not None:
        summary_writer.add_scalar("examples/sec", rate)
        summary_writer.add_scalar("average_examples/sec", global_rate)


def print_test_update(device, accuracy, epoch=None, step=None) -> None:
    """Print an accuracy, as the tutorials do."""
    text = None if accuracy is None else f"{float(accuracy):.2f}"
    _update("Test", device, Step=step, Epoch=epoch, Accuracy=text)


def get_summary_writer(logdir):
    """Return what writes events for TensorBoard into a folder; None without a folder."""
    if not logdir:
        return None
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(log_dir=logdir)


def write_to_summary(summary_writer, global_step=None, dict_to_write=None,
                     write_xla_metrics: bool = False) -> None:  # fmt: skip
    """Write numbers by name, and the counters of the metrics, if there is a writer."""
    if summary_writer is None:
        return
    numbers = dict(dict_to_write or {})
    if write_xla_metrics:
        numbers |= {name: metrics.counter_value(name) for name in metrics.counter_names()}
    for name, number in numbers.items():
        summary_writer.add_scalar(name, number, global_step)


def close_summary_writer(summary_writer) -> None:
    """Close a writer, if there is one."""
    if summary_writer is not None:
        summary_writer.close()


# -- torch_xla.utils.serialization ----------------------------------------------------------------


def save(data, path, master_only: bool = True, global_master: bool = False) -> None:
    """Write nested tensors, moved to the CPU, so that :func:`load` reads them."""
    xm.save(data, path, master_only, global_master)


def load(path):
    """Return what :func:`save` wrote.

    Raises
    ------
    ValueError
        For a file of torch_xla itself, whose tensors lie in a folder beside it.
    UnpicklingError
        For a file with more than tensors, numbers and text: reading it could run any program.
    """
    if Path(f"{path}.tensors").is_dir():
        raise ValueError(f"{path} was written by torch_xla, tensors apart; write it with xm.save")
    try:
        return torch.load(path)
    except pickle.UnpicklingError as problem:
        raise refusal("graphs.pickle", pickle.UnpicklingError, path=path) from problem


# -- torch_xla.debug.profiler ---------------------------------------------------------------------


@contextmanager
def Trace(name: str, **kwargs) -> Iterator[None]:
    """Return a context whose name a profiler would show; the report shows the script's lines."""
    yield


@contextmanager
def StepTrace(name: str, **kwargs) -> Iterator[None]:
    """Return a context that is a step: it ends with a cut."""
    try:
        yield
    finally:
        xm.mark_step()


def start_server(port: int, only_on_master: bool = True) -> object:
    """Print that there is no server: a run's timeline is in its report."""
    return _told(f"start_server({port}): nothing listens there")


def trace(*args, **kwargs) -> None:
    """Print that nothing is written: a run's timeline is in its report."""
    _told("trace: nothing is written")


trace_detached = start_trace = stop_trace = trace


def _told(what: str) -> object:
    xm.master_print(f"torch_xla.debug.profiler.{what}; the run's timeline is in the report: run "
                    "--report DIR", fd=sys.stderr, local=True)  # fmt: skip
    return object()
