"""``nki.nccl``: names that published kernels import, and no reference says what they do."""

from trainium_edu.nki.earlier import names_of
from trainium_edu.nki.refusals import refusal

__all__ = ["all_gather", "all_reduce", "all_to_all", "collective_permute",
           "collective_permute_implicit", "reduce_scatter"]  # fmt: skip


def _refused(name):
    def function(*_, **__):
        raise refusal("collectives.nccl", name=name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Refuse: no reference describes it."
    return function


(all_gather, all_reduce, all_to_all, collective_permute, collective_permute_implicit,
 reduce_scatter) = map(_refused, __all__)  # fmt: skip

__getattr__ = names_of(__name__, "neuronxcc.nki.nccl")
