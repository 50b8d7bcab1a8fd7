"""AWS's training tables beside what the model says, and how its two numbers were fitted.

Rows calibrate by a rule that knows nothing of the fit: in order of first publication, every other
row of the tables whose columns do not contradict each other.  The others are held out, and so are
three rows from logs, which were found after the fit.

>>> [round(one.ratio, 1) for one in compare() if one.row.name == "Llama 2 70B"]
[1.0]

Of 36 rows 32 are within 15 %.  Llama 2 7B on 16 nodes runs a quarter faster than predicted, and
nothing in its script says why, though its first edition did not; GPT-3 6.7B on one node, published
only up to SDK 2.6, runs a sixth slower; of a LAMB row with one edition and an FP32 row whose
columns conflict, neither is explained.  Predictions are for the median of editions, which differ by
up to a fifth from each other: the first two SDKs were an eighth slower than predicted, and those
since 2.20 are a tenth faster.  Release notes say what four SDKs changed
(``specs.benchmarks.RELEASES``); the prediction knows none of it.  Fitted to two families of models,
the numbers foretell the third almost as well.

A model FLOP utilisation is arithmetic, and needs two conventions said: which FLOP count, and which
peak.  AWS's tables used three peaks in four editions, papers have counts of their own:

>>> print(f"{mfu('gpt3-175b', 13.9, Cluster(instances=32), peak='per core'):.2%}")
33.13%
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from trainium_edu.cluster.models import Transformer, get_model
from trainium_edu.cluster.plan import Cluster, Plan
from trainium_edu.cluster.step_time import Rules, StepTime, step_time
from trainium_edu.cluster.work import model_flops
from trainium_edu.specs import BENCHMARKS, NEURONCORE_V2, TRN1, Benchmark
from trainium_edu.specs.arguments import choice, number, whole
from trainium_edu.specs.signatures import checked

__all__ = ["PEAKS", "Comparison", "as_scripted", "calibrate", "compare", "mfu", "setup"]

_LIBRARIES = ("transformers", "megatron-lm", "nemo-megatron", "neuronx-distributed")
#: What a library's scripts compute again, most of them.
_AGAIN = {"nemo-megatron": "full", "neuronx-distributed": "selective"}

#: FLOP/s of a Trainium chip, by whose figure: the documented 190 T, the 210 T of the launch, the
#: array's 2 x 91.75 T, "over 90" T per NeuronCore.
PEAKS = {
    "documented": TRN1.peak_flops,
    "launch": TRN1.peak_flops_launch,
    "array": TRN1.peak_flops_from_array,
    "per core": 2 * float(NEURONCORE_V2.tensor_engine.peak_flops_over),
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """One row of the tables and the model's prediction."""

    row: Benchmark
    calibrates: bool  #: whether the two numbers were fitted to it, or it is held out
    time: StepTime

    @property
    def published(self) -> float:
        """Sequences per second: the median of the editions."""
        return self.row.sequences_per_s

    @property
    def predicted(self) -> float:
        """Sequences per second."""
        return self.time.samples_per_s

    @property
    def ratio(self) -> float:
        """Predicted over published throughput."""
        return self.predicted / self.published

    def __str__(self):
        label = "calibrates" if self.calibrates else "held out"
        low, high = self.row.spread
        return (
            f"{self.row.name:46}{self.published:10.5g}{self.predicted:10.5g}{self.ratio:7.2f}"
            f"  {label:11}{len(self.row.rates.value):3} editions, {low:.2f} to {high:.2f}"
            + f"  ({self.row.conflict})"
            * bool(self.row.conflict)
        )


