"""Random numbers: ``set_rng_seed``, ``rng`` and the dice of ``dropout``.

Vector draws from a shift register that is not published in detail; here every draw is Philox of
(seed, number of the element since the seed was set), so a run can be replayed and checked.  GpSimd,
on later chips, has an XORWOW generator for each lane, whose six words can be read and set.
"""

import numpy as np

from trainium_edu import numerics
from trainium_edu.neuroncore.engines.checks import limits, number
from trainium_edu.neuroncore.engines.costs import priced
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.instruction_set import define
from trainium_edu.neuroncore.recording.views import View

__all__ = ["draw"]

_STREAM = 2**63  #: the ``step`` of these draws: apart from the steps of stochastic rounding


def draw(core, n: int) -> np.ndarray:
    """Return the core's next `n` random words, uint32[n]."""
    state = core.state.setdefault("rng", {"seed": core.rounding.seed, "drawn": 0})
    # 31 bits in 32
    words = numerics.random_bits.raw_bits(n, state["seed"], _STREAM, state["drawn"], 31)
    state["drawn"] += n
    return words


# -- set_rng_seed -----------------------------------------------------------------------------


def _set_seed(call):
    seed = int(call.src_seeds.read().reshape(-1).view(np.uint32)[0])
    call.core.state["rng"] = {"seed": seed, "drawn": 0}


define(
    "set_rng_seed", Engine.VECTOR, writes=(), reads=("src_seeds",), pure=False,
    check=limits(src_seeds="[1, 1]; float32 tfloat32 int32 uint32: a seed is a 32-bit value"),
    execute=_set_seed, **priced("rng", "src_seeds", any_stride=True),
)  # fmt: skip


# -- rng --------------------------------------------------------------------------------------


def _states(core) -> np.ndarray:
    """Return the XORWOW generator of each of GpSimd's lanes, uint32[128, 6]: x, y, z, w, v, d."""
    if "xorwow" not in core.state:
        seed = core.rounding.seed
        words = numerics.random_bits.raw_bits(128 * 6, seed, _STREAM + 1, 0, 31)
        core.state["xorwow"] = words.reshape(128, 6)
    return core.state["xorwow"]


def _xorwow(state, n: int) -> np.ndarray:
    """Return the next `n` words of each lane, uint32[lanes, n] (Marsaglia 2003, section 3.1)."""
    words = np.empty((len(state), n), np.uint32)
    for k in range(n):
        x, v = state[:, 0], state[:, 4]
        t = x ^ (x >> np.uint32(2))
        v = v ^ (v << np.uint32(4)) ^ t ^ (t << np.uint32(1))
        state[:, :4], state[:, 4] = state[:, 1:5].copy(), v
        state[:, 5] += np.uint32(362437)
        words[:, k] = v + state[:, 5]
    return words


def _lanes(call, view) -> np.ndarray:
    """Return the generators beside a tile's partitions."""
    return _states(call.core)[view.start_partition :][: view.shape[0]]


def _check_gpsimd(call):
    if call.engine is Engine.GPSIMD:
        call.needs("gpsimd_rng", f"{call.name} on the GpSimd Engine", "use the Vector Engine's rng")


def _rng(call):
    dst = call.dst
    if call.engine is Engine.GPSIMD:
        words = _xorwow(_lanes(call, dst), dst.free_size)
    else:
        words = draw(call.core, dst.size)
    kept = words.astype(f"u{dst.dtype.itemsize}")  # the least significant bits
    dst.write_bits(kept.view(dst.dtype.storage).reshape(dst.shape))


define(
    "rng", (Engine.VECTOR, Engine.GPSIMD), pure=False, execute=_rng,
    check=limits(
        on_gpsimd=_check_gpsimd,
        dst="[P, F]; integer: random bits go into integers, so divide by their largest value "
        "afterwards for a number from 0 to 1"
    ),
    **priced("rng", "dst", any_stride=True),
)  # fmt: skip


# -- rand_set_state, rand_get_state -----------------------------------------------------------


def _set_state(call):
    _lanes(call, call.src_seeds)[:] = call.src_seeds.read()


def _get_state(call):
    call.dst.write_bits(_lanes(call, call.dst).copy())


_SIX = "[P, 6]: the six words of a lane's generator; uint32"
define(
    "rand_set_state", Engine.GPSIMD, writes=(), reads=("src_seeds",), pure=False,
    check=limits(on_gpsimd=_check_gpsimd, src_seeds=_SIX), execute=_set_state,
    **priced("rng", "src_seeds", any_stride=True),
)  # fmt: skip
define(
    "rand_get_state", Engine.GPSIMD, pure=False, execute=_get_state,
    check=limits(on_gpsimd=_check_gpsimd, dst=_SIX), **priced("rng", "dst", any_stride=True),
)  # fmt: skip


# -- dropout ----------------------------------------------------------------------------------


def _check_chance(call):
    prob, is_float = call.prob, call.data.dtype.is_float
    if not isinstance(prob, View):
        if not 0.0 <= number(call, "prob") <= 1.0:
            call.refuse(f"prob is {prob!r}; a probability lies between 0 and 1")
    elif prob.dtype.name != "float32" and not (is_float and prob.dtype.is_float):
        call.refuse(
            f"prob is {prob.dtype}; beside {call.data.dtype} data it must be "
            f"{'a float' if is_float else 'float32'}: tensor_copy it into such a tile first"
        )


def _dropout(call):
    data, dst = call.data, call.dst
    words = draw(call.core, data.size).reshape(data.shape)
    luck = (words >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)  # in [0, 1)
    if isinstance(call.prob, View):
        prob = call.prob.read_fp32().reshape(-1, *(1,) * (len(data.shape) - 1))
    else:
        prob = np.float32(number(call, "prob"))
    kept = np.where(luck < prob, np.zeros((), data.dtype.storage), data.read())
    dst.write_bits(kept.reshape(dst.shape))


define(
    "dropout", Engine.VECTOR, reads=("data", "prob"), pure=False,
    check=limits(
        data="[P, F]", dst="[P, F]; like data", prob="number or [P, 1]", chance=_check_chance
    ),
    execute=_dropout, **priced("dropout", "data", any_stride=True),
)  # fmt: skip
