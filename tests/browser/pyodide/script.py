"""What a laptop's Python and a browser's must print alike: bits, times, plans."""

import hashlib
import json
import sys
import warnings

import numpy as np

from trainium_edu import cluster, fabric, nki, numerics
from trainium_edu.nki import isa as nisa
from trainium_edu.nki import language as nl
from trainium_edu.nki.examples import matmul, softmax

warnings.simplefilter("ignore")  # of Python 3.14, and of what its modules say of a browser
told = {"pointer bits": np.dtype(np.intp).itemsize * 8, "platform": sys.platform}


def bits(array):
    array = np.ascontiguousarray(array)
    return hashlib.sha256(array.view(f"u{array.dtype.itemsize}").tobytes()).hexdigest()[:16]


rng = np.random.default_rng(1)
numbers = (rng.standard_normal(700) * 2.0 ** (np.arange(700) % 40 - 20)).astype(np.float32)
told["1.01 in BF16"] = hex(int(numerics.cast(np.float32([1.01]), "bf16").view(np.uint16)[0]))
for name in ("bf16", "fp16", "fp8_e5m2", "fp8_e4m3", "fp8_e3m4", "tf32", "int8"):
    told[name] = bits(numerics.cast(numbers, name))
for name in ("bf16", "fp16", "fp8_e4m3"):
    told[f"{name} tossed"] = bits(numerics.cast(numbers, name, "stochastic", seed=3))


@nki.jit
def double(x):
    tile = nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf)
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(tile, x)
    nisa.tensor_scalar(tile, tile, nl.multiply, 2.0)
    nisa.dma_copy(out, tile)
    return out


def square(*shape):
    return rng.integers(-4, 5, shape).astype(np.float32)


for kernel, operands in (
    (double, [np.ones((128, 512), np.float32)]),
    (matmul.tiled, [square(256, 128), square(256, 512)]),
    (matmul.hoisted, [square(256, 256), square(256, 512)]),
    (softmax.softmax_fused, [square(256, 64)]),
):
    run = nki.run(kernel, *operands)
    sums = float(np.asarray(run.outputs, np.float64).sum())
    told[kernel.__name__] = [round(sums, 3), round(run.timeline.makespan_ns, 6)]

trn1, trn2 = fabric.trn1_32xlarge(), fabric.machine("trn2.48xlarge")
for machine, algorithm in (
    (trn1, "ring"), (trn1, "kangaring"), (trn1, "mesh"), (trn1, "rdh"), (trn2, "ring"),
):  # fmt: skip
    held = [np.arange(64, dtype=np.float32) * rank for rank in range(machine.ranks)]
    told[f"{machine.name} {algorithm}"] = [
        bits(np.stack(fabric.all_reduce(held, machine, algorithm))),
        str(fabric.account(fabric.plan(machine, "all_reduce", algorithm), machine, 2**26)),
    ]
told["0 + 1 + ... + 31"] = float(
    fabric.all_reduce([np.float32([rank]) for rank in range(32)], trn1, "kangaring")[0][0]
)
plans = cluster.fits("gpt3-175b", cluster.Cluster("trn1.32xlarge", 256))
told["plans"] = hashlib.sha256(str(plans).encode()).hexdigest()[:16]

from trainium_edu import xla  # noqa: E402  (after its warning about locks is switched off)

device = xla.Device()
weight = xla.as_tensor([3.0, 4.0], device).requires_grad_()
(weight * weight).sum().backward()
device.mark_step()
told["gradient"] = weight.grad.numpy().tolist()
print(json.dumps(told))