@checked
def as_scripted(
    model: str | Transformer, plan: Plan, library: str, *, fused_softmax: bool = True
) -> tuple[Transformer, Plan, Rules]:
    """Return model, plan and rules as AWS's scripts for a library set them.

    Parameters
    ----------
    model : Transformer, or a name in MODELS
    plan : Plan
        What a table says: degrees, batches; and where scripts of one library differ: recomputation
        and flash attention.
    library : {"transformers", "megatron-lm", "nemo-megatron", "neuronx-distributed"}
        NeMo's scripts recompute all unless the plan says "selective" (GPT-3 23B and 175B), and drop
        a tenth of GPT, nothing of Llama; Megatron-LM's drop nothing and do not split sequences;
        neuronx-distributed's have ZeRO-1, FP32 master weights, and recompute attention, which is
        flash for Llama 3.
    fused_softmax : bool
        Whether NEURON_FUSE_SOFTMAX is set, as in all Megatron's scripts but the oldest; with
        transformers it is not.

    Returns
    -------
    model : Transformer
    plan : Plan
    rules : Rules

    Raises
    ------
    ValueError
        If there is no such library.

    Examples
    --------
    >>> table = Plan(Cluster(instances=4), tensor=8, global_batch=64)
    >>> model, plan, rules = as_scripted("llama2-7b", table, "nemo-megatron")
    >>> plan.sequence_parallel, plan.recompute, rules.attention
    (True, 'full', 'split')

    References
    ----------
    `aws-megatron-reference`, `aws-nemo-megatron`, `aws-nxd-examples`: the scripts.
    """
    base, nxd = get_model(model), library == "neuronx-distributed"
    choice(library, "library", _LIBRARIES)
    change: dict[str, Any] = {"sequence_parallel": plan.tensor > 1 and library != "megatron-lm"}
    if plan.recompute == "none" and library in _AGAIN:
        change["recompute"] = _AGAIN[library]
    if nxd:
        change |= {"zero": max(1, plan.zero), "precision": "bf16-master"}
    fused = fused_softmax and library != "transformers"
    drops = {"nemo-megatron": base.norm == "layer", "megatron-lm": False}
    model = replace(base, dropout=drops.get(library, base.dropout))
    rules = Rules(attention="fused" if nxd else "split" if fused else "eager")
    return model, replace(plan, **change), rules


@checked
def setup(row: Benchmark) -> tuple[Transformer, Plan, Rules]:
    """Return a row as model, plan and rules, as its script sets them."""
    plan = Plan(
        Cluster("trn1.32xlarge", row.instances), row.tensor, row.pipeline, row.zero, False,
        row.micro_batch, row.global_batch, row.recompute, row.precision, row.optimizer,
        flash_attention=row.flash_attention,
    )  # fmt: skip
    model = get_model(row.model, sequence=row.sequence)
    model, plan, rules = as_scripted(model, plan, row.library, fused_softmax=row.fused_softmax)
    return model, plan, replace(rules, activation_bytes=3.0 if "AMP" in row.name else None)


def _calibrating():
    """Return the rows that calibrate: of the tables, every other one that does not conflict."""
    good = [row for row in BENCHMARKS if not row.conflict and not row.is_log]
    return sorted(good, key=lambda row: row.first)[::2]


@checked
def calibrate(rows: tuple[Benchmark, ...] | None = None) -> tuple[float, float, float]:
    """Fit the two numbers to some rows.

    Parameters
    ----------
    rows : tuple of Benchmark, optional
        Those that calibrate, unless said otherwise: leave a family of models out, and see how well
        the others foretell it.

    Returns
    -------
    passes, host_ns : float
        As in ``Rules``: they minimise the squares of the logarithm of predicted over published.
    residual : float
        Root mean square of that logarithm.

    Notes
    -----
    A step is linear in both numbers, so its logarithm's derivative is known and Gauss-Newton steps
    converge in a few rounds from anywhere near.
    """
    lines, rows = [], _calibrating() if rows is None else rows
    if len(rows) < 2:
        raise ValueError(f"rows has {len(rows)} rows; two numbers are fitted, so give two at least")
    for row in rows:
        model, plan, rules = setup(row)
        base, one = (
            step_time(model, plan, rules=replace(rules, passes=passes, host_ns=0.0)).step_ns
            for passes in (0.0, 1.0)
        )
        lines.append((base, one - base, 1.0, plan.global_batch / row.sequences_per_s * 1e9))
    table = np.array(lines)
    fixed, slope, published = table[:, 0], table[:, 1:3], table[:, 3]
    numbers = np.array([1.0, 0.0])
    for _ in range(30):
        predicted = fixed + slope @ numbers
        away = np.log(predicted / published)
        numbers = numbers - np.linalg.lstsq(slope / predicted[:, None], away, rcond=None)[0]
    away = np.log((fixed + slope @ numbers) / published)
    return float(numbers[0]), float(numbers[1]), float(np.sqrt(np.mean(away**2)))


