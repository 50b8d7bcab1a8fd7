"""Inference: a model compiled once into one graph, as ``torch_neuronx.trace`` does.

What comes out is a TorchScript module, as AWS's: one operator with the compiled program and the
weights, so that ``torch.jit.save`` and ``torch.jit.load`` take it.  It takes tensors on the CPU and
gives such; a call copies its inputs to the chip, runs the graph and copies the results back, in the
time that this takes.  Values are those of the compiled graph, by ``xla``'s own executor; where a
run keeps shapes only, the results are on ``meta``.

Models are dealt to the NeuronCores in turn as a script's threads first call them, and threads run
beside each other on different ones.  Left out: the time that loading onto one takes.

Source: `aws-torch-trace`.
"""

import builtins
import hashlib
import json
import re
import shlex
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps

import numpy as np
import torch
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from trainium_edu.torch import core as cores
from trainium_edu.torch.clock import Clock
from trainium_edu.torch.core import Core
from trainium_edu.torch.origins import user_line
from trainium_edu.torch.refusals import refusal, sentence
from trainium_edu.torch.tensor import XlaTensor, leaf, on_device
from trainium_edu.torch.translate import translate
from trainium_edu.xla.executable import Executable
from trainium_edu.xla.executor import as_held
from trainium_edu.xla.flags import parse

__all__ = ["DataParallel", "dynamic_batch", "inputs_of", "trace"]

_BUILT, _FIXED, _DYNAMIC = -1, 0, 1  #: what the buffer `batch` of a traced model says
_lock = threading.RLock()  # a script's threads take turns
_executables: dict[str, Executable] = {}  # by their programs' hashes


def trace(func: Callable, example_inputs, *_, input_output_aliases=None, compiler_workdir=None,
          compiler_args: str | Sequence[str] | None = None, partitioner_config=None,
          inline_weights_to_neff: bool = True, cpu_backend: bool = False):  # fmt: skip
    """Record what a model does with example inputs, compile it, and return what runs that.

    Parameters
    ----------
    func : torch.nn.Module or callable
        Stays as it is: weights are copied.
    example_inputs : torch.Tensor or tuple of them
        On the CPU; a traced model takes others of the same shapes and dtypes.
    compiler_args : str or list of str, optional
        Flags of the compiler; default those of ``NEURON_CC_FLAGS``.
    input_output_aliases, partitioner_config : optional
        Refused.
    compiler_workdir, inline_weights_to_neff, cpu_backend : optional
        Taken, without effect: nothing is written, weights stay on the chip, and all of this runs
        on the CPU.

    Returns
    -------
    torch.jit.ScriptModule

    Raises
    ------
    NotImplementedError
        Where an operation is not on the chip, and for what is refused.

    Notes
    -----
    Control flow is fixed by the example; a warning says where `func` asks for a tensor's value.
    """
    if input_output_aliases or partitioner_config is not None:
        raise refusal("traces.state", NotImplementedError)
    core, given = cores.current(), example_inputs
    flags = core.compiler.flags
    if compiler_args is not None:
        text = compiler_args if isinstance(compiler_args, str) else shlex.join(compiler_args)
        try:
            flags = parse(text, target=flags.target)
        except ValueError as problem:
            told = str(problem).replace("NEURON_CC_FLAGS", "compiler_args")
            raise ValueError(told) from None
    given = tuple(given) if isinstance(given, tuple | list) else (given,)
    if any(getattr(one, "is_xla", True) for one in tree_flatten(given)[0]):
        raise refusal("traces.inputs", TypeError)
    recording = _Recording(core, flags)
    before = cores.make_current(recording)
    try:
        built = recording.built(func, given)
    finally:
        cores.make_current(before)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*torch.jit", category=DeprecationWarning)
        made = torch.jit.trace(built, given, check_trace=False, strict=False)
    made.batch.fill_(_FIXED)
    return made


