"""A whole run, priced on paper: does it fit, how long, what does it cost, and who says so.

A model's work is in closed form (``models.py``, ``work.py``).  A plan is data, tensor, pipeline and
sequence parallelism with ZeRO on some instances (``plan.py``).  For a plan there are the memory of
each NeuronCore (``memory.py``), the wires between its ranks (``placement.py``) and the time of a
step (``step_time.py``); ``planner.py`` finds all plans that fit.  Then come scaling to 100,000
chips, failures and checkpoints (``scaling.py``, ``failures.py``), and prices (``cost.py``).  The
benchmark tables judge all this (``published.py``); the headlines of the sources (``claims.py``)
are judged in turn (``court.py``).

Left out: running anything.  A step time measured or predicted elsewhere goes in as a number.
Sources: `aws-trn1-benchmarks`, `rajbhandari-2020`, `megatron-2021`, `gpt3-paper` (specs.SOURCES).
Read ``models.py`` first, then ``plan.py``, ``memory.py`` and ``step_time.py``.  Used by the
notebook ``11_scale_and_cost``.
"""

import sys
from types import ModuleType

from trainium_edu import names

_HOMES = {
    "claims": "COURT Docket docket judge needed overturned",
    "cost": "Bill Input against_p4d bill price waste",
    "court": "Claim Condition Ruling Verdict",
    "failures": "Checkpoint Feed Rate Simulated checkpoint checkpoint_bytes "
    "cluster_mtbf_s daly_interval_s expected_time_s feed goodput optimal_interval_s "
    "simulate storage_rate young_interval_s",
    "memory": "Memory memory stages",
    "models": "MODELS Cnn Mlp Transformer get_model",
    "placement": "Links Placement placement",
    "plan": "Cluster Plan PlanError",
    "planner": "NothingFits Option Plans at_least fits smallest",
    "published": "PEAKS Comparison as_scripted calibrate compare mfu setup",
    "scaling": "KEYNOTE Bar Generation Point Wall days overhead scale slowest utilisation wall",
    "step_time": "PARTS Rules StepTime step_time",
    "traffic": "Sent traffic",
    "work": "Part Work model_flops work",
}
__all__, __getattr__, __dir__ = names.late(__name__, _HOMES)


class _FrontDoor(ModuleType):
    """A package where ``work`` stays the function when work.py has been imported."""

    def __setattr__(self, name, value):
        if not (isinstance(value, ModuleType) and name in __all__):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _FrontDoor
