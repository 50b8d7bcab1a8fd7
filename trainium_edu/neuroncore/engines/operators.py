"""The operators of the ALUs: two numbers in, one out, in FP32 or on bits.

``OPERATORS`` maps the name of the ``nki.language`` function to a row.  Arithmetic takes FP32;
comparisons and logic answer 1.0 or 0.0; bitvec operators take unsigned bits and never cast.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trainium_edu.specs.errors import NkiValidationError

__all__ = ["OPERATORS", "Operator", "bits", "bits_operand", "from_bits", "get_operator",
           "operator_name"]  # fmt: skip

_F = np.float32


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator of the ALU: its name, its function, and what a reduction needs."""

    name: str
    function: Callable  #: takes one array or two
    kind: str  #: "arithmetic" or "bitvec"
    is_unary: bool = False
    reduce: Callable | None = None  #: values[P, ..., n] -> [P, ...]; None: no legal reduction
    identity: float | None = None  #: what a reduction starts from
    needs: str = ""  #: the chip that first has it, where NeuronCore-v2 has not

    @property
    def is_bitvec(self) -> bool:
        """Whether the operator works on bit patterns of integers."""
        return self.kind == "bitvec"


def _truth(compare):
    def function(a, b):
        return compare(a, b).astype(_F)

    return function


def _logical(ufunc):
    def function(a, b):
        return ufunc(np.not_equal(a, 0), np.not_equal(b, 0)).astype(_F)

    return function


def _by_magnitude(compare):
    def function(a, b):
        return np.where(compare(np.abs(a), np.abs(b)), a, b)

    return function


def _reduce(ufunc):
    def reduce(values):
        return ufunc.reduce(values, axis=-1)

    return reduce


def _reduce_logical(ufunc):
    def reduce(values):
        return ufunc.reduce(np.not_equal(values, 0), axis=-1).astype(_F)

    return reduce


def rsqrt(x):
    """Return 1 / sqrt(x)."""
    return _F(1) / np.sqrt(x)


def _reciprocal(x):
    return _F(1) / x


def _relu(x):
    return np.maximum(x, _F(0))


def _first(a, b=None):
    return a


def _left_shift(a, b):
    return np.where(b < a.itemsize * 8, np.left_shift(a, b), a.dtype.type(0))


def _right_shift(a, b):
    return np.where(b < a.itemsize * 8, np.right_shift(a, b), a.dtype.type(0))


def _arithmetic(name, function, *, reduce=None, identity=None, needs=""):
    return Operator(name, function, "arithmetic", False, reduce, identity, needs)


def _unary(name, function, needs=""):
    return Operator(name, function, "arithmetic", True, needs=needs)


def _bitvec(name, function, *, is_unary=False, reduce=None):
    return Operator(name, function, "bitvec", is_unary, reduce)


_V4 = "NeuronCore-v4 (Trainium3)"
_TABLE = (
    _arithmetic("add", np.add, reduce=_reduce(np.add), identity=0.0),
    _arithmetic("subtract", np.subtract, reduce=_reduce(np.subtract), identity=0.0),
    _arithmetic("multiply", np.multiply, reduce=_reduce(np.multiply), identity=1.0),
    _arithmetic("maximum", np.maximum, reduce=_reduce(np.maximum), identity=-np.inf),
    _arithmetic("minimum", np.minimum, reduce=_reduce(np.minimum), identity=np.inf),
    _arithmetic("divide", np.divide),
    _arithmetic("power", np.power),
    _arithmetic("mod", np.mod),
    _arithmetic("fmod", np.fmod),
    _arithmetic("abs_max", _by_magnitude(np.greater), needs=_V4),
    _arithmetic("abs_min", _by_magnitude(np.less), needs=_V4),
    *(
        _arithmetic(name, _truth(getattr(np, name)))
        for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    ),
    *(
        _arithmetic(
            name,
            _logical(getattr(np, name)),
            reduce=_reduce_logical(getattr(np, name)),
            identity=float(name == "logical_and"),
        )
        for name in ("logical_and", "logical_or", "logical_xor")
    ),
    _unary("logical_not", lambda a: np.equal(a, 0).astype(_F)),
    _unary("abs", np.abs),
    _unary("negative", np.negative),
    _unary("rsqrt", rsqrt),
    _unary("reciprocal", _reciprocal),
    _unary("bypass", _first),
    _unary("copy", _first),
    _unary("square", np.square, _V4),
    _unary("relu", _relu, _V4),
    _bitvec("bitwise_and", np.bitwise_and, reduce=_reduce(np.bitwise_and)),
    _bitvec("bitwise_or", np.bitwise_or, reduce=_reduce(np.bitwise_or)),
    _bitvec("bitwise_xor", np.bitwise_xor, reduce=_reduce(np.bitwise_xor)),
    _bitvec("left_shift", _left_shift),
    _bitvec("right_shift", _right_shift),
    _bitvec("invert", np.invert, is_unary=True),
)
OPERATORS = {row.name: row for row in _TABLE}
_ALSO = {"max": "maximum", "amax": "maximum", "min": "minimum", "amin": "minimum", "sum": "add",
         "prod": "multiply", "absolute": "abs", "bitwise_not": "invert", "true_divide": "divide",
         "bitwise_invert": "invert", "all": "logical_and"}  # fmt: skip


def operator_name(op) -> str:
    """Return the name of an operator given as a name or a function; "" for anything else.

    >>> operator_name("max"), operator_name(np.add), operator_name(3)
    ('maximum', 'add', '')
    """
    name = op if isinstance(op, str) else str(getattr(op, "__name__", ""))
    return _ALSO.get(name, name)


def get_operator(op, role: str) -> Operator:
    """Return the row of an operator by the name of its ``nki.language`` function.

    Raises
    ------
    NkiValidationError
        For a name that no ALU knows, or that comes with a later chip.

    Examples
    --------
    >>> get_operator("maximum", "op").identity
    -inf
    """
    row = OPERATORS.get(op) if isinstance(op, str) else None
    if row is not None and not row.needs:
        return row
    name = operator_name(op)
    row = OPERATORS.get(name)
    if row is None:
        known = ", ".join(row.name for row in _TABLE if not row.needs)
        raise NkiValidationError(
            f"{role} is {name or repr(op)}, which is not an ALU operator; choose one of {known}"
        )
    if row.needs:
        raise NkiValidationError(
            f"{role} is {row.name}, which needs {row.needs}, a later chip than this; build it from "
            "multiply, maximum or abs"
        )
    return row


_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32}


def bits(view) -> np.ndarray:
    """Return the stored numbers of an integer tile as unsigned bits of their own width."""
    return view.read().view(_UNSIGNED[view.dtype.itemsize])


def bits_operand(value: int, dtype) -> np.ndarray:
    """Return an integer as the bits that a tile of that dtype would hold."""
    return np.asarray(value & ((1 << (8 * dtype.itemsize)) - 1), _UNSIGNED[dtype.itemsize])


def from_bits(values: np.ndarray, source, target) -> np.ndarray:
    """Return bits of one integer dtype as another stores them: cut off or extended."""
    return values.view(source.storage).astype(target.storage)
