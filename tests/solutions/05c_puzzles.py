# ruff: noqa
# %% wrong=05c/copy-tall name=one-tile feedback=nobody wrote them
# -     for i in nl.affine_range(x.shape[0] // 128):
# +     for i in nl.affine_range(1):


# %% hard-coded=05c/copy-tall
# - def copy_tall(x):
# + def copy_tall(x):
# +     assert x.shape == (384, 1024)


# %% wrong=05c/any-height name=whole-tiles-only feedback=nobody wrote them
# -     for first in range(0, x.shape[0], 128):
# +     for first in range(0, x.shape[0] - 127, 128):


# %% hard-coded=05c/any-height
# - def any_height(x):
# + def any_height(x):
# +     assert x.shape == (200, 1024)


# %% wrong=05c/add-row name=spread-each-time feedback=which of them could go
# -         nisa.tensor_tensor(dst=tile, data1=tile, data2=many, op=nl.add)
# +         again = nl.ndarray((128, n), dtype=x.dtype, buffer=nl.sbuf)
# +         nisa.dma_copy(dst=again, src=v.ap([[0, 128], [1, n]]))
# +         nisa.tensor_tensor(dst=tile, data1=tile, data2=again, op=nl.add)


# %% hard-coded=05c/add-row
# - def add_row(x, v):
# + def add_row(x, v):
# +     assert x.shape == (256, 512)


# %% wrong=05c/outer name=minus feedback=numbers are wrong
# -     nisa.tensor_copy(dst=result, src=product)
# +     nisa.tensor_scalar(dst=result, data=product, op0=nl.multiply, operand0=-1.0)


# %% hard-coded=05c/outer
# - def outer(a, b):
# + def outer(a, b):
# +     assert b.shape == (1, 384)


# %% wrong=05c/centre name=plus-the-mean feedback=numbers are wrong
# -     nisa.tensor_scalar(dst=tile, data=tile, op0=nl.subtract, operand0=sums)
# +     nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=sums)


# %% hard-coded=05c/centre
# - def centre(x):
# + def centre(x):
# +     assert x.shape == (128, 1024)


# %% wrong=05c/causal name=all-zero feedback=numbers are wrong
# -     nisa.dma_copy(dst=out, src=tile)
# +     nisa.memset(dst=tile, value=0.0)
# +     nisa.dma_copy(dst=out, src=tile)


# %% hard-coded=05c/causal
# - def causal(x):
# + def causal(x):
# +     assert x.shape == (128, 144)


# %% wrong=05c/long-sum name=inside-the-loop feedback=last 128 rows alone
# -     for k in nl.affine_range(a.shape[0] // 128):
# -         piece = nl.ds(k * 128, 128)
# +     for k in nl.affine_range(a.shape[0] // 128):
# +         piece = nl.ds(k * 128, 128)
# +         product = nl.ndarray(
# +             (a.shape[1], b.shape[1]), dtype=nl.float32, buffer=nl.psum
# +         )


# %% hard-coded=05c/long-sum
# - def long_sum(a, b):
# + def long_sum(a, b):
# +     assert a.shape == (768, 128)


# %% wrong=05c/softmax name=five-passes feedback=other instructions: which
# -         nisa.tensor_reduce(dst=top, op=nl.maximum, data=tile, axis=1, negate=True)
# -         nisa.activation_reduce(
# -             dst=tile, op=nl.exp, data=tile, reduce_op=nl.add, reduce_res=total, bias=top
# -         )
# +         nisa.tensor_reduce(dst=top, op=nl.maximum, data=tile, axis=1)
# +         nisa.tensor_scalar(dst=tile, data=tile, op0=nl.subtract, operand0=top)
# +         nisa.activation(dst=tile, op=nl.exp, data=tile)
# +         nisa.tensor_reduce(dst=total, op=nl.add, data=tile, axis=1)


# %% hard-coded=05c/softmax
# - def softmax(x):
# + def softmax(x):
# +     assert x.shape == (384, 1024)


# %% wrong=05c/rms-norm name=on-one-engine feedback=other instructions: which
# -         nisa.activation_reduce(
# -             dst=squares, op=nl.square, data=tile, reduce_op=nl.add, reduce_res=total
# -         )
# +         nisa.tensor_tensor(dst=squares, data1=tile, data2=tile, op=nl.multiply)
# +         nisa.tensor_reduce(dst=total, op=nl.add, data=squares, axis=1)


# %% hard-coded=05c/rms-norm
# - def rms_norm(x):
# + def rms_norm(x):
# +     assert x.shape == (256, 1024)


# %% wrong=05c/fast-matmul name=narrow-products feedback=80% of peak
# -         for j in nl.affine_range(n // 512):
# -             product = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
# +         for j in nl.affine_range(n // 128):
# +             product = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.psum)
# -                     moving=right[p][:, nl.ds(j * 512, 512)],
# +                     moving=right[p][:, nl.ds(j * 128, 128)],
# -             nisa.tensor_copy(dst=row[:, nl.ds(j * 512, 512)], src=product)
# +             nisa.tensor_copy(dst=row[:, nl.ds(j * 128, 128)], src=product)


# %% hard-coded=05c/fast-matmul
# - def fast_matmul(a, b):
# + def fast_matmul(a, b):
# +     assert a.shape == (2176, 2048)
