"""Small programs that the tests of pictures draw."""

from trainium_edu.neuroncore import NeuronCore, measure


def gelu_linear(turns=6, free=512):
    """Record load, matmul, activation, add, store, `turns` times; no values."""
    core = NeuronCore(values=False, name="gelu_linear")
    x = core.hbm((128 * turns, free), "bfloat16", name="x")
    w = core.hbm((128, 128), "bfloat16", name="w")
    y = core.hbm((128 * turns, free), "bfloat16", name="y")
    weights = core.sbuf((128, 128), "bfloat16", name="weights")
    core.dma_copy(dst=weights, src=w)
    for i in range(turns):
        rows = slice(128 * i, 128 * i + 128)
        tile = core.sbuf((128, free), "bfloat16", name="tile")
        core.dma_copy(dst=tile, src=x.sliced(rows))
        acc = core.psum((128, free), "float32", name="acc")
        core.nc_matmul(dst=acc, stationary=weights, moving=tile)
        out = core.sbuf((128, free), "bfloat16", name="out")
        core.activation(dst=out, op="gelu", data=acc)
        core.tensor_tensor(dst=out, data1=out, data2=tile, op="add")
        core.dma_copy(dst=y.sliced(rows), src=out)
    return core.program


def timed(turns=6, buffers=2, **options):
    """Return the CoreTimeline of the program above."""
    return measure(gelu_linear(turns, **options), buffers=buffers)
