"""Four little kernels, each sound and with one fault: it reads numbers that nobody wrote.

``x`` is [128, n]; each reads a whole tile at its end.  The lesson shows one version of each.
"""

import inspect
import textwrap

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl

__all__ = ["NAMES", "kernel", "listing"]

NAMES = ("shifted", "row_parts", "running_total", "padded")


@nki.jit
def shifted_sound(x, step):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.memset(dst=tile, value=0.0)
    nisa.dma_copy(dst=tile[:, : x.shape[1] - step], src=x[:, step:])
    nisa.dma_copy(dst=out, src=tile)
    return out


@nki.jit
def shifted_faulty(x, step):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile[:, : x.shape[1] - step], src=x[:, step:])
    nisa.dma_copy(dst=out, src=tile)
    return out


@nki.jit
def row_parts_sound(x, step):
    parts = x.shape[1] // step
    out = nl.ndarray((128, parts), dtype=x.dtype, buffer=nl.shared_hbm)
    tile, sums = nl.load(x), nl.ndarray((128, parts), dtype=x.dtype, buffer=nl.sbuf)
    for i in nl.affine_range(parts):
        piece = tile[:, i * step : (i + 1) * step]
        nisa.tensor_reduce(dst=sums[:, i : i + 1], op=nl.add, data=piece, axis=1)
    nisa.dma_copy(dst=out, src=sums)
    return out


@nki.jit
def row_parts_faulty(x, step):
    parts = x.shape[1] // step
    out = nl.ndarray((128, parts), dtype=x.dtype, buffer=nl.shared_hbm)
    tile, sums = nl.load(x), nl.ndarray((128, parts), dtype=x.dtype, buffer=nl.sbuf)
    for i in nl.affine_range(parts // 2):
        piece = tile[:, 2 * i * step : (2 * i + 1) * step]
        nisa.tensor_reduce(dst=sums[:, 2 * i : 2 * i + 1], op=nl.add, data=piece, axis=1)
    nisa.dma_copy(dst=out, src=sums)
    return out


@nki.jit
def running_total_sound(x, step):
    out = nl.ndarray((128, step), dtype=x.dtype, buffer=nl.shared_hbm)
    total = nl.zeros((128, step), dtype=x.dtype, buffer=nl.sbuf)
    for i in nl.affine_range(x.shape[1] // step):
        piece = nl.load(x[:, i * step : (i + 1) * step])
        nisa.tensor_tensor(dst=total, data1=total, data2=piece, op=nl.add)
    nisa.dma_copy(dst=out, src=total)
    return out


@nki.jit
def running_total_faulty(x, step):
    out = nl.ndarray((128, step), dtype=x.dtype, buffer=nl.shared_hbm)
    total = nl.ndarray((128, step), dtype=x.dtype, buffer=nl.sbuf)
    for i in nl.affine_range(x.shape[1] // step):
        piece = nl.load(x[:, i * step : (i + 1) * step])
        nisa.tensor_tensor(dst=total, data1=total, data2=piece, op=nl.add)
    nisa.dma_copy(dst=out, src=total)
    return out


@nki.jit
def padded_sound(x, step):
    n = x.shape[1]
    out = nl.ndarray((128, n + 2 * step), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, n + 2 * step), dtype=x.dtype, buffer=nl.sbuf)
    nisa.memset(dst=tile[:, :step], value=0.0)
    nisa.memset(dst=tile[:, step + n :], value=0.0)
    nisa.dma_copy(dst=tile[:, step : step + n], src=x)
    nisa.dma_copy(dst=out, src=tile)
    return out


@nki.jit
def padded_faulty(x, step):
    n = x.shape[1]
    out = nl.ndarray((128, n + 2 * step), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, n + 2 * step), dtype=x.dtype, buffer=nl.sbuf)
    nisa.memset(dst=tile[:, :step], value=0.0)
    nisa.dma_copy(dst=tile[:, step : step + n], src=x)
    nisa.dma_copy(dst=out, src=tile)
    return out


def kernel(name: str, *, sound: bool):
    """Return one version of a kernel by its name."""
    return globals()[f"{name}_{'sound' if sound else 'faulty'}"]


def listing(faulty: str) -> str:
    """Return the sources of all four, one of them in its faulty version, without saying which."""
    texts = []
    for name in NAMES:
        version = kernel(name, sound=name != faulty)
        source = textwrap.dedent(inspect.getsource(version.function))
        texts.append(source.replace(version.__name__, name))
    return "\n\n".join(texts)
