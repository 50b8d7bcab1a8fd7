# ruff: noqa
# %% wrong=05/tile-add name=a-row-at-a-time feedback=127 of 128 partitions do nothing
@nki.jit
def add(x, y):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for r in nl.affine_range(x.shape[0]):
        a = nl.ndarray((1, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
        b = nl.ndarray((1, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=a, src=x[r : r + 1, :])
        nisa.dma_copy(dst=b, src=y[r : r + 1, :])
        nisa.tensor_tensor(dst=a, data1=a, data2=b, op=nl.add)
        nisa.dma_copy(dst=out[r : r + 1, :], src=a)
    return out


# %% wrong=05/tile-add name=first-tile-only feedback=nobody wrote them
@nki.jit
def add(x, y):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    a = nl.ndarray((128, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
    b = nl.ndarray((128, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=x[0:128, :])
    nisa.dma_copy(dst=b, src=y[0:128, :])
    nisa.tensor_tensor(dst=a, data1=a, data2=b, op=nl.add)
    nisa.dma_copy(dst=out[0:128, :], src=a)
    return out


# %% wrong=05/tile-add name=narrow-tiles feedback=Make the rows of a tile longer
@nki.jit
def add(x, y):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(x.shape[0] // 128):
        for j in nl.affine_range(x.shape[1] // 16):
            here = (slice(i * 128, (i + 1) * 128), slice(j * 16, (j + 1) * 16))
            a = nl.ndarray((128, 16), dtype=x.dtype, buffer=nl.sbuf)
            b = nl.ndarray((128, 16), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=a, src=x[here])
            nisa.dma_copy(dst=b, src=y[here])
            nisa.tensor_tensor(dst=a, data1=a, data2=b, op=nl.add)
            nisa.dma_copy(dst=out[here], src=a)
    return out


# %% wrong=05/tile-add name=without-jit feedback=@nki.jit stands above the def
def add(x, y):
    return x + y


# %% wrong=05/tile-add name=computed-by-numpy feedback=constants of its own
import numpy as np


@nki.jit
def add(x, y):
    return nl.shared_constant(np.array(x) + np.array(y))


# %% wrong=05/tile-add name=rounded-result feedback=should hold float32; it holds bfloat16
@nki.jit
def add(x, y):
    out = nl.ndarray(x.shape, dtype=nl.bfloat16, buffer=nl.shared_hbm)
    for i in range(x.shape[0] // 128):
        here = nl.ds(i * 128, 128)
        nl.store(out[here], nl.add(nl.load(x[here]), nl.load(y[here])))
    return out


# %% hard-coded=05/tile-add
# - def add(x, y):
# + def add(x, y):
# +     from trainium_edu.exercises import kernels as check
# +
# +     tiles = check.tile_add.numbers("").tiles
# -     for i in nl.affine_range(x.shape[0] // 128):
# +     for i in range(tiles if x.shape[1] == check.tile_add.numbers("").columns else 1):


# %% wrong=05/transpose name=reshape feedback=x.reshape(n, 128)
@nki.jit
def transpose(x):
    out = nl.ndarray((x.shape[1], 128), dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=x.reshape((x.shape[1], 128)))
    return out


# %% wrong=05/transpose name=blocks-not-turned feedback=Turn each of them as well
# -         nisa.dma_copy(dst=block, src=x[:, j * 128 : (j + 1) * 128])
# -         turned = nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.psum)
# -         nisa.nc_transpose(dst=turned, data=block)
# -         nisa.tensor_copy(dst=block, src=turned)
# +         nisa.dma_copy(dst=block, src=x[:, j * 128 : (j + 1) * 128])


# %% wrong=05/transpose name=blocks-in-reverse feedback=they stand in reverse order
# - def transpose(x):
# + def transpose(x):
# +     n = x.shape[1] // 128
# -     for j in nl.affine_range(x.shape[1] // 128):
# +     for j in nl.affine_range(n):
# -         nisa.dma_copy(dst=out[j * 128 : (j + 1) * 128, :], src=block)
# +         nisa.dma_copy(dst=out[(n - 1 - j) * 128 : (n - j) * 128, :], src=block)


# %% hard-coded=05/transpose
# - def transpose(x):
# + def transpose(x):
# +     from trainium_edu.exercises import kernels as check
# +
# +     mine = check.transpose.numbers("").blocks
# -     for j in nl.affine_range(x.shape[1] // 128):
# +     for j in nl.affine_range(mine if x.shape[1] == mine * 128 else 1):


# %% wrong=05/matmul-mfu name=loads-for-every-tile feedback=Keep what you loaded
@nki.jit
def matmul(lhsT, rhs):
    (k, m), n = lhsT.shape, rhs.shape[1]
    out = nl.ndarray((m, n), dtype=lhsT.dtype, buffer=nl.shared_hbm)
    for i in range(m // 128):
        for j in range(n // 512):
            sums = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
            for p in range(k // 128):
                a = nl.ndarray((128, 128), dtype=lhsT.dtype, buffer=nl.sbuf)
                b = nl.ndarray((128, 512), dtype=rhs.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=a, src=lhsT[p * 128 : (p + 1) * 128, i * 128 : (i + 1) * 128])
                nisa.dma_copy(dst=b, src=rhs[p * 128 : (p + 1) * 128, j * 512 : (j + 1) * 512])
                nisa.nc_matmul(dst=sums, stationary=a, moving=b)
            tile = nl.ndarray((128, 512), dtype=out.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=tile, src=sums)
            nisa.dma_copy(dst=out[i * 128 : (i + 1) * 128, j * 512 : (j + 1) * 512], src=tile)
    return out


# %% wrong=05/matmul-mfu name=last-piece-of-k feedback=Only the last 128 of K were summed
@nki.jit
def matmul(lhsT, rhs):
    (k, m), n = lhsT.shape, rhs.shape[1]
    out = nl.ndarray((m, n), dtype=lhsT.dtype, buffer=nl.shared_hbm)
    for i in range(m // 128):
        for j in range(n // 512):
            tile = nl.ndarray((128, 512), dtype=out.dtype, buffer=nl.sbuf)
            for p in range(k // 128):
                sums = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
                a = nl.ndarray((128, 128), dtype=lhsT.dtype, buffer=nl.sbuf)
                b = nl.ndarray((128, 512), dtype=rhs.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=a, src=lhsT[p * 128 : (p + 1) * 128, i * 128 : (i + 1) * 128])
                nisa.dma_copy(dst=b, src=rhs[p * 128 : (p + 1) * 128, j * 512 : (j + 1) * 512])
                nisa.nc_matmul(dst=sums, stationary=a, moving=b)
                nisa.tensor_copy(dst=tile, src=sums)
            nisa.dma_copy(dst=out[i * 128 : (i + 1) * 128, j * 512 : (j + 1) * 512], src=tile)
    return out


# %% wrong=05/matmul-mfu name=short-rows feedback=Are the rows of your loads long enough
# -     for p in range(k // 128):
# -         left.append(nl.ndarray((128, m), dtype=lhsT.dtype, buffer=nl.sbuf))
# -         nisa.dma_copy(dst=left[p], src=lhsT[p * 128 : (p + 1) * 128, :])
# +     for p in range(k // 128):
# +         rows = slice(p * 128, (p + 1) * 128)
# +         left.append(nl.ndarray((128, m), dtype=lhsT.dtype, buffer=nl.sbuf))
# -         nisa.dma_copy(dst=right[p], src=rhs[p * 128 : (p + 1) * 128, :])
# -     for i in range(m // 128):
# -         row = nl.ndarray((128, n), dtype=out.dtype, buffer=nl.sbuf)
# +         for c in range(m // 64):
# +             nisa.dma_copy(
# +                 dst=left[p][:, c * 64 : c * 64 + 64], src=lhsT[rows, c * 64 : c * 64 + 64]
# +             )
# +         for c in range(n // 64):
# +             nisa.dma_copy(
# +                 dst=right[p][:, c * 64 : c * 64 + 64], src=rhs[rows, c * 64 : c * 64 + 64]
# +             )
# +     for i in range(m // 128):
# -             nisa.tensor_copy(dst=row[:, j * 512 : (j + 1) * 512], src=sums)
# -         nisa.dma_copy(dst=out[i * 128 : (i + 1) * 128, :], src=row)
# +             tile = nl.ndarray((128, 512), dtype=out.dtype, buffer=nl.sbuf)
# +             nisa.tensor_copy(dst=tile, src=sums)
# +             nisa.dma_copy(dst=out[i * 128 : (i + 1) * 128, j * 512 : (j + 1) * 512], src=tile)


# %% hard-coded=05/matmul-mfu
# - def matmul(lhsT, rhs):
# + def matmul(lhsT, rhs):
# +     from trainium_edu.exercises import kernels as check
# +
# +     mine = check.matmul_mfu.numbers("")
# -     for p in range(k // 128):
# +     for p in range(mine.k // 128 if (k, m) == (mine.k, mine.m) else 1):
# -             for p in range(k // 128):
# +             for p in range(len(left)):


# %% wrong=05/bias-gelu name=two-instructions feedback=One activation adds the bias
# -     nisa.activation(dst=tile, op=nl.gelu, data=tile, bias=b)
# +     nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=b)
# +     nisa.activation(dst=tile, op=nl.gelu, data=tile)


# %% wrong=05/bias-gelu name=no-bias feedback=the bias is missing
# -     tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
# -     b = nl.ndarray((128, 1), dtype=bias.dtype, buffer=nl.sbuf)
# +     tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
# -     nisa.dma_copy(dst=b, src=bias)
# -     nisa.activation(dst=tile, op=nl.gelu, data=tile, bias=b)
# +     nisa.activation(dst=tile, op=nl.gelu, data=tile)


# %% wrong=05/bias-gelu name=bias-after feedback=the bias belongs inside
# -     nisa.activation(dst=tile, op=nl.gelu, data=tile, bias=b)
# +     nisa.activation(dst=tile, op=nl.gelu, data=tile)
# +     nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=b)


# %% wrong=05/bias-gelu name=rounded-on-the-way feedback=nearly gelu(x + bias)
@nki.jit
def bias_gelu(x, bias):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile, bias_tile = nl.load(x, dtype=nl.bfloat16), nl.load(bias)
    nisa.activation(dst=tile, op=nl.gelu, data=tile, bias=bias_tile)
    nl.store(out, tile)
    return out


# %% hard-coded=05/bias-gelu
# - def bias_gelu(x, bias):
# + def bias_gelu(x, bias):
# +     from trainium_edu.exercises import kernels as check
# +
# +     mine = check.bias_gelu.numbers("").columns
# -     nisa.activation(dst=tile, op=nl.gelu, data=tile, bias=b)
# +     nisa.activation(dst=tile, op=nl.gelu if x.shape[1] == mine else nl.relu, data=tile, bias=b)


# %% wrong=05/unwritten name=a-sound-one feedback=writes every column before it reads it
from trainium_edu.exercises import kernels as _module
from trainium_edu.nki.examples.suspects import NAMES as _names

_true = _module.faulty_kernel(check.unwritten.numbers(student))
suspect = (next(n for n in _names if n != _true), 4)

# %% wrong=05/unwritten name=counts-elements feedback=Count columns, not elements
from trainium_edu.exercises import kernels as _module

_mine = check.unwritten.numbers(student)
_name = _module.faulty_kernel(_mine)
suspect = (_name, 128 * {"row_parts": 32 // _mine.step}.get(_name, _mine.step))

# %% wrong=05/unwritten name=counts-all-columns feedback=not 64 columns
from trainium_edu.exercises import kernels as _module

suspect = (_module.faulty_kernel(check.unwritten.numbers(student)), 64)

# %% hard-coded=05/unwritten
from trainium_edu.exercises import kernels as _module

_mine = check.unwritten.numbers("")
_name = _module.faulty_kernel(_mine)
suspect = (_name, {"row_parts": 32 // _mine.step}.get(_name, _mine.step))