class _Data(dict):
    """The data that come onto a tape, by slot, as they are then."""

    def __setitem__(self, slot, weak):
        super().__setitem__(slot, weak)
        vars(self).setdefault("kept", {})[slot] = weak(), weak().value.clone()


class _Recording(Core):
    """A core that records what a function does once, and runs nothing."""

    def __init__(self, core: Core, flags):
        super().__init__(replace(core.compiler), instance=core.instance)
        self.compiler.flags, self.compiler.extracting = flags, False
        self.tape.leaves = self.data = _Data()

    def run_early(self, cell, kind="value", operation=""):
        """Refuse what would need two graphs; a value that is asked for is the example's."""
        if kind == "fallback":
            raise refusal("traces.fallback", NotImplementedError, operation=operation)
        warnings.warn(sentence("traces.value"), stacklevel=2)

    def built(self, func, example_inputs) -> torch.nn.Module:
        """Return what calls a function's graph."""
        examples, shape = tree_flatten(example_inputs)
        with torch.no_grad():
            inputs = [on_device(one.detach()) for one in examples]
            arguments = tree_unflatten(inputs, shape)
            if isinstance(func, torch.nn.Module):
                state = dict(func.named_parameters()) | dict(func.named_buffers())
                held = {name: on_device(one.detach()) for name, one in state.items()}
                out = torch.func.functional_call(func, held, arguments)
            else:
                out = func(*arguments)
        outs, spec = tree_flatten(out)
        if not all(isinstance(one, XlaTensor) for one in outs):
            raise refusal("traces.results", TypeError, out=out)
        for one in outs:
            if one.cell.tape != self.tape.number:
                leaf(self, self.tape, one.cell)
        live = sorted({(one.cell.slot, -1) for one in outs})
        translation = translate(self.tape.path, live, self.tape.fed, self.recorder, "traced")
        came_in = vars(self.data).get("kept", {})
        slot_of_cell = {id(cell): slot for slot, (cell, _) in came_in.items()}
        slots = [slot_of_cell.get(id(one.cell)) for one in inputs]
        order = [slots.index(one) if one in slots else -1 for one in translation.sources]
        # an input that is given back as it is has a number below 0
        result_of = {slot: ~i for i, slot in enumerate(slots)} | dict(translation.outputs)
        executable = self.compiler.get(translation.graph, self.number)
        program = executable.to_bytes()
        key = hashlib.sha256(program).hexdigest()
        _executables[key] = executable
        about = {"key": key, "order": order,
                 "inputs": [_kind(one) for one in examples],
                 "outputs": [(result_of[one.cell.slot], *_kind(one)) for one in outs]}  # fmt: skip
        weights = [came_in[one][1] if isinstance(one, int) else torch.tensor(one)
                   for one, i in zip(translation.sources, order, strict=True) if i < 0]  # fmt: skip
        return _Built(json.dumps(about), program, weights, spec)


def _kind(tensor) -> tuple[list[int], str]:
    return list(tensor.shape), str(tensor.dtype).removeprefix("torch.")


class _Built(torch.nn.Module):
    """The module that ``torch.jit.trace`` records: one operator, its program and weights."""

    def __init__(self, about: str, program: bytes, weights, spec):
        super().__init__()
        self.about, self.spec, self.count = about, spec, len(weights)
        self.register_buffer("batch", torch.tensor(_BUILT))
        self.register_buffer("program", torch.frombuffer(bytearray(program), dtype=torch.uint8))
        for number, value in enumerate(weights):
            self.register_buffer(f"weight_{number}", value)

    def forward(self, *given):
        """Call the operator."""
        weights = [getattr(self, f"weight_{number}") for number in range(self.count)]
        called = self.about, self.program, weights, tree_flatten(given)[0], self.batch
        return tree_unflatten(torch.ops.trainium_edu.forward(*called), self.spec)


# -- a call ---------------------------------------------------------------------------------------


