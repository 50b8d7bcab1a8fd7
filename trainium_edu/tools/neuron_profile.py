"""A look-alike of ``neuron-profile`` (``neuron-explorer``): what a run did, under AWS's names.

``capture`` times the program of a ``.neff`` and leaves a ``.ntff``; ``read`` takes both, and
``summary`` and ``events`` say what is in them.  The files are ours (``neuroncore.run_io``).  Every
number is derived from the run: nothing is measured, and no spread is invented.

How the real tool counts is documented in part, and the rest follows from published profiles
(`accelopt-nkibench`), which these rules reproduce:

- ``_percent`` is a fraction of ``total_time``, which has a kernel's start and stop in it: 18 to 19
  us, of which the middle is taken.
- Bytes of SBUF and PSUM: a transfer counts in full; an instruction counts what it reads and writes
  *of one partition*: its data (not operands with one value per partition), moving and stationary
  matrix.  tensor_tensor, and instructions that read nothing, are not counted.  That the rest of the
  instructions count so (scans, selects) is assumed.  ``CoreTimeline.bytes`` has all bytes.
- The Tensor Engine does an FP32 product twice: its FLOPs, operands and results count twice.
- MFU leaves out transposes and is otherwise as HFU (AWS's ``mfu_inst_estimated_percent``: a kernel
  has no graph to count multiply-adds in), so FP32 counts twice in it too.

Left out: keys of what is not modelled (DMA descriptors by origin, throttling, collectives, events
and semaphores).  Nothing spills here (``timing.placement``), so the two keys of spills are 0.

References: `aws-neuron-profile`, `aws-profile-schema`, `aws-neuron-explorer`, `accelopt-nkibench`.
"""

from collections.abc import Sequence
from math import prod
from os import PathLike
from pathlib import Path

import numpy as np

import trainium_edu
from trainium_edu.files import tables
from trainium_edu.neuroncore import run_io
from trainium_edu.neuroncore.recording.dtypes import DTYPES
from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.run import Run
from trainium_edu.neuroncore.timing.expansion import ENGINES
from trainium_edu.neuroncore.timing.timeline import union_ns
from trainium_edu.nki.published import device_ns
from trainium_edu.nki.remedies import WORDS
from trainium_edu.specs import INSTANCES, TOOLS
from trainium_edu.specs.signatures import checked

__all__ = ["TERMS", "WORDS_OF", "as_text", "capture", "events", "read", "summary"]

_ON_CORE = ENGINES[:-1]  # all but DMA
_S = 1e-9
#: What the tool says: words of keys, and flags that it passes over or refuses.
WORDS_OF = tables(__file__)
#: Every key of a summary, and what it is.
TERMS = WORDS_OF["terms"] | {
    f"{engine.value}_engine_{key}": said.format(engine.title)
    for engine in _ON_CORE
    for key, said in WORDS_OF["engine"].items()
}


# -- files ----------------------------------------------------------------------------------------


@checked
def capture(
    neff: str | PathLike, session: str | PathLike, *, executions: int = 1, every: int = 1
) -> list[Path]:
    """Time the program of a ``.neff`` and write what came out.

    Parameters
    ----------
    neff : path
        Written by ``run_io.write_neff``.
    session : path
        The ``.ntff`` to write.
    executions, every : int
        As ``--num-exec`` and ``--profile-nth-exec``: every so-manieth execution leaves a file of
        its own, ``NAME_exec_2.ntff``.  All are alike, for the model does not vary.

    Returns
    -------
    list of Path

    Raises
    ------
    OSError, ValueError
        If a file cannot be read or written; the sentence says why.
    """
    run = Run.timed(run_io.read_neff(neff).parts, WORDS)
    path, executions = Path(session), max(executions, every)
    numbers = range(every, executions + 1, every) if every else ()
    paths = [path.with_name(f"{path.stem}_exec_{k}{path.suffix}") for k in numbers]
    paths = [path] if executions == 1 and every else paths
    for each in paths:
        run_io.write_trace(run, each)
    return paths


@checked
def read(session: str | PathLike, neffs: Sequence[str | PathLike]) -> tuple[Run, str, str]:
    """Read a ``.ntff`` as a timed run.

    Parameters
    ----------
    session : path
    neffs : sequence of path
        The ``.neff`` of the same program is one of them.

    Returns
    -------
    run : Run
    digest : str
        40 hex digits that name the program.
    note : str
        A sentence where this version of the model times the program otherwise than the one that
        captured it; "" if not.

    Raises
    ------
    OSError, ValueError
        If a file cannot be read, or none of the ``.neff`` is of the same program.
    """
    name, traced = Path(session).name, run_io.read_trace(session)
    if traced.digest not in map(run_io.digest_of, neffs):
        held = " or ".join(Path(neff).name for neff in neffs) or "any .neff beside it"
        raise ValueError(WORDS_OF["says"]["another_program"].format(name=name, held=held))
    run = Run.timed(traced.parts, WORDS)
    then, now = max(traced.makespans_ns), run.timeline.makespan_ns
    if abs(then - now) <= 1e-6 * now:
        return run, traced.digest, ""
    note = WORDS_OF["says"]["another_model"].format(name=name, then=then / 1e3, now=now / 1e3)
    return run, traced.digest, note