@checked
def compare(rules: Rules | None = None) -> tuple[Comparison, ...]:
    """Return every row of the tables beside its prediction, oldest first.

    Parameters
    ----------
    rules : Rules, optional
        What to predict with; only how scores are computed is each row's own.
    """
    calibrating = {row.name for row in _calibrating()}
    comparisons = []
    for row in sorted(BENCHMARKS, key=lambda row: row.first):
        model, plan, own = setup(row)
        used = (
            replace(rules, attention=own.attention, activation_bytes=own.activation_bytes)
            if rules
            else own
        )
        time = step_time(model, plan, rules=used)
        comparisons.append(Comparison(row, row.name in calibrating, time))
    return tuple(comparisons)


@checked
def mfu(
    model: str | Transformer | None,
    samples_per_s: float,
    cluster: Cluster | int,
    *,
    convention: Literal["blocks", "6nd", "causal", "palm", "megatron"] = "blocks",
    peak: str | float = "documented",
    flops_per_sample: float | None = None,
) -> float:
    """Return the model FLOP utilisation of a throughput: useful FLOP per second over peak.

    Parameters
    ----------
    model : Transformer, a name in MODELS, or None
        None where `flops_per_sample` says it all.
    samples_per_s : float
        Of the whole cluster.
    cluster : Cluster or int
        Or how many chips, or accelerators of any kind.
    convention : {"blocks", "6nd", "causal", "palm", "megatron"}
        What a sample's FLOP count; see :func:`~trainium_edu.cluster.model_flops`.
    peak : {"documented", "launch", "array", "per core"} or float
        Of a chip, by name (:data:`PEAKS`); or FLOP/s of one chip, or of one accelerator.
    flops_per_sample : float, optional
        Instead of the convention; with ``work(model, recompute="full").flops`` this is the
        utilisation of the hardware, which counts what is computed again.

    Returns
    -------
    float
        1.0 is all of it.

    Raises
    ------
    ValueError
        If it is more than all of it; if there is neither a model nor `flops_per_sample`.

    Examples
    --------
    >>> f"{mfu('bert-large', 3530, Cluster()):.2%}"
    '27.49%'
    >>> per_gpu = 140e12 / 2.197e15  # GPT-3 175B by Megatron-LM: samples per second of an A100
    >>> f"{mfu('gpt3-175b', 1024 * per_gpu, 1024, peak=312e12):.1%}"
    '44.9%'
    """
    samples_per_s = number(samples_per_s, "samples_per_s", above=0, high=1e15)
    if flops_per_sample is None:
        if model is None:
            raise ValueError("mfu needs a model or flops_per_sample: it divides FLOP by a peak")
        flops_per_sample = model_flops(get_model(model), convention)
    flops_per_sample = number(flops_per_sample, "flops_per_sample", above=0, high=1e30)
    why = ": in FLOP/s, as 190 TFLOP/s are 190e12"
    each = (float(PEAKS[choice(peak, "peak", PEAKS)]) if isinstance(peak, str)
            else number(peak, "peak", 1e9, 1e20, why=why))  # fmt: skip
    chips = cluster.chips if isinstance(cluster, Cluster) else whole(cluster, "cluster", 1, 10**9)
    share = samples_per_s * flops_per_sample / (chips * each)
    if share > 1:
        raise ValueError(
            f"{samples_per_s:.4g} samples/s of {flops_per_sample:.4g} FLOP are {share:.4g} times "
            f"the peak of {chips:,} chips, {chips * each:.4g} FLOP/s, and none exceeds its peak: "
            "check that samples are sequences and not tokens, how many chips there are, and the "
            "FLOP of a sample"
        )
    return share
