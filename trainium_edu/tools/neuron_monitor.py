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

__all__ = ["Config", "Monitor", "read_config"]

_SCHEMA, _CONSTANTS = (
    tables(__file__, f"{stem}.toml") for stem in ("neuron_monitor", "neuron_monitor_constants")
)

_PERCENTILES = (0, 1, 25, 50, 75, 99, 100)
_UNITS_S = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


# -- configuration --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Config:
    """What to collect, and how often (in s)."""

    runtimes: tuple[tuple[str, dict[str, float]], ...]  #: (tag filter, metric group -> period)
    system: dict[str, float]  #: metric group -> period


def _default() -> Config:
    period = float(TOOLS.period_s)
    return Config(((".*", dict.fromkeys(_OF_RUN, period)),), dict.fromkeys(_OF_SYSTEM, period))


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
        return _default()
    try:
        said = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as problem:
        raise ValueError(f"{path} is not JSON: {problem}") from None
    said = checked_by(said, _SCHEMA, {"period": lambda text: _seconds(text) is not None})

    def groups(metrics, period):
        return {one["type"]: _seconds(one["period"] or period) for one in metrics}

    runtimes = [(one["tag_filter"], groups(one["metrics"], one["period"] or said["period"]))
                for one in said["neuron_runtimes"]]  # fmt: skip
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
class _Since:
    """A run, or the system alone, at two moments."""

    machine: Machine
    run: Any  #: live.Seen, or None
    before: Any  #: live.Totals, or None
    spent: tuple[Any, Any]  #: a run's (user, system) in s, or the context switches, then and now
    seconds: float


def _neuroncore_counters(of: _Since) -> dict:
    found = usage(of.run.now, of.before)
    untimed = of.run.now.untimed - of.before.untimed
    cores = {
        str(core): {"neuroncore_utilization": round(found[core].percent, 2) if core in found else 0,
                    "flops": int(found[core].flops) if core in found else 0}
        for core in of.run.cores if core < of.machine.cores
    }  # fmt: skip
    error = _CONSTANTS["says"]["untimed"].format(untimed) if untimed else ""
    return {"neuroncores_in_use": cores, "error": error}


def _execution_stats(of: _Since) -> dict:
    now, before = of.run.now, of.before
    new = of.run.latencies_ns[-(now.timed - before.timed) :] if now.timed > before.timed else ()
    executions = {"completed": now.completed - before.completed, **_CONSTANTS["failed"]}
    return {
        "error_summary": dict(_CONSTANTS["errors"]), "execution_summary": executions,
        "latency_stats": {"total_latency": _percentiles([total for _, total in new]),
                          "device_latency": _percentiles([device for device, _ in new])},
        "error": "",
    }  # fmt: skip


def _percentiles(ns) -> dict | None:
    if not ns:
        return None
    found = np.percentile(ns, _PERCENTILES) / 1e9
    return {f"p{p}": float(value) for p, value in zip(_PERCENTILES, found, strict=True)}


def _memory_used(of: _Since) -> dict:
    host = resident_bytes(of.run.pid)
    cores = {str(c): dict(m) for c, m in by_core(of.run).items() if c < of.machine.cores}
    used = {"host": host, "neuron_device": sum(sum(memory.values()) for memory in cores.values()),
            "usage_breakdown": {"host": _host(host), "neuroncore_memory_usage": cores}}  # fmt: skip
    models = [_model(of, model) for model in of.run.models]
    return {"neuron_runtime_used_bytes": used, "loaded_models": models, "error": ""}


def _host(application: int) -> dict[str, int]:
    return {"application_memory": application, "constants": 0, "dma_buffers": 0, "tensors": 0}


