"""Products of matrices and vectors."""

from trainium_edu.torch.operations.arithmetic import scaled
from trainium_edu.torch.operations.table import of_floats, row
from trainium_edu.xla import numpy as xnp

__all__: list[str] = []


@row("mm", "bmm", fits=of_floats)
def _matmul(self, mat2):
    return xnp.matmul(self, mat2)


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
