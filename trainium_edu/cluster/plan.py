"""How a training run is laid over NeuronCores: degrees of parallelism that must divide.

Ranks are numbered as Megatron-LM numbers them: tensor-parallel neighbours first, then data, then
pipeline stages, so that those who talk most sit closest.
"""

from dataclasses import dataclass
from typing import Literal

from trainium_edu.cluster.models import Cnn, Mlp, Transformer
from trainium_edu.specs import INSTANCES
from trainium_edu.specs.arguments import choice, flag, instance, text, whole
from trainium_edu.specs.instances import with_cores

__all__ = ["Cluster", "Plan", "PlanError"]


class PlanError(ValueError):
    """A plan that cannot be: degrees that do not divide, or more ranks than there are."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Instances of one kind.

    Attributes
    ----------
    instance : str
        A key of ``specs.INSTANCES`` with NeuronCores.
    instances : int
    """

    instance: str = "trn1.32xlarge"
    instances: int = 1

    def __post_init__(self):
        text(self.instance, "instance", "trn1.32xlarge")
        if self.instance not in with_cores():
            known = ", ".join(with_cores())
            raise PlanError(f"no instance {self.instance!r} with NeuronCores; there are {known}")
        object.__setattr__(self, "instances", whole(self.instances, "instances", 1, 10**6))

    @property
    def ranks(self) -> int:
        """NeuronCores in all."""
        return self.instances * int(INSTANCES[self.instance].cores)

    @property
    def chips(self) -> int:
        """Chips in all."""
        return self.instances * int(INSTANCES[self.instance].chips)


