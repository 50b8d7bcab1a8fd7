"""What cannot be planned, timed or priced is refused in one sentence; rows in ``refusals.toml``."""

from dataclasses import replace

from tests.refused import refusals
from trainium_edu import cluster
from trainium_edu.cluster import Cluster, Cnn, Mlp, Plan
from trainium_edu.specs import BENCHMARKS

SCOPE = {name: getattr(cluster, name) for name in cluster.__all__} | {
    "replace": replace, "BENCHMARKS": BENCHMARKS, "FOUR": Cluster("trn1.32xlarge", 4),
    "BIG": Plan(Cluster(instances=16), 32, 8, sequence_parallel=True, recompute="full",
                global_batch=1024),
    "TEN_TRILLION": cluster.get_model("gpt-10t"), "MLP": Mlp("mlp", (64, 256, 10)),
    "CNN": Cnn("cnn", (1, 8, 8), (("conv", 16, 3, 1, 1), ("pool", 2), ("linear", 10))),
}  # fmt: skip

test_each_call_is_refused_in_one_sentence = refusals(__file__, SCOPE)
