"""Run a script once, for all ranks."""

import atexit
import importlib
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import Pipe
from pathlib import Path
from typing import Any, TextIO
from unittest.mock import patch

import torch
import torch.distributed as dist

import trainium_edu
from trainium_edu.torch import core as cores
from trainium_edu.torch.core import user_line
from trainium_edu.torch.device import register
from trainium_edu.torch.differing import RankAsked
from trainium_edu.torch.ranks import group
from trainium_edu.torch.ranks.apart import Outcome, code_of, variables
from trainium_edu.torch.ranks.shards import sharing
from trainium_edu.torch.ranks.together import TogetherCore
from trainium_edu.training.parallel.collectives import links
from trainium_edu.training.parallel.lockstep import check_place
from trainium_edu.xla.device import world

__all__ = ["run_together", "tried_together"]

_INSIDE = str(Path(trainium_edu.__file__).parent), str(Path(torch.__file__).parent), "<frozen"
_HELD_STEPS = 3  #: lines are held back so long, in case ranks have to run apart
_ASKS = {
    "torch.distributed": ("get_rank", "get_node_local_rank"),
    "torch_xla.core.xla_model": ("get_ordinal", "get_local_ordinal", "is_master_ordinal",
                                 "master_print", "do_on_ordinals"),
    "torch_xla.runtime": ("global_ordinal", "local_ordinal", "process_index"),
}  # fmt: skip


def run_together(main: Callable[[], Any], *, ranks: int, nodes: int = 1,
                 instance: str = "trn1.2xlarge", values: str | int = "all",
                 algorithm: str = "ring", clock: Callable[[], Any] | None = None,
                 master: tuple[str, int] = ("127.0.0.1", 29500),
                 result: Callable[[TogetherCore], Any] | None = None) -> Outcome:  # fmt: skip
    """Run a function once, in the place of all ranks.

    Whole lines that it prints appear once for each rank.

    Parameters
    ----------
    main : callable ()
    ranks, nodes : int
        Ranks per instance, and instances; at least two ranks in all.
    instance, algorithm : str
        Over which links, and in which order, ranks sum.
    values : "all", "none" or int
        As of :class:`~trainium_edu.torch.core.Core`.
    clock : callable, optional
        Makes the clock.
    master : (str, int)
        ``MASTER_ADDR`` and ``MASTER_PORT``.
    result : callable (core), optional
        Called after `main`; what it returns is the only one of ``Outcome.results``.

    Returns
    -------
    Outcome

    Raises
    ------
    RankAsked
        If `main` needs what differs among ranks, and nothing was shown yet: run it apart.

    Examples
    --------
    >>> from trainium_edu.torch.ranks import collectives
    >>> def main():
    ...     x = torch.ones(2).to("xla")
    ...     return collectives.all_reduce("sum", x).cpu().tolist()
    >>> run_together(lambda: None, ranks=2, result=lambda core: main()).results
    [[2.0, 2.0]]
    """
    check_place(ranks, nodes, instance)
    register()
    group.register()
    reached = links(ranks * nodes, instance, algorithm=algorithm)
    if reached is None:
        raise ValueError("one rank has nobody to run together with; run it as one process")
    core = TogetherCore(reached, instance=instance,
                        values=values, clock=clock and clock(), per_instance=ranks)  # fmt: skip
    out, outcome = _Repeated(sys.stdout, core), Outcome(results=[None])
    with ExitStack() as stack:
        stack.callback(cores.make_current, cores.make_current(core))
        stack.enter_context(world(core.world))
        stack.enter_context(patch.dict(os.environ, variables(0, ranks, nodes, master)))
        stack.callback(_leave_group, dist.is_initialized())
        stack.enter_context(sharing(ranks * nodes))
        stack.enter_context(_asks_found())
        stack.enter_context(patch.object(sys, "stdout", out))
        try:
            outcome.code = code_of(main)
            if result is not None and outcome.code == 0:
                outcome.results = [result(core)]
        except RankAsked as asked:
            if not out.shown:
                out.drop()
                raise
            outcome.code, outcome.told = 1, (
                f"{asked}: ranks that run together cannot tell, and lines were printed already; "
                "run it with --ranks apart"
            )  # fmt: skip
        finally:
            out.close_lines()
    return outcome


def tried_together(main: Callable[[], Any], **given) -> Outcome | str:
    """Run a function together in a process of its own, or tell why it has to run apart.

    Once it has gone backward, a process of PyTorch cannot fork others that do; so this one does
    not.

    Parameters
    ----------
    main, **given
        As of :func:`run_together`; what `result` returns is pickled.

    Returns
    -------
    Outcome, or str
        A sentence, if `main` needs what differs among ranks.
    """
    if not hasattr(os, "fork"):
        return _tried(main, given)
    ours, theirs = Pipe(duplex=False)
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            ours.close()
            atexit._clear()
            found = _tried(main, given)
            atexit._run_exitfuncs()
            theirs.send(found)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            with suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)
    theirs.close()
    try:
        return ours.recv()
    except EOFError:
        return Outcome(1, [None], "the process that stands for all ranks ended early")
    finally:
        ours.close()
        os.waitpid(pid, 0)


def _tried(main, given) -> Outcome | str:
    try:
        return run_together(main, **given)
    except RankAsked as asked:
        return str(asked)


def _leave_group(was_there: bool) -> None:
    if dist.is_initialized() and not was_there:
        dist.destroy_process_group()


class _Repeated:
    """Standard output of all ranks: each whole line once per rank.

    Parameters
    ----------
    shown_on : TextIO
    core : TogetherCore
    """

    def __init__(self, shown_on: TextIO, core: TogetherCore):
        self._on, self._core = shown_on, core
        self._text, self.shown = "", False

    def __getattr__(self, name):
        return getattr(self._on, name)

    def write(self, text: str) -> int:
        """Take text; show whole lines, if ranks are known to run together."""
        self._text += text
        if self._core.number >= _HELD_STEPS:
            self._show(self._text.rfind("\n") + 1)
        return len(text)

    def flush(self) -> None:
        """Show what is shown so far."""
        self._on.flush()

    def drop(self) -> None:
        """Forget what was not shown."""
        self._text = ""

    def close_lines(self) -> None:
        """Show what is left."""
        if self._text:
            self._show(len(self._text))

    def _show(self, end: int) -> None:
        lines, self._text = self._text[:end].splitlines(keepends=True), self._text[end:]
        for line in lines:
            self.shown = True
            self._on.write((line if line.endswith("\n") else line + "\n") * self._core.ranks)


@contextmanager
def _asks_found():
    """Let functions that tell a rank raise, unless PyTorch or this package calls them."""
    with ExitStack() as stack:
        for home, names in _ASKS.items():
            try:
                module = importlib.import_module(home)
            except ModuleNotFoundError:  # the stand-ins are not installed
                continue
            for name in names:
                if hasattr(module, name):
                    asks = _asking(getattr(module, name), f"{home}.{name}")
                    stack.enter_context(patch.object(module, name, asks))
        yield


def _asking(function, full: str):
    def asks(*args, **kwargs):
        if not sys._getframe(1).f_code.co_filename.startswith(_INSIDE):
            raise RankAsked(f"{user_line() or 'the script'} asks for {full}")
        return function(*args, **kwargs)

    return asks