# -- numbers --------------------------------------------------------------------------------------


@checked
def summary(run: Run) -> dict:
    """Return the summary of a run, keys in alphabetical order (see :data:`TERMS`).

    Parameters
    ----------
    run : Run
        Of several programs, the one that ends last is summed up.

    Returns
    -------
    dict
        Seconds, bytes, counts, and fractions under ``_percent``.

    Examples
    --------
    >>> import numpy as np
    >>> import trainium_edu.nki as nki
    >>> import trainium_edu.nki.language as nl
    >>> @nki.jit
    ... def copy(x):
    ...     out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    ...     nl.store(out, nl.load(x))
    ...     return out
    >>> found = summary(nki.run(copy, np.zeros((128, 512), np.float32)))
    >>> found["dma_transfer_count"], found["hbm_read_bytes"], found["sbuf_write_bytes"]
    (2, 262144, 262144)
    """
    core = run.timeline
    number = run.timelines.index(core)
    spec = core.spec
    total_s = device_ns(core.makespan_ns) * _S
    peak, bandwidth = core.peak_flops, core.roofline().hbm_bytes_per_s
    hbm, moved = core.bytes[Memory.HBM], core.hbm_bytes
    instructions = core.program.instructions
    times = np.bincount(core.instruction_index, minlength=len(instructions)).tolist()
    counted = _counted(core.program, times)
    useful = counted["hardware_flops"] - counted["transpose_flops"]
    intensity, ridge = useful / moved if moved else 0.0, peak / bandwidth
    clock, names = float(TOOLS.profile_clock_hz), np.array([i.name for i in instructions], str)
    active = {e: core.busy_ns(e) * _S for e in ENGINES}
    lasted = core.done_ns - core.start_ns

    def of(*wanted):
        return np.isin(names, wanted)[core.instruction_index]

    activations = of("activation", "activation_reduce")
    on_tensor = core.engine == ENGINES.index(Engine.TENSOR)
    transfers = core.queue_start_ns >= 0
    first = np.where(transfers, core.queue_start_ns, np.inf).min(axis=1, initial=np.inf)
    last = np.where(transfers, core.queue_end_ns, -np.inf).max(axis=1, initial=-np.inf)
    any_active = union_ns(
        np.concatenate([core.start_ns[core.engine != core.dma], core.queue_start_ns[transfers]]),
        np.concatenate([core.end_ns[core.engine != core.dma], core.queue_end_ns[transfers]]),
    )
    transfer_count = int(first.size)
    found = counted | {
        "activate_instruction_count": int(activations.sum()),
        "activate_instruction_time": float(lasted[activations].sum()) * _S,
        "dma_active_cycles": round(active[Engine.DMA] * clock),
        "dma_active_time": active[Engine.DMA],
        "dma_active_time_percent": active[Engine.DMA] / total_s,
        "dma_packet_time": float((core.queue_end_ns - core.queue_start_ns)[transfers].sum()) * _S,
        "dma_queue_count": core.queue_start_ns.shape[1],
        "dma_transfer_average_bytes": counted["dma_transfer_total_bytes"] / max(transfer_count, 1),
        "dma_transfer_count": transfer_count,
        "dma_transfer_time": float((last - first)[np.isfinite(first)].sum()) * _S,
        "hbm_read_bytes": hbm.read,
        "hbm_write_bytes": hbm.written,
        "hfu_estimated_percent": counted["hardware_flops"] / (peak * total_s),
        "inputs_outputs_weights_size_bytes": _tensor_bytes(core.program),
        "instance_type": next(
            (i.name for i in INSTANCES.values() if i.chip.name == spec.name), spec.name
        ),
        "matmul_instruction_count": int((of("nc_matmul", "nc_transpose") & on_tensor).sum()),
        "mbu_estimated_percent": moved / (bandwidth * total_s),
        "mfu_estimated_percent": useful / (peak * total_s),
        "mfu_inst_estimated_percent": useful / (peak * total_s),
        "mfu_max_achievable_estimated_percent": intensity / ridge,
        "mm_arithmetic_intensity": intensity,
        "nc_idx": number,
        "nd_idx": number // int(spec.cores),
        "neuroncore_cycle_count": round(total_s * clock),
        "peak_flops_bandwidth_ratio": ridge,
        "profiler_version": f"trainium_edu {trainium_edu.__version__}",
        "total_active_time": any_active * _S,
        "total_active_time_percent": any_active / (core.makespan_ns or 1.0),
        "total_exec_time": core.makespan_ns * _S,
        "total_time": total_s,
    }
    for engine in _ON_CORE:
        rows = core.rows_on(engine)
        found |= {
            f"{engine.value}_engine_active_time": active[engine],
            f"{engine.value}_engine_active_time_percent": active[engine] / total_s,
            f"{engine.value}_engine_instruction_count": int(rows.size),
            f"{engine.value}_engine_instruction_time": float(lasted[rows].sum()) * _S,
        }
    # without the noise of binary fractions: to a thousandth of a ns
    return {k: round(v, 12) if isinstance(v, float) else v for k, v in sorted(found.items())}