def _forward(about, program, weights, inputs, batch):
    """Run a traced model on tensors of the CPU."""
    model, mode = json.loads(about), batch.item()
    if mode == _BUILT:
        return [torch.empty(shape, dtype=getattr(torch, name))
                for _, shape, name in model["outputs"]]  # fmt: skip
    size = len(inputs[0]) or 1 if mode == _DYNAMIC else 0
    for number, (value, (shape, name)) in enumerate(zip(inputs, model["inputs"], strict=True)):
        expected = [size, *shape[1:]] if size else shape
        if _kind(value) != (expected, name):
            raise refusal("traces.other_input", ValueError, number=number,
                          found="{1}{0}".format(*_kind(value)),
                          traced=f"{name}{expected}")  # fmt: skip
    with _lock, _on_own_core(program), torch.no_grad():
        if model["key"] not in _executables:
            _executables[model["key"]] = Executable.from_bytes(program.numpy().tobytes())
        if not size:
            return _run(model, weights, inputs)
        most = model["inputs"][0][0][0]
        padded = [torch.cat([x, x.new_zeros(-size % most, *x.shape[1:])]) for x in inputs]
        batches = zip(*(value.split(most) for value in padded), strict=True)
        outputs = [_run(model, weights, batch) for batch in batches]
        return [torch.cat(parts)[:size] for parts in zip(*outputs, strict=True)]


@contextmanager
def _on_own_core(program):
    """Run what is inside, called by one of a script's threads, on its model's NeuronCore."""
    core, thread = cores.current(), threading.current_thread()
    clock = core.clock
    if thread is threading.main_thread() or clock.of_threads.get(thread) is clock:
        clock.here()
    else:
        clocks, most = clock.of_models, _cores_of(core)  # of as many models as there are cores,
        beside = [*clocks.values()][-most] if len(clocks) >= most else Clock()  # then in turn again
        before = clock.of_threads.get(thread, clock)
        core.clock = clock.of_threads[thread] = clocks.setdefault(program.data_ptr(), beside)
        core.clock.join(before)
    try:
        yield
    finally:
        core.clock = clock


def _cores_of(core) -> int:
    """Return how many NeuronCores this process has."""
    return int(core.machine.cores) if core.world.size == 1 else 1


def _run(model, weights, inputs):
    """Run the graph once, in its time."""
    core, executable, values = cores.current(), _executables[model["key"]], None
    core.follow()
    for one in inputs:
        core.transfer(one, "to")
    core.ran(executable, executable.graph, "step", user_line())
    if core.computes:
        stored, parameters = iter(weights), executable.final.parameters
        feeds = [inputs[i] if i >= 0 else next(stored) for i in model["order"]]
        held = [_held(one, node.type) for one, node in zip(feeds, parameters, strict=True)]
        how = replace(core.recorder.setting, step=core.number, values=True)
        values = executable.plan.run(held, how)
    core.number, core.taken = core.number + 1, core.taken + 1
    results = []
    for number, shape, name in model["outputs"]:
        place = "meta" if values is None else "cpu"
        out = torch.empty(shape, dtype=getattr(torch, name), device=place)
        if values is not None:
            out.copy_(inputs[~number] if number < 0 else torch.tensor(values[number]))
        core.transfer(out, "from")
        results.append(out)
    return results


def _held(tensor, type) -> np.ndarray:
    return as_held((tensor.float() if tensor.is_floating_point() else tensor).numpy(), type)


_library = torch.library.Library("trainium_edu", "FRAGMENT")
_library.define("forward(str about, Tensor program, Tensor[] weights, Tensor[] inputs, "
                "Tensor batch) -> Tensor[]")  # fmt: skip
_library.impl("forward", _forward, "CompositeImplicitAutograd")
_call = torch.jit.ScriptModule.__call__


