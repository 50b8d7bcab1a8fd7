"""``run_ranks``: one kernel on several ranks that meet in collectives.

AWS starts one process per rank; here the ranks are programs of one launch, each with its own
NeuronCore, its own arguments and its own ``Run``.
"""

from trainium_edu.specs.errors import NkiValidationError

__all__ = ["run_ranks"]

_RANKS_MAX = 64


def run_ranks(kernel, arguments, *, spec=None, buffers=None, optimise=True, values=True,
              limit=None):  # fmt: skip
    """Run a kernel on as many ranks as there are entries of arguments.

    Parameters
    ----------
    kernel : Kernel or function
        May use ``nki.collectives``; ``kernel[2]`` gives every rank a grid of two programs.
    arguments : list of tuple
        The arguments of each rank; arrays are used in place.
    spec, buffers, optimise, values, limit
        As for ``nki.run``.

    Returns
    -------
    list of Run
        One per rank: outputs, programs, timeline.  Every rank is timed as if all ranks reached each
        collective together.

    Raises
    ------
    NkiValidationError
        Where a limit of the hardware is passed, or ranks wait for each other for ever.

    Examples
    --------
    >>> import numpy as np
    >>> import trainium_edu.nki as nki
    >>> import trainium_edu.nki.language as nl
    >>> from trainium_edu.nki import collectives as ncc
    >>> @nki.jit
    ... def total(x):
    ...     out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    ...     ncc.all_reduce([x], [out], ncc.ReplicaGroup([[0, 1]]), nl.add)
    ...     return out
    >>> one, two = nki.run_ranks(total, [(np.float32([1, 2]),), (np.float32([10, 20]),)])
    >>> one.outputs.tolist(), bool((one.outputs == two.outputs).all())
    ([11.0, 22.0], True)
    """
    from trainium_edu.neuroncore.run import Run
    from trainium_edu.nki.kernel import _kernel, execute

    __tracebackhide__ = True
    kernel = _kernel(kernel)
    entries = [(entry, {}) for entry in _checked(arguments)]
    return [
        Run.of(kernel.__name__, outputs, cores, buffers=buffers, optimise=optimise)
        for outputs, cores in execute(kernel, entries, spec=spec, values=values, limit=limit)
    ]


def _checked(arguments):
    if not isinstance(arguments, list | tuple) or not arguments:
        raise TypeError("run_ranks takes a list with a tuple of arguments for each rank")
    if len(arguments) > _RANKS_MAX:
        raise NkiValidationError(
            f"{len(arguments)} ranks with values; at most {_RANKS_MAX} run here: larger machines "
            "are a matter of trainium_edu.fabric"
        )
    for rank, entry in enumerate(arguments):
        if not isinstance(entry, list | tuple):
            raise TypeError(f"arguments[{rank}] is {type(entry).__name__}; it is a tuple")
    return [tuple(entry) for entry in arguments]
