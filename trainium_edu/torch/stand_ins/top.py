"""``torch_xla`` itself: the names that replaced those of ``xla_model`` from 2.2 on."""

from collections.abc import Callable
from contextlib import contextmanager

import torch

from trainium_edu.torch import core as cores
from trainium_edu.torch.refusals import refusal
from trainium_edu.torch.stand_ins import multiprocessing as xmp
from trainium_edu.torch.stand_ins import xla_model as xm

__all__ = ["__version__", "compile", "device", "device_count", "devices", "launch", "manual_seed",
           "real_devices", "step", "sync"]  # fmt: skip

__version__ = "2.9.0"  #: the newest whose names are here

manual_seed, real_devices = xm.set_rng_state, xm.xla_real_devices


def device(index: int | None = None) -> torch.device:
    """Return this process's NeuronCore."""
    return xm.xla_device(index)


def devices() -> list[torch.device]:
    """Return the device of this process."""
    return [xm.xla_device()]


def device_count() -> int:
    """Return how many NeuronCores this process drives."""
    return 1


def sync(wait: bool = False, reset_scope: bool = True) -> None:
    """Run all that is pending, then the step closures."""
    xm.mark_step(wait, reset_scope)


def step():
    """Return a context with a graph of its own: a cut before it, and one after."""
    return compile()


def compile(f: Callable | None = None, full_graph: bool | None = False, name: str | None = None,
            max_different_graphs: int | None = None, custom_compile_options=None):  # fmt: skip
    """Compile a function, or a ``with`` block, as separate graphs.

    Parameters
    ----------
    f : callable, optional
        Default: a context, which also decorates.
    full_graph : bool
        Raise if what runs inside needs more than one graph.
    name : str, optional
        Changes nothing here.
    max_different_graphs : int, optional
        Raise if it compiles more than that many.
    custom_compile_options : dict, optional
        Refused if not empty: the compiler's options are those of ``NEURON_CC_FLAGS``.
    """
    if custom_compile_options:
        raise NotImplementedError("custom_compile_options are XLA's; set NEURON_CC_FLAGS instead")
    compiled: set[int] = set()

    @contextmanager
    def inside():
        xm.mark_step()
        core = cores.current()
        before, graphs = len(core.steps), len(core.compiler.history)
        try:
            yield
            early = [one for one in core.steps[before:] if one.kind != "step"]
            if full_graph and early:
                raise refusal("graphs.full", where=early[0].line or "a line")
        finally:
            xm.mark_step()
        compiled.update(event.graph for event in core.compiler.history[graphs:])
        if max_different_graphs is not None and len(compiled) > max_different_graphs:
            most = max_different_graphs
            raise refusal("graphs.different", count=len(compiled), most=most)

    return inside() if f is None else inside()(f)


def launch(fn: Callable, args: tuple = (), start_method: str = "spawn",
           debug_single_process: bool = False):  # fmt: skip
    """Call a function on every NeuronCore, or on this rank where ``torchrun`` started it."""
    if xm.xrt_world_size() > 1:
        return fn(xm.get_local_ordinal(), *args)
    return xmp.spawn(fn, args, 1 if debug_single_process else None, start_method=start_method)
