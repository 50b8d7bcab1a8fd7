"""Products of matrices and vectors."""

from trainium_edu.torch.operations.arithmetic import scaled
from trainium_edu.torch.operations.table import of_floats, row
from trainium_edu.xla import numpy as xnp

__all__: list[str] = []


@row("mm", "bmm", "mv", "matmul", fits=of_floats)
def _matmul(self, mat2):
    return xnp.matmul(self, mat2)


@row("dot", "vdot")
def _dot(self, tensor):
    return xnp.sum(self * tensor)


@row("linear", fits=of_floats)
def _linear(input, weight, bias=None):
    out = xnp.matmul(input, xnp.transpose(weight))
    return out if bias is None else out + bias


def _added(x, product, beta, alpha):
    """Return beta x + alpha product; a beta of 0 leaves x out, NaN and all."""
    product = scaled(product, alpha)
    return product if beta == 0 else scaled(x, beta) + product


@row("addmm", "addmv", "baddbmm", fits=of_floats)
def _addmm(self, mat1, mat2, beta=1, alpha=1):
    return _added(self, xnp.matmul(mat1, mat2), beta, alpha)


@row("addbmm", fits=of_floats)
def _addbmm(self, batch1, batch2, beta=1, alpha=1):
    return _added(self, xnp.sum(xnp.matmul(batch1, batch2), 0), beta, alpha)


@row("addr")
def _addr(self, vec1, vec2, beta=1, alpha=1):
    return _added(self, xnp.outer(vec1, vec2), beta, alpha)
