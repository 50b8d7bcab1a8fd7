"""What ``--auto-cast`` does to the numbers: four computations, compiled with each setting.

Each is recorded in FP32 and run as the compiler's ``auto-cast`` pass leaves it.  The error is the
root mean square distance from the FP32 result, in spreads (standard deviations) of that result.

>>> errors = auto_cast_errors()
>>> errors["a matrix product"]["matmult"] < 0.01 < errors["layer norm of numbers near 100"]["all"]
True
"""

from collections.abc import Callable

import numpy as np

from trainium_edu.specs.arguments import choice
from trainium_edu.training import nn
from trainium_edu.xla import numpy as xnp
from trainium_edu.xla.compiler import cut
from trainium_edu.xla.device import Device
from trainium_edu.xla.executor import Plan
from trainium_edu.xla.passes.auto_cast import CAST_TYPES, auto_cast
from trainium_edu.xla.tensor import Tensor, as_tensor

__all__ = ["CASES", "MODES", "auto_cast_errors", "error_table"]

MODES = ("none", "matmult", "all")
_ROWS, _WIDTH = 128, 256


def _product(device, draw) -> Tensor:
    x, w = (as_tensor(draw.normal(size=(_WIDTH, _WIDTH)), device) for _ in range(2))
    return x @ w


def _softmax(device, draw) -> Tensor:
    x = as_tensor(draw.normal(0, 8, (_ROWS, _WIDTH)), device)
    return xnp.softmax(x)


def _layer_norm(device, draw) -> Tensor:
    x = as_tensor(100 + draw.normal(size=(_ROWS, _WIDTH)), device)
    return nn.LayerNorm(_WIDTH).to(device)(x)


def _update(device, draw) -> Tensor:
    w, g = (as_tensor(draw.normal(size=(_ROWS, _WIDTH)), device) for _ in range(2))
    return w - 1e-3 * g


#: name -> function (device, generator) that records it
CASES: dict[str, Callable] = {
    "a matrix product": _product,
    "a softmax": _softmax,
    "layer norm of numbers near 100": _layer_norm,
    "the change that an update makes": _update,
}


def auto_cast_errors(type: str = "bf16", seed: int = 0) -> dict[str, dict[str, float]]:
    """Return the error of each case with each setting of ``--auto-cast``.

    Parameters
    ----------
    type : {"bf16", "fp16", "tf32", "fp8_e4m3"}
        As ``--auto-cast-type`` has it.
    seed : int
        Of the made-up numbers.

    Returns
    -------
    dict
        case → setting → error in spreads of the FP32 result; for an update, in spreads of the
        change that it makes to the weights.
    """
    choice(type, "type", tuple(CAST_TYPES))
    return {name: _errors(record, type, seed) for name, record in CASES.items()}


def _errors(record, type, seed):
    device = Device()
    graph, numbers = cut((record(device, np.random.default_rng(seed)).as_node(),))
    feeds = [device.pending.feeds[n] for n in numbers]
    found = {
        mode: Plan(auto_cast(graph, mode, type).after).run(feeds)[0].astype(float) for mode in MODES
    }
    right = found["none"]
    spread = (right - feeds[0]).std() if record is _update else right.std()
    return {
        mode: float(np.sqrt(((out - right) ** 2).mean()) / spread) for mode, out in found.items()
    }


def error_table(errors: dict[str, dict[str, float]]) -> str:
    """Return the errors as a table to print, in per cent of the result's spread."""
    rows = [f"{'':34}" + "".join(f"{mode:>10}" for mode in MODES)]
    for name, of in errors.items():
        rows.append(f"{name:34}" + "".join(f"{100 * of[mode]:>8.2f} %" for mode in MODES))
    return "\n".join(rows)
