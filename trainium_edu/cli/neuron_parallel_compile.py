"""``python -m trainium_edu neuron_parallel_compile …``: AWS's tool of that name."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from trainium_edu.cli.refusals import sentence
from trainium_edu.cli.torch_script import is_for_torch

__all__ = ["COMMANDS", "command", "lowered"]

#: AWS's commands, the first one being what happens without ``--command``
COMMANDS = ("collect-and-compile", "collect", "compile", "clean", "clear-locks", "analyze")
_MOST = 125  #: the largest exit code that says how many graphs failed; shells use those above


def command(options, compile_bytes=None) -> int:
    """Run one of the tool's commands on the cache that the switches name.

    Parameters
    ----------
    options : argparse.Namespace
        Its ``command`` is one of :data:`COMMANDS`.
    compile_bytes : callable (graph as JSON, flags as text) -> bytes, optional
        Default: the compiler.

    Returns
    -------
    int
        0 if all went well, else how many graphs failed (at most 125); 1 if the trial run failed,
        2 if there is none.

    Raises
    ------
    ValueError
        For switches that make no sense, and a cache that cannot be used.
    """
    from trainium_edu import files, settings
    from trainium_edu.xla import flags
    from trainium_edu.xla.cache import open_cache, print_lines
    from trainium_edu.xla.parallel_compile import analyze, compile_collected, counts

    lazy, switches = settings.lazy(), settings.parallel_compile()
    given = flags.parse(lazy.compiler_flags)
    log, again = print_lines(given.log_level), given.retry_failed_compilation
    cache = open_cache(given.cache_dir, lazy.cache_url, log=log, retry_failed=again)
    if cache is None:
        _log("There is no cache to fill: name another folder in NEURON_COMPILE_CACHE_URL", "ERROR")
        return 1
    if given.no_cache:
        _log("--no_cache will be ignored", "WARNING")
    asked = options.command
    if asked == "clean":
        _log(f"Cleanup done: {cache.clean()} entries in {cache.root} deleted.")
        return 0
    if asked == "clear-locks":
        cleared, held = cache.clear_locks()
        _log(f"Cleanup locks done: {cleared} deleted, {held} of running processes left alone.")
        return 0
    if asked != "compile":
        program = [options.program, *options.arguments] if options.program else []
        if code := _collect(program, switches.ignore_script_error):
            return code
    _log(f"Compile cache path: {cache.root}", facility="NEURON_CACHE")
    _log(counts(cache), facility="NEURON_CACHE")
    if asked == "collect":
        return 0
    if asked == "analyze":
        path = Path(options.analyze_output, "result.json")
        text = json.dumps(analyze(cache, lowered()), indent=4)
        files.write(path, f"{text}\n", makes_folder=True)
        _log(f"Model analysis completed. Report - {path}", facility="ANALYZE")
        return 0
    if compile_bytes is None:  # it and NumPy are loaded only where something is compiled
        from trainium_edu.xla.compiler import compile_bytes
    how = {"workers": options.num_parallel, "retries": switches.retries, "times": switches.times}
    report = compile_collected(cache, compile_bytes, **how)
    for one in report.compiled:
        if not one.status:
            _log(f"{one.graph} did not compile: {one.reason}", "ERROR")
    _log(counts(cache), facility="NEURON_CACHE")
    _log(str(report))
    _log(f"Total graphs: {len(report.compiled)}")
    _log(f"Total successful compilations: {len(report.compiled) - report.failed}")
    _log(f"Total failed compilations: {report.failed}")
    return min(report.failed, _MOST)


def _log(text, level="INFO", facility="NEURON_PARALLEL_COMPILE"):
    """Say a line as AWS's tool does."""
    print(f"{level} ||{facility}||: {text}", flush=True)


def lowered() -> list[str]:
    """Return the operations that become instructions."""
    from trainium_edu.xla.operations import OPERATIONS

    return [name for name, row in OPERATIONS.items() if row.lower or row.tile]


def _collect(program, ignore_error) -> int:
    """Run the trial run, which writes its graphs into the cache; return an exit code."""
    if not program:
        _log("Name what starts a trial run of 10 to 15 steps: python train.py --steps 10", "ERROR")
        return 2
    _log(sentence("neuron_parallel_compile.trial"))
    _log(f"Running cmd: {program}")
    try:
        only_graphs = {**os.environ, "NEURON_EXTRACT_GRAPHS_ONLY": "1"}
        failed = subprocess.run(_emulated(program), env=only_graphs).returncode
    except OSError as problem:
        _log(f"{program[0]} cannot be started: {problem.strerror}", "ERROR")
        return 1
    if failed:
        _log("There was an error in the training script.", "ERROR")
        if not ignore_error:
            return 1
        _log("NEURON_IGNORE_TRAINING_SCRIPT_ERROR_AND_COMPILE is set, continuing to compile")
    return 0


def _emulated(program: list[str]) -> list[str]:
    """Return the command that starts a PyTorch script here; another command as it is."""
    (name, *rest), ours = program, [sys.executable, "-m", "trainium_edu"]
    if Path(name).name == "torchrun":
        return [*ours, "torchrun", *rest]
    if not re.fullmatch(r"python[\d.]*(\.exe)?", Path(name).name):
        return program
    while rest and rest[0] in ("-u", "-O", "-B"):
        del rest[0]
    if rest[:2] in (["-m", "torch.distributed.run"], ["-m", "torch.distributed.launch"]):
        return [*ours, "torchrun", *rest[2:]]
    is_ours = rest and Path(rest[0]).is_file() and is_for_torch(Path(rest[0]))
    return [*ours, "run", *rest] if is_ours else program