def _counted(program, times) -> dict[str, int]:
    """Return FLOPs and bytes that are sums over instructions; `times` says how often each ran."""
    found = dict.fromkeys(WORDS_OF["counted"], 0)
    for instruction, count in zip(program.instructions, times, strict=True):
        if instruction.engine is Engine.DMA:
            found["dma_transfer_total_bytes"] += int(instruction.work[3]) * count
        passes = 1
        if instruction.engine is Engine.TENSOR:
            wide = any(a.geometry[0] == "float32" for a in instruction.accesses if not a.is_write)
            passes = 2 if wide else 1
            flops, is_transpose = _flops(instruction)
            found["hardware_flops"] += flops * passes * count
            what = "transpose_flops" if is_transpose else "model_flops"
            found[what] += flops * (passes if is_transpose else 1) * count
        for access, nbytes in _touched(instruction):
            memory = program.allocations[access.allocation].memory
            if memory.is_on_chip:
                way = "write" if access.is_write else "read"
                found[f"{memory.value}_{way}_bytes"] += nbytes * passes * count
    return found


def _flops(instruction) -> tuple[int, bool]:
    """Return the FLOPs of an instruction of the Tensor Engine, and whether it only moved data."""
    if instruction.name == "nc_transpose":  # a product with an identity of as many rows as data
        free, rows, _ = instruction.work
        return 2 * rows * free * rows, True
    return instruction.flops, instruction.work[4]


def _touched(instruction):
    """Yield the accesses that count, with their bytes: all of a transfer's, else per partition."""
    accesses = instruction.accesses
    is_dma = instruction.engine is Engine.DMA
    reads = [a for a in accesses if not a.is_write]
    if not is_dma and (instruction.name == "tensor_tensor" or not reads):
        return
    for access in accesses:
        dtype, shape, strides, _ = access.geometry
        free = prod(n for n, step in zip(shape[1:], strides[1:], strict=True) if step)
        if is_dma:
            yield access, DTYPES[dtype].itemsize * free * (shape[0] if strides[0] else 1)
        elif access.is_write or free > 1 or access is reads[0]:
            yield access, DTYPES[dtype].itemsize * free


def _tensor_bytes(program) -> int:
    """Return the size of all tensors in HBM that instructions touch."""
    tensors = {a.allocation for i in program.instructions for a in i.accesses}
    infos = (program.allocations[index] for index in tensors)
    return sum(prod(i.shape) * i.dtype.itemsize for i in infos if i.memory is Memory.HBM)


@checked
def as_text(found: dict) -> str:
    """Return a summary as ``summary-text`` prints it: a key and its value per line."""
    width = max(map(len, found))
    return "\n".join(f"{key:<{width}}  {value}" for key, value in found.items())


@checked
def events(run: Run) -> dict:
    """Return what ``--output-format json`` writes: the summary, every instruction and transfer.

    Parameters
    ----------
    run : Run

    Returns
    -------
    dict
        ``summary``, ``instruction`` and ``dma``: lists of dict, times in whole ns from the start.
    """
    core = run.timeline
    told = [_described(instruction) for instruction in core.program.instructions]
    rows: dict[str, list] = {"instruction": [], "dma": []}
    ends = np.where(core.engine == core.dma, core.done_ns, core.end_ns)
    for index, start, end in zip(
        core.instruction_index.tolist(), core.start_ns.tolist(), ends.tolist(), strict=True
    ):
        when = {"timestamp": round(start), "duration": round(end - start)}
        rows["dma" if "bytes" in told[index] else "instruction"].append(when | told[index])
    return {"summary": [summary(run)], **rows}


def _described(instruction) -> dict:
    """Return what ``events`` say of an instruction, whenever it runs."""
    operands = (f"{a.role}={a.geometry[0]}{list(a.geometry[1])}" for a in instruction.accesses)
    is_dma = instruction.engine is Engine.DMA
    return {
        "label": instruction.engine.title,
        "opcode": instruction.name,
        "operands": " ".join(operands),
        "name": instruction.label,
        "nki_source_location": str(instruction.line or ""),
        **({"bytes": int(instruction.work[3])} if is_dma else {}),
    }
