"""The training monitor: a run's curves while it runs, one step in time, the links, the replicas."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict

import numpy as np
import traitlets

from trainium_edu.specs.arguments import whole
from trainium_edu.training.parallel.agreement import odd_ranks
from trainium_edu.training.parallel.step import step_report
from trainium_edu.viz.step_frames import LINKS, step_frames
from trainium_edu.widgets.page_widget import PageWidget

__all__ = ["TrainingMonitor", "training_monitor"]

EVERY_S = 0.15  # between two messages to the page; steps may be faster
_MOST_EARLIER, _MOST_POINTS = 5, 300  # runs whose curves stay, and points of each
_WORDS: dict[str, Callable] = {
    "task": str,
    "ranks": "{} ranks".format,
    "lr": "rate {:g}".format,
    "dtype": {"float32": "FP32", "bfloat16": "BF16"}.get,
    "rounding": {"nearest": "to nearest", "stochastic": "with dice"}.get,
}
_MOST_STEPS = 100_000


def training_monitor(run=None, *, steps: int = 200, ranks: int = 32, passes: int = 0):
    """Watch training: hand it to ``fit`` as `on_step`, or give it a run that is over.

    A monitor that watches one run after another keeps the curves of those before.

    Parameters
    ----------
    run : training.Run, optional
        Shown at once.
    steps : int
        Planned, where there is no run yet: how far the curves' axis goes.
    ranks : int
        Until the run says how many.
    passes : int
        Over the data, planned for each run, in the place of `steps`: the curves' axis counts them,
        so that runs with batches of different sizes lie above one another.

    Returns
    -------
    TrainingMonitor

    Raises
    ------
    TypeError, ValueError
        If `steps`, `ranks` or `passes` is not a possible number.

    Examples
    --------
    >>> training_monitor(steps=50)
    TrainingMonitor(0 of 50 steps, 32 ranks)
    """
    monitor = TrainingMonitor(steps, ranks, passes)
    if run is not None:
        monitor.show(run)
    return monitor


def _names(plain) -> list[str]:
    """Name each job, with its task, by what tells it from the others."""
    differ = [key for key in plain[0] if any(job[key] != plain[0][key] for job in plain)]
    told = [key for key in _WORDS if key in differ] or differ
    words = {key: _WORDS.get(key, f"{key} {{}}".format) for key in told}
    return [", ".join(words[key](job[key]) for key in told) for job in plain]


class TrainingMonitor(PageWidget, page="training_monitor"):
    """State: what the run has given so far, and one step's frames; see :func:`training_monitor`."""

    setting = traitlets.Dict().tag(sync=True)  # steps, ranks, name, passes, tested, perhaps a bound
    earlier = traitlets.List().tag(sync=True)  # runs before: name, steps, loss, points
    loss = traitlets.Bytes().tag(sync=True)  # float32[steps]
    points = traitlets.Bytes().tag(sync=True)  # float32[points, 2]: steps done, accuracy
    differ = traitlets.Bytes().tag(sync=True)  # bits[steps, ranks]: ranks unlike the others
    film = traitlets.Bytes().tag(sync=True)  # see viz.step_frames
    overlap = traitlets.Bool(True).tag(sync=True)  # which timeline is shown; the page sets it too

    def __init__(self, steps, ranks, passes=0):
        steps = whole(steps, "steps", 1, _MOST_STEPS)
        ranks = whole(ranks, "ranks", 1, 2**16)
        passes = whole(passes, "passes", 0, _MOST_STEPS)
        self.run = None  #: what is watched
        self._jobs: list = []  # of the runs before, and of this one
        self._clear()
        super().__init__(setting={"steps": steps, "ranks": ranks, "passes": passes})

    def _clear(self):
        self._loss: list[float] = []
        self._agree: list[bool] = []
        self._differ: list[bytes] = []  # of the steps that were sent
        self._sent = -np.inf

    @property
    def ranks(self) -> int:
        """Number of replicas."""
        return self.setting["ranks"]

    def begin(self, run):
        """Watch a run from now on; ``fit`` calls this."""
        earlier = [*self.earlier, self._kept()][-_MOST_EARLIER:] if self._loss else []
        job = {**asdict(run.job), "task": run.trainer.task.name}
        self._jobs = [*self._jobs[len(self._jobs) - len(earlier) :], job]
        *before, name = _names(self._jobs)
        self.run = run
        self._clear()
        tested = run.is_tested or any(one["points"] for one in earlier)
        new = {"ranks": run.job.ranks, "name": name, "tested": tested}
        if passes := self.setting["passes"]:
            new["steps"] = passes * -(-len(run.trainer.labels) // run.job.global_batch)
        with self.hold_sync():
            self.earlier = [{**r, "name": n} for r, n in zip(earlier, before, strict=True)]
            self.setting = {**self.setting, **new}
            self.film = b""
            self._tell()

    def _kept(self) -> dict:
        """Return the run that was watched, as thin as its curve allows."""
        stride = -(-len(self._loss) // _MOST_POINTS)
        finite = [float(x) if np.isfinite(x) else None for x in self._loss]
        loss = [[i + 1, x] for i, x in enumerate(finite)][::stride]
        return {"steps": self.setting["steps"], "loss": loss, "points": self.run.accuracy}

    def show(self, run):
        """Show a run that is over."""
        self.begin(run)
        for step in run.steps:
            self._take(step)
        self.setting = {**self.setting, "steps": max(len(run.steps), 1)}
        self._tell()
        self._show_step()

    def __call__(self, step):
        """Take one step; ``fit`` calls this as `on_step`."""
        self._take(step)
        is_last = len(self._loss) >= self.setting["steps"]
        if is_last or time.monotonic() - self._sent > EVERY_S:
            self._tell()
        if self.run is not None and not self.film:
            self._show_step()

    def end(self):
        """Send what is left; ``fit`` calls this, however the run ended."""
        self._tell()

    def _show_step(self):
        """Show the newest step of the run in time, if it took one."""
        trainer = self.run.trainer
        program, links = trainer.device.executable, trainer.links
        if program is None:
            return
        samples = trainer.job.global_batch
        reports = [step_report(program, links, samples, overlap=how) for how in (True, False)]
        on, off = (report.spans.spans for report in reports)
        busy = [report.engines for report in reports]
        sums = [one.section.nodes[0] for one in program.tracks() if one.track == LINKS]
        bills = (links.account(node) for node in sums)  # asked for only where they are drawn
        self.film = step_frames((on, off), bills, links and links.topology, shares=busy)

    def _take(self, step):
        self._loss.append(step.loss)
        self._agree.append(step.agree)

    def _tell(self):
        """Send what there is to the page."""
        new = self._agree[len(self._differ) :]
        if new:
            odd = self._bits(()) if all(new) else self._bits(self._odd())
            self._differ += [self._bits(()) if agree else odd for agree in new]
        points = self.run.accuracy if self.run else []
        with self.hold_sync():
            self.loss = np.array(self._loss, np.float32).tobytes()
            self.points = np.array(points, np.float32).tobytes()
            self.differ = b"".join(self._differ)
        self._sent = time.monotonic()

    def _odd(self) -> Sequence[int]:
        """Return the ranks that differ from most others now."""
        if self.run is None:
            return range(self.ranks)
        return odd_ranks(weight.numpy() for weight in self.run.trainer.model.parameters())

    def _bits(self, ranks) -> bytes:
        """Return a bit per rank, set for those given."""
        bits = np.zeros(self.ranks, bool)
        bits[list(ranks)] = True
        return np.packbits(bits).tobytes()

    def __repr__(self):
        split = self._agree.index(False) + 1 if False in self._agree else 0
        agree = f", not all equal from step {split} on" if split else ", all equal"
        told = agree if self._loss and self.ranks > 1 else ""
        return (
            f"TrainingMonitor({len(self._loss)} of {self.setting['steps']} steps, "
            f"{self.ranks} ranks{told})"
        )
