"""Records of runs for tests, made with the lessons' own front: what a bridge would hand over."""

import warnings

from trainium_edu.training.data import digits
from trainium_edu.training.nn import MLP, cross_entropy
from trainium_edu.training.optim import SGD
from trainium_edu.training.run_record import RunRecord, StepRecord
from trainium_edu.xla.device import Device
from trainium_edu.xla.tensor import EarlyRun, as_tensor

#: Where a script would mark a step, ask for a value, and call what no row knows.
LINES = {"step": "train.py:31", "value": "train.py:27", "fallback": "/Users/me/train.py:24"}


class Recorder:
    """Notes what a device is given, in time: one execution after the other."""

    def __init__(self, device):
        self.device, self.steps, self.waits, self.now_ns, self.losses = device, [], [], 0.0, []
        self._run, device.compiler.run = device.compiler.run, self.run
        self._evaluate, device.evaluate = device.evaluate, self.evaluate
        self._kind = "step"

    def evaluate(self, tensor):
        self._kind = "value"
        try:
            self._evaluate(tensor)
        finally:
            self._kind = "step"

    def run(self, executable, feeds, setting):
        event = self.device.compiler.history[-1]
        self.add(self._kind, executable.makespan_ns, executable, event.why)
        return self._run(executable, feeds, setting)

    def add(self, kind, ns, executable=None, why="", operation=""):
        begin, self.now_ns = self.now_ns, self.now_ns + ns
        self.steps.append(StepRecord(self.device.step, begin, self.now_ns, kind, executable,
                                     LINES[kind], why, operation))  # fmt: skip

    def wait(self, ns):
        self.waits.append((self.now_ns, self.now_ns + ns, "loader"))
        self.now_ns += ns

    def record(self, script="train.py", **more):
        return RunRecord(script, steps=tuple(self.steps), waits=tuple(self.waits),
                         losses=tuple(self.losses), history=tuple(self.device.compiler.history),
                         **more)  # fmt: skip


def digits_run(steps=8, *, looks=(), odd=(), falls=(), wait_ns=0.0, **more):
    """Train on digits; look at the loss, take an odd batch, or fall back in some of the steps."""
    device, data = Device(), digits()
    recorder = Recorder(device)
    model = MLP(64, 32, 10).to(device)
    optimizer = SGD(model.parameters(), lr=0.1)
    optimizer.init_states()
    for step in range(steps):
        if wait_ns:
            recorder.wait(wait_ns)
        batch = slice(0, 17 if step in odd else 16)
        images = as_tensor(data.train_images[batch], device)
        labels = as_tensor(data.train_labels[batch], device)
        optimizer.zero_grad()
        loss = cross_entropy(model(images), labels)
        if step in falls:
            recorder.add("fallback", 40_000.0, operation="aten::nonzero")
        if step in looks:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EarlyRun)
                recorder.losses.append(loss.item())
        loss.backward()
        optimizer.step()
        device.mark_step()
    return recorder.record(samples=16, **more)


def ranks_run(ranks=4, steps=3):
    """Train on several ranks together."""
    from trainium_edu.training import Job, Trainer

    trainer = Trainer(Job(ranks=ranks, batch=8))
    recorder = Recorder(trainer.device)
    for _ in range(steps):
        trainer.step()
    return recorder.record(
        instance="trn1.32xlarge", ranks=ranks, links=trainer.links, samples=8 * ranks
    )