def _model(of: _Since, model: live.Model) -> dict:
    kinds = ("constants", "model_code", "runtime_memory")  # tensors come later than the model
    device = {kind: model.memory[kind] for kind in kinds} | {"tensors": 0}
    used = {"host": 0, "neuron_device": sum(device.values()),
            "usage_breakdown": {"host": _host(0), "neuron_device": device}}  # fmt: skip
    cores = [c for c in range(model.first, model.first + model.count) if c < of.machine.cores]
    return {
        "name": model.name, "uuid": model.uuid, "model_id": model.model_id,
        "is_running": not of.run.is_idle,
        "subgraphs": {
            f"sg_{i:02d}": {"memory_used_bytes": used, "neuroncore_index": core,
                            "neuron_device_index": core // of.machine.cores_per_device}
            for i, core in enumerate(cores)
        },
    }  # fmt: skip


def _neuron_runtime_vcpu_usage(of: _Since) -> dict:
    (user, system), (user_now, system_now) = of.spent
    per_cent = 100 / of.seconds / (psutil.cpu_count() or 1)
    return {"vcpu_usage": {"user": round(max(0.0, user_now - user) * per_cent, 2),
                           "system": round(max(0.0, system_now - system) * per_cent, 2)},
            "error": ""}  # fmt: skip


_OF_RUN: dict[str, Callable[[_Since], dict]] = {
    tell.__name__[1:]: tell
    for tell in (_neuroncore_counters, _execution_stats, _memory_used, _neuron_runtime_vcpu_usage)
}


# -- metric groups of the system ------------------------------------------------------------------


def _neuron_hw_counters(of: _Since) -> dict:
    devices = range(of.machine.devices)
    each = [{"neuron_device_index": i, **_CONSTANTS["ecc"]} for i in devices]
    return {"neuron_devices": each, "error": ""}


def _vcpu_usage(of: _Since) -> dict:
    before, now = of.spent
    each = [{ours: getattr(shares, theirs, 0.0) for ours, theirs in _CONSTANTS["vcpu"].items()}
            for shares in psutil.cpu_times_percent(percpu=True)]  # fmt: skip
    average = {kind: round(sum(one[kind] for one in each) / len(each), 2) for kind in each[0]}
    return {"average_usage": average, "usage_data": {str(i): one for i, one in enumerate(each)},
            "context_switch_count": now - before, "error": ""}  # fmt: skip


def _memory_info(of: _Since) -> dict:
    memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    return {"memory_total_bytes": memory.total, "memory_used_bytes": memory.used,
            "swap_total_bytes": swap.total, "swap_used_bytes": swap.used, "error": ""}  # fmt: skip


_OF_SYSTEM: dict[str, Callable[[_Since], dict]] = {
    tell.__name__[1:]: tell for tell in (_neuron_hw_counters, _vcpu_usage, _memory_info)
}


# -- reports --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Told:
    """What one metric group said last, and what it is to be compared with."""

    period: float
    at: float
    before: Any  #: live.Totals, or None
    spent: Any
    said: dict = field(default_factory=dict)


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

    def __init__(self, config: Config | None = None, clock: Callable[[], float] = time.monotonic):
        self.config, self._clock = config or _default(), clock
        switches = psutil.cpu_stats().ctx_switches
        psutil.cpu_times_percent(percpu=True)  # from here on
        self._system = {
            kind: _Told(period, clock(), None, switches)
            for kind, period in self.config.system.items()
        }
        self._runs: dict[tuple, _Told] = {}  # by entry, process, its start, metric group

    @property
    def shortest_s(self) -> float:
        """The shortest period of all."""
        groups = [self.config.system, *(groups for _, groups in self.config.runtimes)]
        return min(period for each in groups for period in each.values())

    def wait_s(self) -> float:
        """Return how long it is until a metric group has to be collected."""
        due = [told.at + told.period for told in (*self._system.values(), *self._runs.values())]
        soonest = min(due, default=self._clock() + self.shortest_s)
        return max(0.0, min(soonest, self._clock() + self.shortest_s) - self._clock())

    def report(self, of: Machine) -> dict:
        """Collect what is due, and return the report.

        Parameters
        ----------
        of : Machine
            As it stands now.
        """
        now, switches = self._clock(), psutil.cpu_stats().ctx_switches
        for kind, told in self._system.items():
            self._tell(told, _OF_SYSTEM[kind], of, None, switches, now)
        alive = {(run.pid, run.process_start_s) for run in of.runs}
        self._runs = {key: told for key, told in self._runs.items() if key[1:3] in alive}
        return {
            "neuron_runtime_data": [
                self._of_run(of, run, number, groups, now)
                for number, (wanted, groups) in enumerate(self.config.runtimes)
                for run in of.runs
                if re.search(wanted, tag(run))
            ],
            "system_data": {kind: told.said for kind, told in self._system.items()},
            "instance_info": {**_CONSTANTS["instance"], "instance_type": of.instance},
            "neuron_hardware_info": _hardware_info(of),
        }

    def _of_run(self, of, run, number, groups, now) -> dict:
        spent, report = cpu_s(run.pid), {}
        first = run.now if run.is_idle else run.before  # not seen yet: what its last period was
        for kind, period in groups.items():
            key, new = (number, run.pid, run.process_start_s, kind), now - run.period_s
            told = self._runs.setdefault(key, _Told(period, new, first, spent))
            self._tell(told, _OF_RUN[kind], of, run, spent, now)
            report[kind] = told.said
        return {"pid": run.pid, "address": "", "neuron_runtime_tag": tag(run), "error": "",
                "report": report}  # fmt: skip

    def _tell(self, told, group, of, run, spent, now) -> None:
        """Say what a metric group has to say, if it is due."""
        seconds = now - told.at
        if told.said and seconds < told.period * 0.99:
            return
        since = _Since(of, run, told.before, (told.spent, spent), max(seconds, 1e-9))
        told.said = {"period": seconds, **group(since)}
        told.at, told.before, told.spent = now, run and run.now, spent


def _hardware_info(of: Machine) -> dict:
    is_inf2 = of.instance.startswith("inf2")
    return {
        "neuron_device_type": "inferentia2" if is_inf2 else "trainium",
        "neuron_device_version": "v3" if is_inf2 else TOOLS.device_version.value,
        "neuroncore_version": f"v{int(INSTANCES[of.instance].chip.generation)}",
        "neuron_device_count": of.devices,
        "neuron_device_memory_size": of.memory_bytes,
        "neuroncore_per_device_count": of.cores_per_device,
        "logical_neuroncore_config": 1,
        "error": "",
    }
