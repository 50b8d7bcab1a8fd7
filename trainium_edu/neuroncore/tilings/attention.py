"""A small program that needs every engine: one attention layer's weights, head by head.

The Tensor Engine multiplies queries with keys, the Scalar Engine scales them out of PSUM, GpSimd
masks what lies in the future, and Vector and Scalar make probabilities of them.  Used by the
notebook ``04_neuroncore`` as the first run to look at.
"""

from trainium_edu.neuroncore.recording.core import NeuronCore
from trainium_edu.neuroncore.recording.program import Program
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.neuroncore.tilings.pieces import pieces
from trainium_edu.specs import TRN1, Record

__all__ = ["attention_program", "attention_weights"]

_BLOCK = 512  # keys per matmul: what one PSUM bank holds in FP32


def attention_program(heads=4, keys=1024, dtype="bfloat16", *, spec: Record = TRN1) -> Program:
    """Record the attention weights of 128 queries per head, without values.

    Examples
    --------
    >>> attention_program(heads=2)
    Program('attention weights', 28 instructions, 25 allocations)
    """
    core = NeuronCore(spec, values=False, name="attention weights")
    q = core.hbm((heads * 128, 128), dtype, name="queries")
    k = core.hbm((heads * 128, keys), dtype, name="keys")
    out = core.hbm((heads * 128, keys), dtype, name="weights")
    attention_weights(core, out, q, k)
    return core.program


def attention_weights(core: NeuronCore, dst: View, queries: View, keys: View) -> None:
    """Write softmax(queries.T @ keys / sqrt(128)) with a causal mask, head by head.

    Parameters
    ----------
    core : NeuronCore
    dst : View[heads * 128, n] in HBM
        Row i of a head holds the weights of its query i.
    queries : View[heads * 128, 128] in HBM
        Per head [features, queries]: contraction on partitions, as the Tensor Engine wants it.
    keys : View[heads * 128, n] in HBM
        Per head [features, keys].  Query i sees keys 0 to ``i + n - 128``.
    """
    count = keys.shape[1]
    for head in pieces(keys.shape[0], 128):
        q = core.sbuf((128, 128), queries.dtype, name="q")
        core.dma_copy(dst=q, src=queries.sliced(head))
        scores = core.sbuf((128, count), name="scores")
        for across in pieces(count, _BLOCK):
            k = core.sbuf((128, across.stop - across.start), keys.dtype, name="k")
            core.dma_copy(dst=k, src=keys.sliced(head, across))
            product = core.psum((128, across.stop - across.start), name="q.T @ k")
            core.nc_matmul(dst=product, stationary=q, moving=k)
            block = scores.sliced(slice(None), across)
            core.activation(dst=block, op="copy", data=product, scale=128**-0.5)
            core.affine_select(
                dst=block, pattern=[[-1, block.shape[1]]], channel_multiplier=1,
                offset=count - 128 - across.start, on_true_tile=block, on_false_value=-1e30,
                cmp_op="greater_equal",
            )  # fmt: skip
        _probabilities(core, dst.sliced(head), scores)


def _probabilities(core, dst, scores):
    shift = core.sbuf((128, 1), name="minus maximum")
    core.tensor_reduce(dst=shift, op="maximum", data=scores, axis=1, negate=True)
    raised = core.sbuf(scores.shape, name="exp")
    total = core.sbuf((128, 1), name="sum")
    core.activation_reduce(
        dst=raised, op="exp", data=scores, bias=shift, reduce_op="add", reduce_res=total
    )
    part = core.sbuf((128, 1), name="1 / sum")
    core.reciprocal(dst=part, data=total)
    weights = core.sbuf(scores.shape, dst.dtype, name="weights")
    core.tensor_scalar(dst=weights, data=raised, op0="multiply", operand0=part)
    core.dma_copy(dst=dst, src=weights)
