"""Set up the emulated device in this process, and run a script on it.

``activate`` is for a notebook, ``run_script`` for the command line; ``last_run`` tells what came
of either.
"""

import atexit
import dataclasses
import importlib.util
import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

from trainium_edu import live
from trainium_edu.neuroncore.advice.evidence import several
from trainium_edu.specs.arguments import choice, whole
from trainium_edu.specs.instances import with_cores
from trainium_edu.specs.signatures import checked
from trainium_edu.torch import core as cores
from trainium_edu.torch import loading, stand_ins
from trainium_edu.torch.clock import Clock, emulated
from trainium_edu.torch.core import Core
from trainium_edu.torch.device import register
from trainium_edu.torch.elsewhere import elsewhere_refused
from trainium_edu.torch.many import MASTER, Place, on_ranks, record_of
from trainium_edu.torch.ranks import group
from trainium_edu.torch.ranks.processes import variables
from trainium_edu.torch.script import run_main
from trainium_edu.training.parallel.collectives import compiler_for
from trainium_edu.training.parallel.lockstep import check_place
from trainium_edu.training.run_record import RunRecord
from trainium_edu.xla import graph, metrics

__all__ = ["activate", "deactivate", "last_run", "run_script"]

_here = ExitStack()  # what deactivate undoes, at the latest when Python ends
atexit.register(_here.close)
_last: RunRecord | None = None  # of a script that has ended


# -- a process with the device --------------------------------------------------------------------


@checked
def activate(instance: str = "trn1.2xlarge", *, values: str | int = "all", clock: str = "wall",
             replace: bool = False) -> bool:  # fmt: skip
    """Make ``xla`` the emulated device of this process, and ``torch_xla`` the stand-ins.

    Parameters
    ----------
    instance : str
        A Trn1 or Inf2 size.
    values : "all", "none" or int
        Whether values are computed: always, never, or in the first steps.
    clock : {"wall", "device"}
        Whether ``time.perf_counter`` and the like show the emulated time; in notebooks they tell
        the real one unless asked.
    replace : bool
        Also where the real ``torch_xla`` or ``torch_neuronx`` is installed or imported.

    Returns
    -------
    bool
        Whether it does now; False on a machine with the real ones, which is left alone.

    Raises
    ------
    ValueError
        For an instance or a choice that there is not.

    Examples
    --------
    >>> activate()
    True
    >>> import torch, torch_xla.core.xla_model as xm
    >>> (torch.ones(2, device=xm.xla_device()) + 1).tolist()
    [2.0, 2.0]
    >>> deactivate()
    """
    choice(instance, "instance", with_cores())
    choice(clock, "clock", ("wall", "device"))
    if values not in ("all", "none"):
        whole(values, "values", 0)
    deactivate()
    if not stand_ins.install(replace=replace):
        return False
    register()
    group.register()
    metrics.clear_all()
    graph.forget(everything=True)
    shown = Clock()
    cores.make_current(Core(compiler_for(instance, None), instance=instance, values=values,
                            clock=shown))  # fmt: skip
    _here.callback(cores.make_current, None)
    _here.callback(stand_ins.remove)
    _here.callback(_end_live)
    _here.enter_context(elsewhere_refused())
    _here.enter_context(loading.timed())
    if clock == "device":
        _here.enter_context(emulated(shown))
    return True


def _end_live() -> None:
    """Publish that the run has ended."""
    run = live.current()
    if run is not None:
        run.close()


def deactivate() -> None:
    """Undo :func:`activate`; tensors on the device cannot be used any more."""
    _here.close()


def last_run(*, or_none: bool = False) -> RunRecord | None:
    """Return what the current device did, or the last script.

    Parameters
    ----------
    or_none : bool
        Return None if nothing ran.

    Raises
    ------
    RuntimeError
        If nothing ran, without `or_none`.
    """
    if cores.is_there():
        return record_of(cores.current())
    if _last is None and not or_none:
        raise RuntimeError("nothing ran yet; call trainium_edu.torch.activate() or run a script")
    return _last


# -- a script -------------------------------------------------------------------------------------


@checked
def run_script(script: str | Path, arguments: Sequence[str] = (), *, ranks: int = 1,
               nodes: int = 1, instance: str = "trn1.2xlarge", values: str | int = "all",
               clock: str = "device", algorithm: str = "ring",
               master: tuple[str, int] | None = None, replace: bool = False,
               module: bool = False) -> int:  # fmt: skip
    """Run a PyTorch script as ``__main__`` on the emulated device.

    Parameters
    ----------
    script : str or Path
        A file, or with `module` the name of a module.
    arguments : sequence of str
        What the script finds in ``sys.argv[1:]``.
    ranks, nodes : int
        Ranks per instance, and instances.
    instance, values, replace
        As in :func:`activate`.
    clock : {"device", "wall"}
        Which time the script sees.
    algorithm : str
        In which order ranks sum.
    master : (str, int), optional
        ``MASTER_ADDR`` and ``MASTER_PORT``, as ``torchrun`` sets them; None for one rank that is
        started without it.
    module : bool

    Returns
    -------
    int
        0; what the script exits with; 1 after an error, whose traceback is printed; 2 if there is
        no such script.
    """
    global _last
    if not module and not Path(script).is_file():
        print(f"{script}: there is no such script", file=sys.stderr)
        return 2
    choice(clock, "clock", ("wall", "device"))
    check_place(whole(ranks, "ranks", 1), whole(nodes, "nodes", 1), instance)
    if not activate(instance, values=values, replace=replace):
        print("AWS's own torch-neuronx (or torch_xla) is installed here and left alone: run the "
              "script with it, or add --replace", file=sys.stderr)  # fmt: skip
        return 1
    began, size = time.perf_counter(), ranks * nodes

    def main() -> int:
        core = cores.current()
        with emulated(core.clock if clock == "device" else None):
            code, core.problem = run_main(str(script), arguments, module=module)
        return code

    print(first_line(instance, size, values, clock), file=sys.stderr)
    try:
        if size == 1:
            with patch.dict(os.environ, variables(0, 1, 1, master) if master else {}):
                code = main()
            _last = cores.current().spawned or record_of(cores.current(), str(script))
        else:
            place = Place(ranks, nodes, instance, values, algorithm, master or MASTER)
            code, _last = on_ranks(main, place, _file_of(script, module))
        problem = cores.current().problem or _last.problem
    finally:
        deactivate()
    _last = dataclasses.replace(_last, script=str(script), nodes=nodes, problem=problem,
                                wall_s=time.perf_counter() - began)  # fmt: skip
    return code


def _file_of(script, module: bool) -> str:
    """Return the file of a script that may be named as a module."""
    found = importlib.util.find_spec(str(script)) if module else None
    return str(script) if found is None or found.origin is None else found.origin


def first_line(instance: str, ranks: int, values: str | int, clock: str) -> str:
    """Return the line that says what the numbers of a run are."""
    shows = {"device": "clocks show the chip's time, modelled; Python costs nothing",
             "wall": "clocks show this computer's time"}  # fmt: skip
    kept = {"all": "", "none": "; shapes only, no values"}.get(
        str(values), f"; values in the first {values} steps"
    )
    return f"trainium_edu: emulated, {several(ranks, 'rank')} of {instance}{kept}; {shows[clock]}"
