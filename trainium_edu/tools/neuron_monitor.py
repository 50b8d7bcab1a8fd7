"""A look-alike of ``neuron-monitor``: the same JSON, as often as its configuration says.

A metric group is a row of ``_OF_RUN`` or ``_OF_SYSTEM``: a function that says what happened since
the group's last update.  Utilisation, FLOP/s and latencies are in the emulated machine's time;
periods, vCPUs and host memory are those of *this* computer, for the emulated host is not modelled.

Documented fields that stay empty here: all of ``instance_info`` but the type, ``address`` (there is
no Neuron Runtime).  Host memory is all
``application_memory``; ``model_code`` and ``runtime_memory`` are 0, for code takes no room here.
ECC counters are 0: emulated memory has no such errors.  ``neuron_k8s_info`` is disabled, as there.
Models are loaded once and not unloaded, so ``is_running`` says whether anything runs now.

References: `aws-neuron-monitor`, `aws-neuron-monitor-trn1` in :data:`trainium_edu.specs.SOURCES`;
``neuron_hardware_info`` as in public captures (tests of lablup/all-smi for a trn1.2xlarge, of a
stress test for an inf2.xlarge).
"""

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from trainium_edu import live
from trainium_edu.files import tables
from trainium_edu.specs import INSTANCES, TOOLS
from trainium_edu.specs.signatures import checked
from trainium_edu.tools.machine import Machine, by_core, cpu_s, resident_bytes, tag, usage
from trainium_edu.tools.schema import checked as checked_by

__all__ = ["Config", "Monitor", "everything", "read_config"]

_SCHEMA = tables(__file__)
_CONSTANTS = tables(__file__, "neuron_monitor_constants.toml")

_PERCENTILES = (0, 1, 25, 50, 75, 99, 100)
_UNITS_S = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


# -- configuration --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Config:
    """What to collect, and how often (in s)."""

    runtimes: tuple[tuple[str, dict[str, float]], ...]  #: (tag filter, metric group -> period)
    system: dict[str, float]  #: metric group -> period
    #: NeuronCores did what they did in their run's own last period, not since the last report
    is_live: bool = False


@checked
def everything(period: float = float(TOOLS.period_s), *, is_live: bool = False) -> Config:
    """Return the configuration that collects all metric groups.

    Parameters
    ----------
    period : float
        Of each, in s.
    is_live : bool
        As in :class:`Config`.
    """
    of_runs, of_system = (dict.fromkeys(kinds, period) for kinds in (_OF_RUN, _OF_SYSTEM))
    return Config(((".*", of_runs),), of_system, is_live)


@checked
def read_config(path: str | Path | None = None) -> Config:
    """Read a configuration file; without one, everything is collected every 5 s.

    Parameters
    ----------
    path : str or Path, optional

    Raises
    ------
    ValueError
        If the file is not what the guide describes; the sentence names the place.
    OSError
        If it cannot be read.
    """
    if path is None:
        return everything()
    try:
        said = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as problem:
        raise ValueError(f"{path} is not JSON: {problem}") from None
    said = checked_by(said, _SCHEMA, {"period": lambda text: _seconds(text) is not None})

    def groups(metrics, period):
        return {one["type"]: _seconds(one["period"] or period) for one in metrics}

    runtimes = [
        (one["tag_filter"], groups(one["metrics"], one["period"] or said["period"]))
        for one in said["neuron_runtimes"]
    ]
    system = groups(said["system_metrics"], said["period"])
    if not system and not any(groups for _, groups in runtimes):
        raise ValueError(
            f"{path} asks for nothing; list metric groups under neuron_runtimes[].metrics "
            "or system_metrics"
        )
    return Config(tuple(runtimes), system)


