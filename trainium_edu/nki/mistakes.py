"""Mistakes in kernels that Python notices first, said for a kernel.

``float(tile)``, ``tile.T``, a missing argument, a list where an array belongs: Python's own
sentence is right and knows nothing of tiles.  :func:`explain` adds what to write instead.
"""

import linecache
import re
import warnings
from inspect import signature
from pathlib import Path
from types import TracebackType

from trainium_edu.specs.errors import NkiValidationError

__all__ = [
    "describe",
    "explain",
    "frames_of_kernel",
    "host_function",
    "is_ours",
    "near",
    "no_such_attribute",
    "refuse_result",
    "warn_of_grid",
    "warn_of_lost",
]

_HANDLE = (
    "nisa functions return a handle on the instruction, no tile: the result is in the tile given "
    "as dst"
)
_TILE = (
    "a tile's numbers are on the chip, and Python does not compute, compare or branch with them "
    "while the kernel runs: nl and nisa functions do (nl.exp(t), nl.where(mask, a, b)), and "
    "nl.device_print shows them"
)
_INSTEAD = {
    "T": "nl.transpose(t), or nisa.nc_transpose(dst, t), turns a tile",
    "astype": "nl.copy(t, dtype=...) casts", "to": "nl.copy(t, dtype=...) casts",
    "clone": "nl.copy(t) copies", "dot": "nl.matmul(a, b) multiplies",
    "flatten": "t.reshape(...) and t.flatten_dims(...) rename dimensions without a copy",
    "any": "nl.max over nl.not_equal(t, 0) says it as a tile, which nl.where chooses by",
    "numpy": "np.array(t) copies the numbers out to look at them",
    "tolist": "np.array(t) copies the numbers out to look at them",
    "item": "nl.device_print shows numbers; nisa.register_load brings one into a register",
    "unsqueeze": "t.expand_dim(dim) inserts a dimension",
    "squeeze": "t.squeeze_dim(dim) removes one",
}  # fmt: skip
#: Functions of NumPy that only look at numbers, as somebody does who debugs a kernel.
_LOOKS = {"allclose", "array2string", "array_equal", "array_repr", "array_str", "copyto", "isclose",
          "ndim", "save", "savetxt", "shape", "size"}  # fmt: skip
_HERE = str(Path(__file__).parents[1])
_EXAMPLES = str(Path(__file__).parent / "examples")


def describe(value) -> str:
    """Return a value as a message shows it: arrays by dtype and shape, the rest cut short."""
    from trainium_edu.nki.objects.tensor import NkiTensor

    if type(value).__name__ == "NkiInstruction":
        return f"what {value._instruction.name} returned ({_HANDLE})"
    if (
        hasattr(value, "shape")
        and hasattr(value, "dtype")
        and not isinstance(value, type | NkiTensor)
    ):
        return f"an array of the host, {value.dtype}{list(value.shape)}"
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:100]} ..."


def near(name: str, names, start="") -> str:
    """Return "; is nl.exp meant?" where one of `names` is close, else nothing."""
    from difflib import get_close_matches

    known = {other.lower(): other for other in names}
    found = get_close_matches(name.lower(), known, 1, 0.7)
    return f"; is {start}{known[found[0]]} meant?" if found else ""


def host_function(tensor, function, args, kwargs):
    """Call a NumPy function that looks at a tensor's numbers; refuse one that computes."""
    import numpy as np

    from trainium_edu.nki import language as nl
    from trainium_edu.nki.objects.tensor import NkiTensor

    name = function.__name__
    if name in _LOOKS:
        args = [np.array(part) if isinstance(part, NkiTensor) else part for part in args]
        return function(*args, **kwargs)
    own = f"nl.{name} computes" if name in nl.__all__ else "nl has the chip's functions"
    raise TypeError(
        f"np.{name} would compute with {tensor!r} here, not on the chip: {own}, and "
        "np.array(tile) copies the numbers out to look at them"
    )


def no_such_attribute(tensor, name) -> AttributeError:
    """Return the error for an attribute that a tensor does not have."""
    from trainium_edu.nki import language as nl

    text = f"a tensor has no attribute {name!r}"
    if name in _INSTEAD:
        text += f"; {_INSTEAD[name]}"
    elif name in nl.__all__:
        text += f"; functions compute: nl.{name}(tile, ...)"
    else:
        text += near(name, [n for n in dir(type(tensor)) if n[0] != "_"], "t.")
    return AttributeError(text, name=name, obj=None)


