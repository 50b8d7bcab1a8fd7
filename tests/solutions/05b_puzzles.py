# ruff: noqa
# %% wrong=05b/copy-tile name=nothing-loaded feedback=nobody wrote them
# -     nisa.dma_copy(dst=out, src=tile)
# +     nisa.dma_copy(dst=out[0:64, :], src=tile[0:64, :])


# %% wrong=05b/copy-tile name=never-on-chip feedback=which of them could go
# -     nisa.dma_copy(dst=out, src=tile)
# +     nisa.dma_copy(dst=out, src=x)


# %% wrong=05b/copy-tile name=numpy feedback=@nki.jit stands above
# - @nki.jit
# - def copy_tile(x):
# + def copy_tile(x):
# +     return x
# +
# + def unused(x):


# %% hard-coded=05b/copy-tile
# - def copy_tile(x):
# + def copy_tile(x):
# +     assert x.shape == (128, 1152)


# %% wrong=05b/double name=three-times feedback=numbers are wrong
# -     nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
# +     nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=3.0)


# %% hard-coded=05b/double
# - def double(x):
# + def double(x):
# +     assert x.shape == (128, 1408)


# %% wrong=05b/add name=row-by-row feedback=128 other instructions
# -     nisa.tensor_tensor(dst=a, data1=a, data2=b, op=nl.add)
# +     for r in range(0, 128, 32):
# +         for c in range(32):
# +             part = (slice(r, r + 32), slice(c * x.shape[1] // 32, (c + 1) * x.shape[1] // 32))
# +             nisa.tensor_tensor(dst=a[part], data1=a[part], data2=b[part], op=nl.add)


# %% hard-coded=05b/add
# - def add(x, y):
# + def add(x, y):
# +     assert x.shape == (128, 832)


# %% wrong=05b/add-column name=subtracted feedback=numbers are wrong
# -     nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=column)
# +     nisa.tensor_scalar(dst=tile, data=tile, op0=nl.subtract, operand0=column)


# %% hard-coded=05b/add-column
# - def add_column(x, b):
# + def add_column(x, b):
# +     assert x.shape == (128, 1472)


# %% wrong=05b/scaled-relu name=two-passes feedback=2 other instructions
# -     nisa.activation(dst=tile, op=nl.relu, data=tile, bias=column, scale=3.0)
# +     nisa.tensor_scalar(
# +         dst=tile, data=tile, op0=nl.multiply, operand0=3.0, op1=nl.add, operand1=column
# +     )
# +     nisa.activation(dst=tile, op=nl.relu, data=tile)


# %% hard-coded=05b/scaled-relu
# - def scaled_relu(x, b):
# + def scaled_relu(x, b):
# +     assert x.shape == (128, 1024)


# %% wrong=05b/row-sums name=smallest feedback=numbers are wrong
# -     nisa.tensor_reduce(dst=sums, op=nl.add, data=tile, axis=1)
# +     nisa.tensor_reduce(dst=sums, op=nl.minimum, data=tile, axis=1)


# %% hard-coded=05b/row-sums
# - def row_sums(x):
# + def row_sums(x):
# +     assert x.shape == (128, 1344)


# %% wrong=05b/every-second name=by-dma feedback=which of them could go
# -     nisa.dma_copy(dst=tile, src=x)
# -     nisa.tensor_copy(dst=even, src=tile[:, 0::2])
# +     nisa.dma_copy(dst=even, src=x[:, 0::2])


# %% hard-coded=05b/every-second
# - def every_second(x):
# + def every_second(x):
# +     assert x.shape == (128, 1408)


# %% wrong=05b/turn name=column-by-column feedback=which of them could go
# -     nisa.nc_transpose(dst=turned, data=tile)
# -     nisa.tensor_copy(dst=result, src=turned)
# +     for c in range(x.shape[1]):
# +         nisa.dma_copy(dst=result[c : c + 1, :], src=x[:, c : c + 1].reshape((1, 128)))


# %% hard-coded=05b/turn
# - def turn(x):
# + def turn(x):
# +     assert x.shape == (128, 64)


# %% wrong=05b/column-sums name=half-the-rows feedback=numbers are wrong
# -     nisa.memset(dst=ones, value=1.0)
# +     nisa.memset(dst=ones, value=0.0)
# +     nisa.memset(dst=ones[0:64, :], value=1.0)


# %% hard-coded=05b/column-sums
# - def column_sums(x):
# + def column_sums(x):
# +     assert x.shape == (128, 128)


# %% wrong=05b/running-sums name=column-by-column feedback=which of them could go
# -     nisa.tensor_tensor_scan(
# -         dst=sums, data0=ones, data1=tile, initial=0.0, op0=nl.multiply, op1=nl.add
# -     )
# +     nisa.tensor_copy(dst=sums, src=tile)
# +     for c in range(1, x.shape[1]):
# +         before, here = sums[:, c - 1 : c], sums[:, c : c + 1]
# +         nisa.tensor_tensor(dst=here, data1=here, data2=before, op=nl.add)


# %% hard-coded=05b/running-sums
# - def running_sums(x):
# + def running_sums(x):
# +     assert x.shape == (128, 1344)
