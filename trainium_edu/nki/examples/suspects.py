"""Four little kernels, each sound and with one fault: it reads uninitialised memory.

``x`` is [128, n]; each reads a whole tile at its end.  The lesson shows one version of each.
"""

import inspect

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl

__all__ = ["NAMES", "kernel", "listing"]

NAMES = ("shifted", "row_parts", "running_total", "padded")
#: The faulty version of each, as edits of the sound one.
FAULTS = {
    "shifted": {"    nisa.memset(dst=tile, value=0.0)\n": ""},
    "row_parts": {"(parts):": "(parts // 2):", "i * step :": "2 * i * step :",
                  "(i + 1)": "(2 * i + 1)", "i : i + 1": "2 * i : 2 * i + 1"},
    "running_total": {"zeros": "ndarray"},
    "padded": {"    nisa.memset(dst=tile[:, step + n :], value=0.0)\n": ""},
}  # fmt: skip


@nki.jit
def shifted(x, step):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.memset(dst=tile, value=0.0)
    nisa.dma_copy(dst=tile[:, : x.shape[1] - step], src=x[:, step:])
    nisa.dma_copy(dst=out, src=tile)
    return out


@nki.jit
def row_parts(x, step):
    parts = x.shape[1] // step
    out = nl.ndarray((128, parts), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    sums = nl.ndarray((128, parts), dtype=x.dtype, buffer=nl.sbuf)
    for i in nl.affine_range(parts):
        piece = tile[:, i * step : (i + 1) * step]
        nisa.tensor_reduce(dst=sums[:, i : i + 1], op=nl.add, data=piece, axis=1)
    nisa.dma_copy(dst=out, src=sums)
    return out


@nki.jit
def running_total(x, step):
    out = nl.ndarray((128, step), dtype=x.dtype, buffer=nl.shared_hbm)
    total = nl.zeros((128, step), dtype=x.dtype, buffer=nl.sbuf)
    for i in nl.affine_range(x.shape[1] // step):
        piece = nl.load(x[:, i * step : (i + 1) * step])
        nisa.tensor_tensor(dst=total, data1=total, data2=piece, op=nl.add)
    nisa.dma_copy(dst=out, src=total)
    return out


@nki.jit
def padded(x, step):
    n = x.shape[1]
    out = nl.ndarray((128, n + 2 * step), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, n + 2 * step), dtype=x.dtype, buffer=nl.sbuf)
    nisa.memset(dst=tile[:, :step], value=0.0)
    nisa.memset(dst=tile[:, step + n :], value=0.0)
    nisa.dma_copy(dst=tile[:, step : step + n], src=x)
    nisa.dma_copy(dst=out, src=tile)
    return out


def _source(name: str, *, sound: bool) -> str:
    source = inspect.getsource(globals()[name].function)
    for line, instead in () if sound else FAULTS[name].items():
        source = source.replace(line, instead)
    return source


def kernel(name: str, *, sound: bool):
    """Return one version of a kernel by its name."""
    if sound:
        return globals()[name]
    versions: dict = {}
    exec(_source(name, sound=False), globals(), versions)
    return versions[name]


def listing(faulty: str) -> str:
    """Return the sources of all four, one of them in its faulty version, without saying which."""
    return "\n\n".join(_source(name, sound=name != faulty) for name in NAMES)