def refuse_result(value) -> None:
    """Raise for what a kernel cannot return."""
    if type(value).__name__ == "NkiInstruction":
        raise NkiValidationError(
            f"the kernel returns {describe(value)}; return the tensor in nl.shared_hbm that the "
            "result was copied to"
        )
    raise NkiValidationError(
        f"the kernel returns {describe(value)}, which Python computed, not the chip; only tensors "
        "in HBM leave a kernel: compute with nl and nisa, store to nl.shared_hbm and return that"
    )


def warn_of_lost(function, program, arguments: set) -> None:
    """Warn of a kernel that returns nothing, though all it wrote to HBM is a tensor of its own."""
    written = {a.allocation for i in program.instructions for a in i.accesses if a.is_write}
    lost = [program.allocations[index] for index in sorted(written)]
    lost = [info for info in lost if info.memory.name == "HBM"]
    if not lost or written & arguments:
        return
    _warn(
        function,
        f"the kernel {getattr(function, '__name__', '')} returns nothing, so what it wrote to "
        f"{lost[-1].name} (allocated in line {lost[-1].site[1]}) is lost: return that tensor",
    )


def warn_of_grid(function, count: int) -> None:
    """Warn of more programs than any launch takes, also where nobody looks at a run."""
    _warn(
        function,
        f"{count} programs are launched, and AWS's compiler takes 1, or 2 where two NeuronCores "
        "are one logical core (Trn2, Trn3; nki-lnc in specs.SOURCES): loop over the parts instead",
    )


def _warn(function, text):
    code = getattr(function, "__code__", _usage.__code__)
    warnings.warn_explicit(text, UserWarning, code.co_filename, code.co_firstlineno)


def explain(problem: Exception, names: dict) -> None:
    """Add to Python's sentence on a line of the kernel what it means for kernels.

    Parameters
    ----------
    problem : TypeError or AttributeError
    names : dict
        {id of an argument: its name}, of the kernel's call.
    """
    place = problem.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if place is None or type(problem) not in (TypeError, AttributeError):
        return
    file = place.tb_frame.f_code.co_filename
    if is_ours(file):
        return  # this package's own sentence
    more = _more(problem, names, linecache.getline(file, place.tb_lineno))
    if more:
        problem.args = (f"{problem}; {more}",)


def frames_of_kernel(problem: BaseException) -> TracebackType | None:
    """Return a traceback without this package's own frames, but for a place that fails unawares."""
    places, place = [], problem.__traceback__
    while place is not None:
        places.append(place)
        place = place.tb_next
    kept = [p for p in places if not is_ours(p.tb_frame.f_code.co_filename)]
    if places and places[-1] not in kept and not _is_said(places[-1]):
        kept.append(places[-1])
    for p in reversed(kept):
        place = TracebackType(place, p.tb_frame, p.tb_lasti, p.tb_lineno)
    return place


def _is_said(place):
    line = linecache.getline(place.tb_frame.f_code.co_filename, place.tb_lineno)
    return line.lstrip().startswith("raise ")


def is_ours(file: str) -> bool:
    """Whether a file belongs to this package, whose example kernels count as a user's."""
    return file.startswith(_HERE) and not file.startswith(_EXAMPLES)


def _more(problem, names, line) -> str:
    text = str(problem)
    called = re.match(r"(NkiTensor\.)?(\w+)\(\) (?:missing|got|takes) ", text)
    if called:
        return _usage(called[1], called[2], line)
    if "NkiInstruction" in text:
        return _HANDLE
    if "has no setter" in text:
        return "t.reshape(...), t.view(dtype) and nl.copy(t, dtype=...) return another tensor"
    if re.search(r"NkiTensor(?!\()", text):
        return _TILE
    for given in names.values():
        if isinstance(problem, AttributeError) and f"{given}.{problem.name}" in line:
            return (
                f"{given} is a value of type {type(problem.obj).__name__} in this call, and "
                "tensors come from NumPy arrays: np.array(..., np.float32)"
            )
    return ""


def _usage(method, name, line) -> str:
    """Return how a function of ours is called."""
    from trainium_edu.nki import isa, language
    from trainium_edu.nki.objects.tensor import NkiTensor

    homes = [("nisa", isa), ("nl", language)]
    owners: list = [(short, home) for short, home in homes if name in home.__all__]
    owners = [pair for pair in owners if f"{pair[0]}.{name}" in line] or owners
    for short, owner in [("t", NkiTensor)] if method else owners[:1]:
        known = list(signature(getattr(owner, name)).parameters.values())[bool(method) :]
        shown = [p.name if p.default is p.empty else f"{p.name}=..." for p in known]
        first = ": where the result goes comes first" if shown[:1] == ["dst"] else ""
        return f"it is {short}.{name}({', '.join(shown)}){first}"
    return ""
