"""Chips and the instances that hold them: Trainium, Inferentia2, and the GPUs they are set against.

``TRN1`` and ``INF2`` are the specs that timing and checks take (``spec=TRN1``): the facts of one
NeuronCore-v2 (``TRN1.tensor_engine``, ``TRN1.sbuf``, ...) together with those of the chip.
"""

from trainium_edu.specs.neuroncore import NEURONCORE_V2
from trainium_edu.specs.sources import stated, successor

__all__ = ["CHIPS", "GENERATIONS", "INF2", "INSTANCES", "TARGETS", "TRN1", "TRN2", "ULTRACLUSTER",
           "ends", "with_cores"]  # fmt: skip

_core = dict(NEURONCORE_V2.items())
#: One Trainium chip, two NeuronCores-v2.
TRN1 = stated("Trainium", **_core).replace(**_core)
#: One Inferentia2 chip: the same cores, half the links.
INF2 = stated("Inferentia2", **_core).replace(**_core)
#: One Trainium2 chip, eight NeuronCores-v3.
TRN2 = successor(TRN1, "Trainium2", "Trainium2: where it differs from Trainium")
A100 = stated("NVIDIA A100 (40 GB)")
V100 = stated("NVIDIA V100 (32 GB)")
CHIPS = {"trainium": TRN1, "inferentia2": INF2, "trainium2": TRN2, "a100": A100, "v100": V100}
#: The chips that programs are compiled for, by the compiler's names; and by those of NKI alone.
TARGETS = {"trn1": TRN1, "trn1n": TRN1, "inf2": INF2, "trn2": TRN2}
GENERATIONS = {"gen2": TRN1, "gen3": TRN2}

_CHIP_OF = {
    "trn1.2xlarge": TRN1, "trn1.32xlarge": TRN1, "trn1n.32xlarge": TRN1, "inf2.xlarge": INF2,
    "inf2.8xlarge": INF2, "inf2.24xlarge": INF2, "inf2.48xlarge": INF2, "trn2.3xlarge": TRN2,
    "trn2.48xlarge": TRN2, "p4d.24xlarge": A100, "p3dn.24xlarge": V100,
}  # fmt: skip
#: Every instance by its API name.
INSTANCES = {name: stated(name, chip=chip) for name, chip in _CHIP_OF.items()}


def with_cores(*further: str) -> list[str]:
    """Return the names of the instances with NeuronCores, of which `further` facts are known."""
    return [name for name, one in INSTANCES.items()
            if all(hasattr(one, fact) for fact in ("cores", *further))]  # fmt: skip


def ends(target: str) -> tuple[str, str]:
    """Return the names of a target's instances with the fewest and the most chips."""
    sizes = {name: float(INSTANCES[name].chips) for name in with_cores()
             if INSTANCES[name].chip is TARGETS[target]}  # fmt: skip
    return min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)


ULTRACLUSTER = stated("EC2 UltraCluster", trn1=INSTANCES["trn1.32xlarge"], chip=TRN1)