@dataclass(frozen=True, slots=True)
class Plan:
    """A training step on a cluster.

    Attributes
    ----------
    cluster : Cluster
    tensor, pipeline : int
        Degrees; what is left of the ranks is data-parallel.
    zero : int
        0 to 3: nothing, optimiser states, gradients too, weights too are shared out.
    sequence_parallel : bool
        Whether what is not split by ``tensor`` is split along the sequence.
    micro_batch, global_batch : int
        Samples of one replica at a time, and of all replicas in a step.
    recompute : {"none", "selective", "full"}
        What backward computes again: nothing, attention's scores, whole blocks.
    precision : {"bf16-sr", "bf16-master", "fp32"}
        BF16 weights and states rounded with dice; BF16 weights beside FP32 master weights and
        states; FP32.
    optimizer : {"adamw", "lamb", "sgd"}
    interleave : int
        Parts of the model per pipeline stage (1: none).
    flash_attention : bool
        Whether scores stay on the chip, and what a causal mask hides is skipped.
    """

    cluster: Cluster
    tensor: int = 1
    pipeline: int = 1
    zero: int = 0
    sequence_parallel: bool = False
    micro_batch: int = 1
    global_batch: int = 1024
    recompute: Literal["none", "selective", "full"] = "none"
    precision: Literal["bf16-sr", "bf16-master", "fp32"] = "bf16-sr"
    optimizer: Literal["adamw", "lamb", "sgd"] = "adamw"
    interleave: int = 1
    flash_attention: bool = False

    def __post_init__(self):
        instance(self.cluster, "cluster", Cluster, 'Cluster("trn1.32xlarge", 4)')
        for name in ("tensor", "pipeline", "micro_batch", "global_batch", "interleave"):
            object.__setattr__(self, name, whole(getattr(self, name), name, 1, 10**9))
        object.__setattr__(self, "zero", whole(self.zero, "zero", 0, 3))
        for name in ("sequence_parallel", "flash_attention"):
            object.__setattr__(self, name, flag(getattr(self, name), name))
        choice(self.recompute, "recompute", ("none", "selective", "full"))
        choice(self.precision, "precision", ("bf16-sr", "bf16-master", "fp32"))
        choice(self.optimizer, "optimizer", ("adamw", "lamb", "sgd"))
        ranks, together = self.cluster.ranks, self.tensor * self.pipeline
        if together > ranks:
            raise PlanError(
                f"{self.tensor} x {self.pipeline} = {together} ranks for one replica, and "
                f"{self.cluster.instances} x {self.cluster.instance} have {ranks}: "
                "take smaller degrees or more instances"
            )
        if ranks % together:
            raise PlanError(
                f"{ranks} ranks do not divide into replicas of {self.tensor} x {self.pipeline} = "
                f"{together}; every replica is alike, so take degrees that divide {ranks}"
            )
        at_once = self.data * self.micro_batch
        if self.global_batch % at_once:
            raise PlanError(
                f"a global batch of {self.global_batch} does not divide among {self.data} replicas "
                f"with micro-batches of {self.micro_batch}; take a multiple of {at_once}, or fewer "
                "replicas: fewer instances, or larger tensor or pipeline degrees"
            )
        if self.interleave > 1 and (self.pipeline == 1 or self.micro_batches % self.pipeline):
            raise PlanError(
                f"{self.interleave} parts of the model per stage, and {self.micro_batches} "
                f"micro-batches for {self.pipeline} stages: an interleaved schedule sends them "
                "round in groups of as many as there are stages, at least two; take a multiple, "
                "or interleave=1"
            )

    @property
    def data(self) -> int:
        """The number of replicas."""
        return self.cluster.ranks // (self.tensor * self.pipeline)

    @property
    def micro_batches(self) -> int:
        """Micro-batches that each replica works through in a step."""
        return self.global_batch // (self.data * self.micro_batch)

    def check(self, model: Transformer | Mlp | Cnn) -> None:
        """Raise a PlanError unless the model divides as the plan says.

        Heads of keys and values may be fewer than ``tensor``: then ranks keep equal copies of
        them, as AWS's replicator of keys and values does.
        """
        if isinstance(model, Mlp | Cnn):
            if self.tensor * self.pipeline > 1 or self.recompute != "none":
                raise PlanError(
                    f"{model.name} has layers and no blocks: it runs with tensor=1, pipeline=1 and "
                    "recompute='none', whole on every rank; ZeRO may share out what it keeps"
                )
            return
        instance(model, "model", Transformer, 'get_model("gpt3-175b"), say')
        for label, count, degree in (
            ("layers", model.layers, self.pipeline * self.interleave),
            ("attention heads", model.heads, self.tensor),
            ("columns of the MLP", model.ffn, self.tensor),
        ):
            if count % degree:
                kind = "pipeline" if label == "layers" else "tensor"
                raise PlanError(
                    f"{model.name} has {count} {label}, which do not divide by {degree} "
                    f"({kind} parallelism): every rank takes an equal part, so take a divisor"
                )
        if model.kv_heads % self.tensor and self.tensor % model.kv_heads:
            raise PlanError(
                f"{model.name} has {model.kv_heads} heads for keys and values, which neither "
                f"divide by {self.tensor} (tensor parallelism) nor divide it: every rank takes "
                "an equal part or an equal copy of them"
            )
        if self.sequence_parallel and model.sequence % self.tensor:
            raise PlanError(
                f"{model.name}: sequences of {model.sequence} tokens do not divide by "
                f"{self.tensor}: every tensor-parallel rank takes an equal part of them"
            )

    def __str__(self):
        more = [f"ZeRO-{self.zero}"] * bool(self.zero)
        more += ["sequence parallel"] * self.sequence_parallel
        more += [f"interleave {self.interleave}"] * (self.interleave > 1)
        return ", ".join([
            f"{self.cluster.instances} x {self.cluster.instance}",
            f"tensor {self.tensor} x pipeline {self.pipeline} x data {self.data}", *more,
            f"micro-batch {self.micro_batch} of {self.global_batch}",
            f"recompute {self.recompute}", *["flash attention"] * self.flash_attention,
            self.precision, self.optimizer,
        ])  # fmt: skip
