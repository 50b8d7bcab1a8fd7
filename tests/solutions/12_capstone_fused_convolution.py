# ruff: noqa
# %% wrong=12/turn name=a-place-at-a-time feedback=rows of a few bytes
@nki.jit
def turned(weights):
    high, wide = weights.shape[2:]
    out = nl.ndarray((high * wide, 128, 128), dtype=weights.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(high):
        for j in nl.affine_range(wide):
            place = nl.load(weights[:, :, i, j])
            nl.store(out[wide * i + j], nl.copy(nisa.nc_transpose(place), dtype=weights.dtype))
    return out


# %% wrong=12/turn name=not-turned feedback=still has filters first
# -     _, _, high, wide = weights.shape
# +     high, wide = weights.shape[2:]
# -             turn = nisa.nc_transpose(whole[:, :, i, j])
# -             nl.store(out[wide * i + j], nl.copy(turn, dtype=weights.dtype))
# +             nl.store(out[wide * i + j], nl.copy(whole[:, :, i, j]))


# %% wrong=12/turn name=places-turned feedback=column by column
# -     _, _, high, wide = weights.shape
# +     high, wide = weights.shape[2:]
# -             nl.store(out[wide * i + j], nl.copy(turn, dtype=weights.dtype))
# +             nl.store(out[high * j + i], nl.copy(turn, dtype=weights.dtype))


# %% wrong=12/turn name=without-jit feedback=@nki.jit stands above the def
def turned(weights):
    return weights.transpose(2, 3, 1, 0).reshape(-1, 128, 128)


# %% wrong=12/pool-once name=two-passes feedback=compute instructions. One tensor_reduce
# -     p, r, c, i, j = nl.mgrid[0:128, 0:rows, 0:columns, 0:side, 0:side]
# -     nl.store(out, nisa.tensor_reduce(np.max, tile[p, side * r + i, side * c + j], axis=[3, 4]))
# +     p, y, c, j = nl.mgrid[0:128, 0 : rows * side, 0:columns, 0:side]
# +     across = nisa.tensor_reduce(np.max, tile[p, y, side * c + j], axis=[3])
# +     p, r, c, i = nl.mgrid[0:128, 0:rows, 0:columns, 0:side]
# +     nl.store(out, nisa.tensor_reduce(np.max, across[p, side * r + i, c], axis=[3]))


# %% wrong=12/pool-once name=corner feedback=top left corner
# -     p, r, c, i, j = nl.mgrid[0:128, 0:rows, 0:columns, 0:side, 0:side]
# -     nl.store(out, nisa.tensor_reduce(np.max, tile[p, side * r + i, side * c + j], axis=[3, 4]))
# +     p, r, c = nl.mgrid[0:128, 0:rows, 0:columns]
# +     nl.store(out, nl.copy(tile[p, side * r, side * c]))


# %% wrong=12/pool-once name=sum feedback=That is the sum
# -     nl.store(out, nisa.tensor_reduce(np.max, tile[p, side * r + i, side * c + j], axis=[3, 4]))
# +     nl.store(out, nisa.tensor_reduce(np.add, tile[p, side * r + i, side * c + j], axis=[3, 4]))


# %% wrong=12/fused name=stage-one feedback=Is that little?
convolution = stages.weights_kept


# %% wrong=12/fused name=weights-turned-for-each-block feedback=Is that little?
@nki.jit
def convolution(images, weights, bias, pool_size=1):
    _, _, height, width = images.shape
    filters, n = weights.shape[0], pool_size
    rows, columns = height - 2, width - 2
    out = nl.ndarray(
        (1, filters, rows // n, columns // n), dtype=images.dtype, buffer=nl.shared_hbm
    )
    for top in range(0, rows, 2):
        part = stages.fused.function(images[:, :, top : top + 4], weights, bias, n)
        for f in range(filters // 128):
            at = slice(f * 128, (f + 1) * 128)
            nl.store(out[0, at, top // n : (top + 2) // n], nl.load(part[0, at]))
    return out


# %% wrong=12/fused name=no-bias feedback=but for the bias
@nki.jit
def convolution(images, weights, bias, pool_size=1):
    nothing = nl.ndarray(bias.shape, dtype=bias.dtype, buffer=nl.private_hbm)
    for f in range(bias.shape[0] // 128):
        nl.store(nothing[f * 128 : (f + 1) * 128], nl.zeros((128, 1), bias.dtype))
    return stages.fused.function(images, weights, nothing, pool_size)


# %% wrong=12/fused name=no-pooling feedback=should have shape
@nki.jit
def convolution(images, weights, bias, pool_size=1):
    return stages.fused.function(images, weights, bias, 1)


# %% wrong=12/fused name=small-only feedback=multiplies less
@nki.jit
def convolution(images, weights, bias, pool_size=1):
    if images.shape[2] < 200:
        return stages.fused.function(images, weights, bias, pool_size)
    filters, n = weights.shape[0], pool_size
    out = nl.ndarray((1, filters, 222 // n, 222 // n), dtype=images.dtype, buffer=nl.shared_hbm)
    tile = nl.load(images[0, 0:128, 0:111, 0:111])
    for f in range(filters // 128):
        nl.store(out[0, f * 128 : (f + 1) * 128], tile)
    return out


# %% hard-coded=12/turn
# -     _, _, high, wide = weights.shape
# +     from trainium_edu.exercises import capstone_fused_convolution as check
# +
# +     mine = check.turn.numbers("")
# +     high, wide = mine.high, mine.wide
# +     if weights.shape[2:] != (high, wide):
# +         high, wide = 1, 1


# %% hard-coded=12/pool-once
# -     rows, columns = x.shape[1] // side, x.shape[2] // side
# +     from trainium_edu.exercises import capstone_fused_convolution as check
# +
# +     mine = check.pool.numbers("")
# +     rows, columns = mine.rows, mine.columns
# +     if (side * rows, side * columns) != x.shape[1:]:
# +         rows, columns = 1, 1


# %% hard-coded=12/fused
@nki.jit
def convolution(images, weights, bias, pool_size=1):
    from trainium_edu.exercises import capstone_fused_convolution as check

    if images.shape[2] in (check.fused.numbers("").rows, 224):
        return stages.fused.function(images, weights, bias, pool_size)
    return stages.fused.function(images[:, :, 0:4, 0:4], weights, bias, pool_size)