def _seconds(text) -> float | None:
    """Return the seconds of a period, or None where it is none."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h)", text) if isinstance(text, str) else None
    seconds = float(found[1]) * _UNITS_S[found[2]] if found else 0.0
    return seconds if 0.01 <= seconds <= 86400 else None


# -- metric groups of a run -----------------------------------------------------------------------


@dataclass(slots=True)
class _Group:
    """A metric group of one run, or of the system: what it counts from, and what it said last."""

    tell: Callable[["_Group"], dict]
    period: float
    at: float
    before: Any  #: live.Totals, or None
    spent: Any  #: a run's (user, system) in s, or the context switches
    said: dict = field(default_factory=dict)
    machine: Any = None
    run: Any = None  #: live.Seen, or None
    spent_now: Any = None
    seconds: float = 0.0  #: since it told last

    def collected(self, machine: Machine, run, spent, now: float) -> dict:
        """Return what the group has to say now if it is due, or else what it said last."""
        self.seconds = now - self.at
        if not self.said or self.seconds >= self.period * 0.99:
            self.machine, self.run, self.spent_now = machine, run, spent
            self.said = {"period": self.seconds, "error": "", **self.tell(self)}
            self.at, self.before, self.spent = now, run and run.now, spent
        return self.said


def _neuroncore_counters(of: _Group) -> dict:
    found, idle = usage(of.run.now, of.before), {"neuroncore_utilization": 0, "flops": 0}
    cores = {str(c): found.get(c, idle) for c in of.run.cores if c < of.machine.cores}
    untimed = of.run.now.untimed - of.before.untimed
    error = _CONSTANTS["says"]["untimed"].format(untimed) if untimed else ""
    return {"neuroncores_in_use": cores, "error": error}


def _execution_stats(of: _Group) -> dict:
    now, before = of.run.now, of.before
    new = of.run.latencies_ns[-(now.timed - before.timed) :] if now.timed > before.timed else ()
    device, total = (_percentiles([pair[i] for pair in new]) for i in (0, 1))
    done = {"completed": now.completed - before.completed, **_CONSTANTS["failed"]}
    latencies = {"total_latency": total, "device_latency": device}
    summaries = {"error_summary": {**_CONSTANTS["errors"]}, "execution_summary": done}
    return {**summaries, "latency_stats": latencies}


def _percentiles(ns) -> dict | None:
    if not ns:
        return None
    found = np.percentile(ns, _PERCENTILES) / 1e9
    return {f"p{p}": float(value) for p, value in zip(_PERCENTILES, found, strict=True)}


def _memory_used(of: _Group) -> dict:
    cores = {
        str(core): {kind: counted[kind] for kind in live.MEMORY}
        for core, counted in sorted(by_core(of.run.now).items())
        if core < of.machine.cores
    }
    device = sum(sum(memory.values()) for memory in cores.values())
    used = _used(resident_bytes(of.run.pid), device, neuroncore_memory_usage=cores)
    models = [_model(of, model) for model in of.run.models]
    return {"neuron_runtime_used_bytes": used, "loaded_models": models}


def _used(host: int, device: int, **parts) -> dict:
    """Return the bytes on the host and on the device, and what they consist of."""
    on_host = _CONSTANTS["host"] | {"application_memory": host}
    return {"host": host, "neuron_device": device, "usage_breakdown": {"host": on_host, **parts}}


def _model(of: _Group, model: live.Model) -> dict:
    kinds = ("constants", "model_code", "runtime_memory")  # tensors come later than the model
    device = {kind: model.memory[kind] for kind in kinds} | {"tensors": 0}
    used = {"memory_used_bytes": _used(0, sum(device.values()), neuron_device=device)}
    cores = [c for c in range(model.first, model.first + model.count) if c < of.machine.cores]
    per = of.machine.cores_per_device
    graphs = {
        f"sg_{i:02d}": {**used, "neuroncore_index": core, "neuron_device_index": core // per}
        for i, core in enumerate(cores)
    }
    names = {key: getattr(model, key) for key in ("name", "uuid", "model_id")}
    return {**names, "is_running": not of.run.is_idle, "subgraphs": graphs}


def _neuron_runtime_vcpu_usage(of: _Group) -> dict:
    per_cent = 100 / max(of.seconds, 1e-9) / (psutil.cpu_count() or 1)
    spent = zip(("user", "system"), of.spent, of.spent_now, strict=True)
    return {"vcpu_usage": {kind: round(max(0.0, b - a) * per_cent, 2) for kind, a, b in spent}}


_OF_RUN = {
    tell.__name__[1:]: tell
    for tell in (_neuroncore_counters, _execution_stats, _memory_used, _neuron_runtime_vcpu_usage)
}


# -- metric groups of the system ------------------------------------------------------------------


def _neuron_hw_counters(of: _Group) -> dict:
    devices = range(of.machine.devices)
    return {"neuron_devices": [{"neuron_device_index": i, **_CONSTANTS["ecc"]} for i in devices]}


def _vcpu_usage(of: _Group) -> dict:
    names = _CONSTANTS["vcpu"].items()
    each = [
        {ours: getattr(shares, theirs, 0.0) for ours, theirs in names}
        for shares in psutil.cpu_times_percent(percpu=True)
    ]
    average = {kind: round(sum(one[kind] for one in each) / len(each), 2) for kind in each[0]}
    usages = {"average_usage": average, "usage_data": {str(i): one for i, one in enumerate(each)}}
    return {**usages, "context_switch_count": of.spent_now - of.spent}


def _memory_info(_) -> dict:
    kinds = {"memory": psutil.virtual_memory(), "swap": psutil.swap_memory()}
    parts = ("total", "used")
    return {f"{k}_{part}_bytes": getattr(kinds[k], part) for k in kinds for part in parts}


_OF_SYSTEM = {tell.__name__[1:]: tell for tell in (_neuron_hw_counters, _vcpu_usage, _memory_info)}


# -- reports --------------------------------------------------------------------------------------


class Monitor:
    """Collects metric groups as they become due, and says all in one report.

    Parameters
    ----------
    config : Config, optional
    clock : callable () -> float
        In s.

    Examples
    --------
    >>> report = Monitor().report(Machine("trn1.32xlarge"))
    >>> report["neuron_hardware_info"]["neuron_device_count"], report["neuron_runtime_data"]
    (16, [])
    """

    @checked
    def __init__(self, config: Config | None = None, clock: Callable[[], float] = time.monotonic):
        self.config, self._clock = config or everything(), clock
        switches = psutil.cpu_stats().ctx_switches
        psutil.cpu_times_percent(percpu=True)  # from here on
        self._system = {
            kind: _Group(_OF_SYSTEM[kind], period, clock(), None, switches)
            for kind, period in self.config.system.items()
        }
        self._runs: dict[tuple, _Group] = {}  # by entry, process, its start, metric group

    def wait_s(self) -> float:
        """Return how long it is until a metric group has to be collected."""
        now, groups = self._clock(), [*self._system.values(), *self._runs.values()]
        periods = [self.config.system, *(of_run for _, of_run in self.config.runtimes)]
        shortest = min(period for each in periods for period in each.values())
        return max(0.0, min([now + shortest, *(one.at + one.period for one in groups)]) - now)

    @checked
    def report(self, of: Machine) -> dict:
        """Collect what is due, and return the report.

        Parameters
        ----------
        of : Machine
            As it stands now.
        """
        now, switches = self._clock(), psutil.cpu_stats().ctx_switches
        alive = {(run.pid, run.process_start_s) for run in of.runs}
        self._runs = {key: group for key, group in self._runs.items() if key[1:3] in alive}
        return {
            "neuron_runtime_data": [
                self._of_run(of, run, number, groups, now)
                for number, (wanted, groups) in enumerate(self.config.runtimes)
                for run in of.runs
                if re.search(wanted, tag(run))
            ],
            "system_data": {
                kind: group.collected(of, None, switches, now)
                for kind, group in self._system.items()
            },
            "instance_info": {**_CONSTANTS["instance"], "instance_type": of.instance},
            "neuron_hardware_info": _hardware_info(of),
        }

    def _of_run(self, of, run, number, groups, now) -> dict:
        spent, report = cpu_s(run.pid), {}
        first = run.now if run.is_idle else run.before  # not seen yet: what its last period was
        for kind, period in groups.items():
            new = _Group(_OF_RUN[kind], period, now - run.period_s, first, spent)
            group = self._runs.setdefault((number, run.pid, run.process_start_s, kind), new)
            group.before = first if self.config.is_live else group.before
            report[kind] = group.collected(of, run, spent, now)
        names = {"pid": run.pid, "address": "", "neuron_runtime_tag": tag(run), "error": ""}
        return {**names, "report": report}


def _hardware_info(of: Machine) -> dict:
    chip = INSTANCES[of.instance].chip
    kind, versions = chip.name.lower(), _CONSTANTS["device_version"]
    return {
        "neuron_device_type": kind,
        "neuron_device_version": versions.get(kind, TOOLS.device_version.value),
        "neuroncore_version": f"v{int(chip.generation)}",
        "neuron_device_count": of.devices,
        "neuron_device_memory_size": of.memory_bytes,
        "neuroncore_per_device_count": of.cores_per_device,
        "logical_neuroncore_config": 1,
        "error": "",
    }
