"""Layer norm of each row: mean and variance by ``bn_stats``, then one subtraction, one product."""

from trainium_edu.neuroncore.recording.core import NeuronCore
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.neuroncore.tilings.pieces import as_rows, load, new_like, pieces, row_tiles, store
from trainium_edu.specs.errors import NkiValidationError
from trainium_edu.specs.signatures import checked

__all__ = ["layer_norm"]


@checked
def layer_norm(core: NeuronCore, dst: View, src: View, gamma: View | None = None,
               beta: View | None = None, *, epsilon: float = 1e-5) -> None:  # fmt: skip
    """Write ``(x - mean) / sqrt(variance + epsilon) * gamma + beta`` of each row to dst.

    Parameters
    ----------
    core : NeuronCore
    dst, src : View[rows, columns]
    gamma, beta : View[1, columns] in HBM, optional
        Loaded once, onto all partitions.
    epsilon : float

    Examples
    --------
    >>> import numpy as np
    >>> from trainium_edu.neuroncore import NeuronCore
    >>> core = NeuronCore()
    >>> x = core.hbm(np.array([[1.0, 2.0, 3.0]], np.float32))
    >>> y = core.hbm((1, 3))
    >>> layer_norm(core, y, x, epsilon=0.0)
    >>> core.value(y)[0].astype(float).round(3).tolist()
    [-1.225, 0.0, 1.225]
    """
    src, dst = as_rows(src, "src"), as_rows(dst, "dst")
    if src.shape != dst.shape:
        raise NkiValidationError(
            f"layer_norm: src {list(src.shape)} and dst {list(dst.shape)} must have one shape"
        )
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float) or not 0 <= epsilon < 1:
        raise ValueError(f"epsilon is {epsilon!r}; it must be a small number, 0 or more")
    tiles = list(row_tiles(core, src))
    weight, shift = (_on_all_partitions(core, v, src, tiles[0].stop) for v in (gamma, beta))
    for down in tiles:
        rows = slice(0, down.stop - down.start)
        tile = load(core, src.sliced(down))
        mean, spread = _mean_and_spread(core, tile, float(epsilon))
        piece = dst.sliced(down)
        result = new_like(core, piece)
        steps = [(w, op) for w, op in ((weight, "multiply"), (shift, "add")) if w is not None]
        value = core.sbuf(tile.shape) if steps else result
        core.tensor_scalar(
            dst=value, data=tile, op0="subtract", operand0=mean, op1="multiply", operand1=spread
        )
        for number, (row, op) in enumerate(steps):
            last = number == len(steps) - 1
            out = result if last else core.sbuf(tile.shape)
            core.tensor_tensor(dst=out, data1=value, data2=row.sliced(rows), op=op)
            value = out
        store(core, piece, result)


def _on_all_partitions(core, row, src, partitions):
    if row is None:
        return None
    row = as_rows(row, "gamma or beta")
    if row.shape != (1, src.shape[1]):
        raise NkiValidationError(
            f"layer_norm: gamma and beta must be [1, {src.shape[1]}], one number per column, not "
            f"{list(row.shape)}"
        )
    return load(core, row.broadcast(partitions, src.shape[1]), "float32")


def _mean_and_spread(core, tile, epsilon):
    """Return [rows, 1] tiles: the mean, and 1 / sqrt(variance + epsilon)."""
    rows, columns = tile.shape
    widest = int(core.spec.vector_engine.bn_stats_free_max.value)
    spans = list(pieces(columns, widest))
    stats = core.sbuf((rows, 6 * len(spans)))
    for number, across in enumerate(spans):
        six = stats.sliced(slice(None), slice(6 * number, 6 * number + 6))
        core.bn_stats(dst=six, data=tile.sliced(slice(None), across))
    both = core.sbuf((rows, 2))
    core.bn_aggr(dst=both, data=stats)
    mean, variance = (both.sliced(slice(None), slice(i, i + 1)) for i in (0, 1))
    raised, spread = core.sbuf((rows, 1)), core.sbuf((rows, 1))
    core.tensor_scalar(dst=raised, data=variance, op0="add", operand0=epsilon)
    core.activation(dst=spread, op="rsqrt", data=raised)
    return mean, spread
