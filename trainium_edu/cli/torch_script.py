"""Scripts that import PyTorch: who they are, the options for them, and how they are run."""

import argparse
import importlib.util
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from trainium_edu.cli.neuron_tools import tools_on_path
from trainium_edu.cli.refusals import sentence
from trainium_edu.torch.imports import imports_of

__all__ = ["imported", "is_for_torch", "nki_here", "run", "values"]

#: Packages whose import means that a script's tensors are PyTorch's.
_TORCH = {"torch", "torch_xla", "torch_neuronx", "timm", "transformers", "accelerate", "lightning"}
_FACES = {"torch_xla", "torch_neuronx"}


def values(text: str) -> str | int:
    """Return when values are computed: all, none, or in how many steps."""
    if text in ("all", "none"):
        return text
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is neither all nor none nor a number of steps")
    return int(text)


def is_for_torch(script: Path) -> bool:
    """Return whether a script's tensors are PyTorch's, and not the lessons' own.

    One that takes ``trainium_edu.xla`` and PyTorch besides is the lessons' own, unless it imports
    ``torch_xla`` or ``torch_neuronx``.
    """
    names = imported(script)
    return bool(names & _FACES or (names & _TORCH and "trainium_edu" not in names))


def imported(script: Path) -> set[str]:
    """Return the packages that a script imports, or the modules beside it that it imports."""
    return {name.partition(".")[0] for name, _ in imports_of(script)}


@contextmanager
def nki_here(platform: str | None, replace: bool = False) -> Iterator[bool]:
    """Return a context in which ``import nki`` means this package, for a chip; enter with whether.

    What a script starts in it finds AWS's tools on its path.

    Parameters
    ----------
    platform : {"trn1", "inf2", "trn2"}, optional
        Default: what the environment says.
    replace : bool
        Also where AWS's own package is installed, which is left alone otherwise.
    """
    import trainium_edu.nki as nki
    from trainium_edu.nki import kernel

    is_ours = nki.activate(replace=replace)
    before = kernel.chip_for_all(platform)
    try:
        with tools_on_path():
            yield is_ours
    finally:
        kernel.chip_for_all(before)


def run(options, *, ranks: int = 1, nodes: int = 1, platform: str | None = None, **more) -> int:
    """Run a PyTorch script as the options say, and write the report if one is wanted.

    Parameters
    ----------
    options : argparse.Namespace
    ranks, nodes : int
        Ranks per instance, and instances.
    platform : {"trn1", "inf2"}, optional
        The chip of its kernels; default that of the instance.
    **more
        Of ``trainium_edu.torch.run_script``.

    Returns
    -------
    int
        The script's exit code.
    """
    if importlib.util.find_spec("torch") is None:
        print(sentence("torch_script.missing", script=options.script), file=sys.stderr)
        return 1
    from trainium_edu.torch import last_run, run_script
    from trainium_edu.training.run_numbers import summary_lines

    before = last_run(or_none=True)
    platform = platform or options.instance[:4]
    with nki_here(platform, more.get("replace", False)):
        how = {"instance": options.instance, "values": options.values, "clock": options.clock}
        code = run_script(
            options.script, options.arguments, ranks=ranks, nodes=nodes, **how, **more
        )
    record = last_run(or_none=True)
    if record is None or record is before:  # it did not begin
        return code
    record = replace(record, command=shlex.join([options.script, *options.arguments]))
    print("\n".join(summary_lines(record)), file=sys.stderr)
    if options.compare:
        from trainium_edu.training.instances import comparison_lines
        from trainium_edu.training.run_numbers import main_graph

        main = main_graph(record)
        lines = ["no step was marked, so there is nothing to compare"]
        if main is not None:
            lines = comparison_lines(main.graph, flags=main.flags)
        print("\n".join(lines), file=sys.stderr)
    if options.report:
        from trainium_edu.cli.report import write_report

        print(f"report: {write_report(options.report, record)}", file=sys.stderr)
    return code