@wraps(_call)
def _call_and_tell(self, *args, **kwargs):
    """Call a script module; tell what our operator refuses without the interpreter's pages."""
    try:
        return _call(self, *args, **kwargs)
    except RuntimeError as problem:
        told = re.search(r"^RuntimeError: (\w+): (.*)$", str(problem), re.MULTILINE)
        if told is None or __file__ not in str(problem):
            raise
        kind, sentence = told.groups()
    raise getattr(builtins, kind, RuntimeError)(sentence)


torch.jit.ScriptModule.__call__ = _call_and_tell


# -- batches of other sizes, and several NeuronCores -----------------------------------------------


def inputs_of(model) -> list[tuple[list[int], str]]:
    """Return shape and dtype of what a traced model takes; refuse any other model."""
    node = getattr(model, "graph", None) and model.graph.findNode("trainium_edu::forward")
    if not node:
        raise TypeError(
            f"{type(model).__name__} is not a traced model; torch_neuronx.trace makes one"
        )
    return json.loads(node.inputsAt(0).toIValue())["inputs"]


def dynamic_batch(neuron_script: torch.jit.ScriptModule) -> torch.jit.ScriptModule:
    """Make a traced model take any number of examples along dimension 0, in place.

    They are cut into batches of the size that it was traced with, the last one filled with zeros,
    and run one after the other.

    Raises
    ------
    ValueError
        If it was traced with inputs of different sizes along dimension 0.
    """
    if len({tuple(shape[:1]) for shape, _ in inputs_of(neuron_script)} - {()}) != 1:
        raise refusal("traces.batches", ValueError)
    neuron_script.batch.fill_(_DYNAMIC)
    return neuron_script


class DataParallel(torch.nn.Module):
    """Run parts of a batch on several NeuronCores beside each other.

    Parameters
    ----------
    model : torch.jit.ScriptModule
        Of :func:`trace`.
    device_ids : list of int or "nc:#", optional
        Default all of the instance; of a rank's, its own.
    dim : int
        Along which inputs are split.
    set_dynamic_batching : bool
        Whether parts may have other sizes than the model was traced with; only if `dim` is 0.

    Attributes
    ----------
    split_size : int or None
        Examples in a part; None: as many parts as NeuronCores.
    num_workers : int
        Taken, without effect: each NeuronCore has what feeds it.
    """

    def __init__(self, model, device_ids: Sequence | None = None, dim: int = 0,
                 set_dynamic_batching: bool = True):  # fmt: skip
        super().__init__()
        core = cores.current()
        most = _cores_of(core)
        wanted = list(range(most)) if device_ids is None else list(device_ids)
        numbers = [str(one).removeprefix("nc:") for one in wanted]
        if not numbers or not {*numbers} <= {*map(str, range(most))}:
            raise ValueError(f"device_ids is {device_ids}; take NeuronCores of 0 to {most - 1}")
        self.model, self.device_ids, self.dim = model, [*map(int, numbers)], dim
        self.split_size, self.num_workers = None, 2 * len(numbers)
        if dim == 0 and set_dynamic_batching:
            dynamic_batch(model)

    def disable_dynamic_batching(self) -> None:
        """Require of parts the size that the model was traced with."""
        self.model.batch.fill_(_FIXED)

    def forward(self, *inputs):
        """Return what the model gives for all parts, one after the other along `dim`."""
        with _lock:
            core, found = cores.current(), []
            before, clocks = core.clock, [Clock() for _ in self.device_ids]
            shown = before.here()
            for one in clocks:
                one.host_ns, one.of_threads[threading.current_thread()] = shown.wait(), one
            size = self.split_size or max(1, inputs[0].shape[self.dim] // len(clocks))
            try:
                for parts in zip(*(one.split(size, self.dim) for one in inputs), strict=True):
                    core.clock = clocks[len(found) % len(clocks)]
                    found.append(self.model(*parts))
            finally:
                core.clock = before
            shown.wait_for(max(one.host_ns for one in clocks))
        return tree_map(lambda *some: torch.cat(some, self.dim), *found)
