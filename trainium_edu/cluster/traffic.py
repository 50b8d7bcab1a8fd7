"""What each kind of group sends in a step: operations, how often, how many bytes each.

The same collectives that ``step_time.py`` times, listed so that they can be drawn and counted.
"""

import math
from dataclasses import dataclass

from trainium_edu.cluster.models import Transformer, get_model
from trainium_edu.cluster.plan import Plan
from trainium_edu.cluster.work import parameters
from trainium_edu.specs import FABRIC
from trainium_edu.specs.signatures import checked

__all__ = ["Sent", "traffic"]


@dataclass(frozen=True, slots=True)
class Sent:
    """One operation of a kind of group.

    Attributes
    ----------
    operation : str
        ``all_reduce``, ``all_gather``, ``reduce_scatter`` or ``send``.
    count : float
        How often a rank of the fullest stage takes part in a step.
    nbytes : float
        Of the buffer each time: what a rank holds before a reduce, or after a gather.
    """

    operation: str
    count: float
    nbytes: float


@checked
def traffic(model: str | Transformer, plan: Plan) -> dict:
    """List what the tensor, data and pipeline groups of a plan send in a step.

    Parameters
    ----------
    model : str or Transformer
    plan : Plan

    Returns
    -------
    dict of str to tuple of Sent
        Keys ``tensor``, ``data`` and ``pipeline``; empty where a group has one rank.

    Raises
    ------
    PlanError
        If the model does not divide as the plan says.

    Examples
    --------
    >>> from trainium_edu.cluster.plan import Cluster
    >>> found = traffic("gpt3-23b", Plan(Cluster(instances=32), tensor=8, pipeline=4))
    >>> [(sent.operation, sent.count, sent.nbytes / 2**20) for sent in found["tensor"]]
    [('all_reduce', 896.0, 32.0)]

    References
    ----------
    `megatron-2021`, section 3.2 and 3.3: what each kind of parallelism sends.
    """
    model = get_model(model)
    plan.check(model)
    width = 4 if plan.precision == "fp32" else 2
    size = float(plan.micro_batch * model.sequence * model.hidden * width)
    nbytes = parameters(model) / (plan.tensor * plan.pipeline) * width
    sent: dict[str, tuple[Sent, ...]] = {"tensor": (), "data": (), "pipeline": ()}
    if plan.tensor > 1:
        often = plan.micro_batches * model.layers / plan.pipeline
        sums = 5 if plan.recompute == "full" else 4  # a block's last sum is not made again
        sent["tensor"] = (Sent("all_reduce", often * sums, size),)
        if plan.sequence_parallel:  # inputs of weight gradients are gathered again
            sent["tensor"] = (Sent("all_gather", often * (sums + 2), size),
                              Sent("reduce_scatter", often * sums, size))  # fmt: skip
    if plan.data > 1:
        buckets = float(max(1, math.ceil(nbytes / int(FABRIC.bucket_bytes))))
        rounds = {"all_reduce": 1} if plan.zero == 0 else {"reduce_scatter": 1, "all_gather": 1}
        if plan.zero > 1:  # nobody keeps the sum of all gradients between micro-batches
            rounds["reduce_scatter"] = plan.micro_batches
        sent["data"] = tuple(Sent(n, k * buckets, nbytes / buckets) for n, k in rounds.items())
        if plan.zero == 3:  # weights, for forward and for backward
            sent["data"] += (Sent("all_gather", 2.0 * plan.micro_batches, nbytes),)
    if plan.pipeline > 1:
        part = size / plan.tensor if plan.sequence_parallel else size
        sent["pipeline"] = (Sent("send", 2.0 * plan.interleave * plan.micro_batches, part),)
    return sent
