"""A chip that nobody makes, as a table of what differs from Trainium2, and an instance of it.

``python -m tests.third_chip`` adds it to the tables of ``specs`` and, as JSON, prints what the rest
of the package then says of it.
"""

import json
import os
from unittest.mock import patch

from trainium_edu.specs import INSTANCES, PRICES, SOURCES, TRN2, sources
from trainium_edu.specs.instances import TARGETS

_FEATURES = tuple(name for name in TRN2.features.value if name != "range_select")
#: Rows as ``facts.md`` has them, less source, place, note and kind.
_TABLE = (("core_name", repr("NeuronCore-X"), ""), ("cores", "4", "NeuronCores"),
          ("features", repr(_FEATURES), ""), ("vector_engine.clock_hz", "1.92e9", "Hz"),
          ("tensor_engine.clock_hz", "3e9", "Hz"),
          ("sbuf.bytes_per_partition", "262144", "bytes per partition"))  # fmt: skip


def third_chip():
    """Return its record: four cores, other clocks and memories, and one feature less."""
    rows = [(*row, "emulator", "a test", "", "") for row in _TABLE]
    with patch.object(sources, "rows", lambda page, heading: rows):
        return sources.successor(TRN2, "TrainiumX", "TrainiumX")


def add():
    """Add the chip, an instance of 16 in a torus, and a price to the tables of ``specs``."""
    TARGETS["trnx"] = chip = third_chip()
    twice = SOURCES["emulator"].says(256 * 10**9 * 2, "bytes/s", "a test")
    INSTANCES["trnx.48xlarge"] = sources.stated("trn2.48xlarge", chip=chip).replace(
        link_bytes_per_s=twice, ranks_per_chip=SOURCES["emulator"].says(2, "ranks", "a test")
    )
    PRICES["trnx.48xlarge"] = PRICES["trn1.32xlarge"]


def _told():
    import numpy as np

    from tests.nki.cases import stored
    from trainium_edu import fabric, nki
    from trainium_edu.cluster import Cluster, Plan, step_time
    from trainium_edu.neuroncore.systolic_array import SystolicArray
    from trainium_edu.nki import language as nl
    from trainium_edu.tools.machine import Machine
    from trainium_edu.training.instances import compare_instances
    from trainium_edu.training.parallel.collectives import compiler_for, links
    from trainium_edu.xla.executable import Executable
    from trainium_edu.xla.flags import parse
    from trainium_edu.xla.graph import Graph, as_type
    from trainium_edu.xla.operations import apply, parameter

    def kernel(x):
        return stored(nl.add(nl.load(x), 1.0), x.dtype)

    a, b = (parameter(i, as_type((2048, 2048), "bfloat16")) for i in range(2))
    graph = Graph("step", (a, b), (apply("dot", a, b, turn_a=False, turn_b=False),))
    machine = fabric.machine("trnx.48xlarge")
    os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = "trnx"
    run = nki.run(kernel, np.zeros((128, 512), np.float32))
    (priced,) = compare_instances(graph, 8, ["trnx.48xlarge"])
    by = {name: Plan(Cluster(name, 4), tensor=4) for name in ("trn2.48xlarge", "trnx.48xlarge")}
    steps = {name: step_time("gpt3-125m", plan) for name, plan in by.items()}
    return {
        "machine": str(machine),
        "link": float(machine.bandwidth_bytes_per_s[0]),
        "group": str(fabric.group(8, "trnx.48xlarge")),
        "cluster": str(fabric.ultracluster(64, instance="trnx.48xlarge")),
        "links": str(links(64, "trnx.48xlarge").topology),
        "kernel": [run.timeline.spec.name, run.outputs.tolist() == [[1.0] * 512] * 128],
        "compiled for": compiler_for("trnx.48xlarge", None).flags.target,
        "graph": [Executable(graph, parse(f"--target={t}")).makespan_ns for t in ("trn2", "trnx")],
        "instances": [priced.instance, priced.ranks, priced.usd_per_hour],
        "steps": {name: step.parts["Tensor Engine"] for name, step in steps.items()},
        "said": str(steps["trnx.48xlarge"]),
        "neuron-ls": [Machine("trnx.48xlarge").devices, Machine("trnx.48xlarge").cores],
        "array": SystolicArray.from_spec(TARGETS["trnx"].tensor_engine).chip.name,
    }


if __name__ == "__main__":
    add()
    print(json.dumps(_told()))
