"""Lazy tensors: they look like arrays, and each operation only adds a node to the graph.

Whatever needs a number (``print``, ``item``, ``numpy``, ``if``) runs what that one tensor needs.
Dtypes meet as in PyTorch: Python's numbers do not widen, bfloat16 and float32 give float32,
integers and fractions float32, and a tensor without axes gives way to one with axes.

``w += d`` lets this tensor object stand for a new value: all who hold the object see it, what was
computed from the old value keeps that.  Slices are copies; elements cannot be set.
"""

import time
import warnings
from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from trainium_edu.neuroncore.gpsimd_cpp import Operator
from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.neuroncore.recording.source import source_line
from trainium_edu.specs.arguments import flag
from trainium_edu.specs.signatures import checked, checked_after
from trainium_edu.xla.autograd import gradients
from trainium_edu.xla.device import Device
from trainium_edu.xla.executor import as_held, hollow
from trainium_edu.xla.graph import DTYPES, GraphError, Node, Type, Typed
from trainium_edu.xla.operations import apply, constant
from trainium_edu.xla.operations.control import items
from trainium_edu.xla.operations.custom import node_of
from trainium_edu.xla.operations.table import fitting, stretched
from trainium_edu.xla.refusals import sentence

__all__ = ["EarlyRun", "NotFinite", "Tensor", "aligned", "as_tensor", "binary", "called",
           "custom_op", "promoted"]  # fmt: skip

_INTEGERS = ("bool", "uint8", "int32")
_FLOATS = ("float16", "bfloat16", "tfloat32", "float32")
_NUMPY = {"float64": "float32", "int64": "int32", "uint64": "uint32", "int16": "int32",
          "int8": "int32", "uint16": "int32"}  # fmt: skip
_FRACTIONS = {"divide", "power"}  #: operations whose result is a fraction
_said: set = set()


class EarlyRun(UserWarning):
    """A value was asked for before ``mark_step``; what it needs ran as a graph of its own."""


class NotFinite(UserWarning):
    """A number that was asked for is NaN or infinite; the sentence names what made it."""


def _operators(operation: str) -> tuple[Callable[..., "Tensor"], ...]:
    """Return the methods of an operator: x + y, y + x, x += y."""

    def forward(self, other):
        return binary(operation, self, other)

    def reverse(self, other):
        return binary(operation, other, self)

    def in_place(self, other):
        result = binary(operation, self, other)
        return result if result is NotImplemented else self.set_(result)

    return forward, reverse, in_place


class Tensor(Typed):
    """An array on a lazy device.

    Made by :func:`as_tensor` and by operations.  Exactly one of two things is known of it: the
    node that will compute it, or its data.

    Attributes
    ----------
    device : Device
    type : Type
    node : Node or None
        What computes it, until it was computed.
    requires_grad : bool
    grad : Tensor or None
    """

    __slots__ = ("__weakref__", "_backward", "_data", "_generation", "_leaf", "_made", "_of",
                 "device", "grad", "name", "node", "requires_grad", "type")  # fmt: skip
    __array_ufunc__ = None  # NumPy leaves operators to this class

    __add__, __radd__, __iadd__ = _operators("add")
    __sub__, __rsub__, __isub__ = _operators("subtract")
    __mul__, __rmul__, __imul__ = _operators("multiply")
    __truediv__, __rtruediv__, __itruediv__ = _operators("divide")
    __pow__, __rpow__, __ipow__ = _operators("power")
    __lt__, __le__ = _operators("less")[0], _operators("less_equal")[0]
    __gt__, __ge__ = _operators("greater")[0], _operators("greater_equal")[0]
    __eq__, __ne__ = _operators("equal")[0], _operators("not_equal")[0]  # type: ignore[assignment]

    if TYPE_CHECKING:  # attached in numpy.py

        def _given(self, *given: Any, **options: Any) -> "Tensor": ...

        __matmul__ = __getitem__ = __neg__ = _given
        abs = all = any = argmax = astype = clip = max = mean = min = reshape = _given
        squeeze = sum = swapaxes = take = transpose = var = _given

    def __init__(self, device: Device, type: Type, node=None, data=None, *, name="",
                 requires_grad=False):  # fmt: skip
        self.device, self.type, self.node, self._data = device, type, node, data
        self.name, self.requires_grad = name, requires_grad
        self.grad: Tensor | None = None
        self._leaf: tuple[int, Node] | None = None  # its data in a graph: number of pending, node
        self._of: Node | None = None  # what computed its data, in the graph being recorded
        self._backward: int | None = None  # number of the pending in which backward() began here
        self._made = -1  # the execution that gave the data
        self._generation = device.generation
        if node is not None:
            device.add(self)
            if device.eager:
                device.evaluate(self)

    # -- what the device asks for -------------------------------------------------------------

    def as_node(self) -> Node:
        """Return the node that stands for this tensor in the graph being recorded."""
        device = self.device
        if self._generation != device.generation:
            raise RuntimeError(sentence("tensor.reset", tensor=self, device=device))
        if self.node is not None:
            return self.node
        if self._leaf is None or self._leaf[0] != device.pending.number:
            node = device.leaf(self._data, self.type, self.name, self, self._of)
            self._leaf = device.pending.number, node
        return self._leaf[1]

    @property
    def state(self) -> tuple:
        """The part that a cut changes; set it back to undo one."""
        return self.node, self._data, self._of, self._leaf, self._made

    @state.setter
    def state(self, state: tuple) -> None:
        self.node, self._data, self._of, self._leaf, self._made = state

    def hold(self, data: np.ndarray) -> None:
        """Take the value that was computed."""
        self.state = None, data, self.node, None, self.device.executions

    def forget_node(self) -> None:
        """Forget what computed the value: its graph has been cut off."""
        self._of = None

    def let_go(self) -> None:
        """Have no value: the step is over, and did not compute it."""
        self._generation = -1

    @checked_after
    def set_(self, other: "Tensor") -> "Tensor":
        """Become another tensor's value; how an optimiser updates a weight.

        The dtype stays: a wider value is rounded to it.

        Raises
        ------
        GraphError
            If the shape would change, or a fraction become an integer.
        """
        if other.type != self.type:
            if other.shape != self.shape or other.type.is_float != self.type.is_float:
                raise GraphError(sentence("tensor.in_place", tensor=self, other=other))
            other = unary("cast", other, dtype=self.dtype)
        if other.node is not None:
            self.device.add(self)  # first, so that an interrupt between leaves nothing behind
        leaf = self._leaf if other.node is not None else None  # whose bytes the new value takes
        self.state = other.node, other._data, other._of, leaf, other._made
        return self

    @property
    def replaces(self) -> Node | None:
        """The leaf of the data that a pending value takes the place of, or None."""
        if self.node is None or self._leaf is None:
            return None
        return self._leaf[1] if self._leaf[0] == self.device.pending.number else None

    # -- values -------------------------------------------------------------------------------

    def numpy(self) -> np.ndarray:
        """Return the value as an array; runs what it needs if it is not there yet.

        BF16 and narrower formats come as float32 with the numbers that the format has.  On a
        device with replicas, what differs among them has a leading axis.
        """
        if self._generation != self.device.generation:
            self.as_node()  # raises
        if not self.device.setting.values:
            raise GraphError(sentence("tensor.shapes_only", tensor=self))
        if self._data is None:
            if not self.device.compiler.extracting:
                _say(f"asked for the value of a {self.type} tensor before mark_step: what it needs "
                     "ran as a graph of its own", EarlyRun)  # fmt: skip
            self.device.evaluate(self)
        if self.type.size == 1 and self.type.is_float and not np.isfinite(self._data).all():
            told = self.device.find_nan_of(self._made)
            if told:
                _say(f"got {self._data.reshape(-1)[0]}: {told}", NotFinite)
        start = time.perf_counter_ns()
        values = np.array(self._data)
        _transferred(self.device, "from", start, values.size * get_dtype(self.dtype).itemsize)
        return values

    def item(self) -> float | int | bool:
        """Return the only element as a Python number.

        Raises
        ------
        ValueError
            If there are several elements, or replicas that differ.
        """
        if self.type.size != 1:
            raise ValueError(f"item() takes one element; this tensor is {self.type}")
        values = self.numpy().reshape(-1)
        if not np.array_equal(values, values[:1].repeat(values.size), equal_nan=True):
            raise ValueError(sentence("tensor.replicas_differ", tensor=self, values=values))
        return values[0].item()

    def __array__(self, dtype=None, copy=None):
        values = self.numpy()
        return values if dtype is None else values.astype(dtype, copy=False)

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __bool__(self):
        if self.type.size != 1:
            raise ValueError(sentence("tensor.truth", tensor=self))
        return bool(self.item())

    def __index__(self):
        if self.type.is_float:
            raise TypeError(f"an index is an integer; this tensor is {self.type}")
        return int(self.item())

    def __format__(self, spec):
        return format(self.item() if self.type.size == 1 else str(self), spec)

    def __repr__(self):
        text = np.array2string(self.numpy(), separator=", ", prefix="tensor(")
        return f"tensor({text}, device='{self.device}', dtype={self.dtype})"

    # -- kernels --------------------------------------------------------------------------------

    @property
    def kernel_type(self) -> Type:
        """Its view in HBM, for a kernel in NKI."""
        return self.type

    def call_kernel(self, kernel, tensors) -> "list[Tensor]":
        """Record a kernel on tensors of this device; those that it writes get new values."""
        results = called(kernel, tensors)
        for place in reversed(kernel.writes):
            tensors[place].set_(results.pop())
        return results

    # -- gradients ----------------------------------------------------------------------------

    @checked
    def backward(self, gradient: "Tensor | None" = None, retain_graph: bool = False) -> None:
        """Record the gradient of this tensor for every tensor that requires one; add to ``grad``.

        Parameters
        ----------
        gradient : Tensor, optional
            Of what is sought with respect to this tensor, in its shape; for a loss, 1.
        retain_graph : bool
            Allow another call in the same step, which adds the same gradients once more.

        Raises
        ------
        GraphError
            If it is not a scalar and no gradient is given, if its graph has been cut already, if it
            was called before, or if no tensor that requires a gradient leads here.
        """
        if self.type.size != 1 and gradient is None:
            raise GraphError(sentence("tensor.no_scalar", tensor=self))
        if gradient is not None and gradient.type != self.type:
            raise GraphError(sentence("tensor.gradient_type", gradient=gradient, tensor=self))
        root, device = self.as_node(), self.device
        if root.operation == "parameter" and device.origin(root) is None:
            raise GraphError(sentence("tensor.no_graph"))
        if self._backward == device.pending.number:
            raise GraphError(sentence("tensor.backward_again"))
        trained = [t for t in device.trained.values() if t.is_recorded]
        start = (
            constant(np.ones(self.shape), self.dtype) if gradient is None else gradient.as_node()
        )
        nodes = [t.as_node() for t in trained]
        nodes_of_gradients = gradients(root, nodes, start, behind=device.origin)
        if not any(node is not None for node in nodes_of_gradients):
            raise GraphError(sentence("tensor.nothing_required"))
        parts = [
            (tensor, of_node(device, node))
            for tensor, node in zip(trained, nodes_of_gradients, strict=True) if node is not None
        ]  # fmt: skip
        for tensor, part in parts:
            tensor.grad = part if tensor.grad is None else tensor.grad + part
        self._backward = None if retain_graph else device.pending.number

    @property
    def is_recorded(self) -> bool:
        """Whether the graph being recorded uses it."""
        return self.node is not None or (
            self._leaf is not None and self._leaf[0] == self.device.pending.number
        )

    def requires_grad_(self, wanted: bool = True) -> "Tensor":
        """Have ``backward`` compute this tensor's gradient."""
        self.requires_grad = flag(wanted, "wanted") and self.type.is_float
        if wanted and not self.type.is_float:
            raise GraphError(f"only floating-point tensors have gradients; this one is {self.type}")
        self.device.trained.pop(id(self), None)
        if wanted:
            self.device.trained[id(self)] = self
        return self

    def detach(self) -> "Tensor":
        """Return the same value, through which no gradient flows."""
        return unary("detach", self)

    # -- shape --------------------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        """How many axes."""
        return self.type.rank

    @property
    def size(self) -> int:
        """How many elements."""
        return self.type.size

    @property
    def nbytes(self) -> int:
        """How many bytes the elements have on the device."""
        return self.size * get_dtype(self.dtype).itemsize

    def __len__(self):
        if not self.shape:
            raise TypeError("a tensor without axes has no length")
        return self.shape[0]

    def __setitem__(self, index, value):
        raise TypeError(sentence("tensor.set_element"))

    def __hash__(self):
        return id(self)


def called(called, arguments, backward=None) -> list[Tensor]:
    """Record a custom call with tensors and numbers; return all of its results."""
    tensors = [a for a in arguments if isinstance(a, Tensor)]
    if not tensors:
        raise GraphError(f"{called.name} is called without a lazy tensor; call it directly")
    check_device(called.name, *tensors)
    given = [a.as_node() if isinstance(a, Tensor) else a for a in arguments]
    node, device = node_of(called, given, backward), tensors[0].device
    return [of_node(device, one) for one in items(node)]


@checked
def custom_op(operator: Operator, *arguments, backward: Operator | None = None) -> Tensor:
    """Record a custom operator.

    Parameters
    ----------
    operator : gpsimd_cpp.Operator
    *arguments : Tensor or float
    backward : gpsimd_cpp.Operator, optional
        Its gradient: takes that of the result, then the same arguments, and returns that of the
        first tensor.  Without one no gradient flows.

    Returns
    -------
    Tensor
        Of the shape and dtype that the shape function says; the kernel runs with the graph.

    Raises
    ------
    GraphError
        If no tensor is among the arguments, or the shape function refuses.
    """
    (result,) = called(operator, arguments, backward)
    return result


def of_node(device: Device, node: Node) -> Tensor:
    """Return the tensor that a node computes."""
    return Tensor(device, node.type, node)


def unary(operation: str, x: Tensor, /, **attributes) -> Tensor:
    """Record an operation on one tensor."""
    return of_node(x.device, apply(operation, x.as_node(), **attributes))


def together(operation: str, *tensors: Tensor, **attributes) -> Tensor:
    """Record an operation on several tensors, which must be on one device."""
    check_device(operation, *tensors)
    nodes = [one.as_node() for one in tensors]
    return of_node(tensors[0].device, apply(operation, *nodes, **attributes))


def _say(what: str, kind: type[Warning]) -> None:
    """Warn at the user's line, once per line."""
    line = source_line({})
    if line is not None and (kind, *line[:2]) not in _said:
        _said.add((kind, *line[:2]))
        warnings.warn_explicit(f"{line} {what}", kind, line.file, line.line)


@checked
def as_tensor(data, device: Device, dtype: str | type | None = None, *, name: str = "",
              per_replica: bool = False) -> Tensor:  # fmt: skip
    """Move data to a device.

    Parameters
    ----------
    data : array, or what NumPy makes one of
        64-bit numbers become 32-bit ones; ``device.narrowed`` may narrow them more.
    device : Device
    dtype : str, optional
    name : str
        Of the graph's parameter.
    per_replica : bool
        The first axis counts the device's replicas: each gets data of its own.

    Returns
    -------
    Tensor

    Raises
    ------
    GraphError
        For a dtype that devices do not know, integers beyond 32 bits, another number of replicas.

    Examples
    --------
    >>> as_tensor([[1, 2, 3]], Device()).type
    Type(shape=(1, 3), dtype='int32')
    """
    start = time.perf_counter_ns()
    if isinstance(data, Tensor):
        data = data.numpy()
    array = np.asarray(data)
    if array.dtype == np.float64 and not isinstance(data, np.ndarray | np.generic):
        array = array.astype(np.float32)  # Python's numbers
    kind = getattr(dtype, "__name__", None) or str(array.dtype if dtype is None else dtype)
    kind = device.narrowed.get(kind, kind)
    kind = _NUMPY.get(kind, kind)
    if kind not in DTYPES:
        raise GraphError(f"dtype is {kind}; a lazy device holds {', '.join(DTYPES)}")
    if array.dtype.kind not in "biuf" and array.dtype.name not in DTYPES:
        raise GraphError(f"data are {array.dtype.name}; a lazy device holds {', '.join(DTYPES)}")
    if kind in ("int32", "uint32") and array.dtype.kind in "iu" and array.size:
        limits, least, most = np.iinfo(kind), array.min(), array.max()
        if least < limits.min or most > limits.max:
            raise GraphError(sentence("tensor.too_wide", least=least, most=most, limits=limits))
    shape = array.shape
    if per_replica:
        count = device.setting.replicas
        if not shape or shape[0] != count:
            raise GraphError(sentence("tensor.replicas", sizes=list(shape), count=count or "no"))
        shape = shape[1:]
    type = Type(shape, kind)
    if not device.setting.values:
        return Tensor(device, type, data=hollow(type), name=name)
    held = as_held(array, type)
    if held is array or held.base is not None:
        held = held.copy()  # the user may write into his own array
    held = np.ascontiguousarray(held).reshape(array.shape)
    _transferred(device, "to", start, prod(array.shape) * get_dtype(type.dtype).itemsize)
    return Tensor(device, type, data=held, name=name)


def _transferred(device, way, start, nbytes):
    """Count what went over to the device, or came back; the time is what it took here."""
    device.compiler.metrics.transferred(way, time.perf_counter_ns() - start, nbytes)


def promoted(operation: str, a: Type, b: Type) -> str:
    """Return the dtype in which two tensors meet, as PyTorch does.

    Raises
    ------
    GraphError
        For two that have none: uint32 and another integer, float8 and anything else.
    """
    if a.dtype == b.dtype:
        return a.dtype
    kinds = [(t.is_float, t.dtype != "bool") for t in (a, b)]  # bool < integer < floating point
    if kinds[0] != kinds[1]:
        return (a if kinds[0] > kinds[1] else b).dtype
    if bool(a.rank) != bool(b.rank):
        return (a if a.rank else b).dtype
    both = (a.dtype, b.dtype)
    if set(both) == {"float16", "bfloat16"}:
        return "float32"
    for order in (_INTEGERS, _FLOATS):
        if both[0] in order and both[1] in order:
            return max(both, key=order.index)
    raise GraphError(f"{operation} of {a} and {b}: no dtype holds both; cast one of them")


def aligned(node: Node, rank: int) -> Node:
    """Put axes of size 1 in front, as NumPy does."""
    if node.type.rank == rank:
        return node
    return apply("reshape", node, shape=(1,) * (rank - node.type.rank) + node.shape)


def as_dtype(node: Node, dtype: str) -> Node:
    """Cast a node unless it has the dtype."""
    return node if node.type.dtype == dtype else apply("cast", node, dtype=dtype)


def check_device(operation: str, *tensors: Tensor) -> None:
    """Raise unless all tensors are on one device."""
    first = tensors[0].device
    for other in tensors[1:]:
        if other.device is not first:
            raise GraphError(f"{operation} of tensors on {first} and {other.device}; both must be "
                             "on one device: make one of them there")  # fmt: skip


def binary(operation: str, a, b) -> Tensor:
    """Record an elementwise operation on two tensors, or a tensor and a number."""
    if not isinstance(a, Tensor):
        return _with_number(operation, b, a, True) if isinstance(b, Tensor) else NotImplemented
    if not isinstance(b, Tensor):
        return _with_number(operation, a, b, False)
    if a.device is not b.device:
        check_device(operation, a, b)
    x, y = a.as_node(), b.as_node()
    if a.type != b.type:
        if a.shape != b.shape:
            fitting(operation, stretched, a.type, b.type)
        dtype = promoted(operation, a.type, b.type)
        x, y = as_dtype(x, dtype), as_dtype(y, dtype)
        rank = max(x.type.rank, y.type.rank)
        x, y = aligned(x, rank), aligned(y, rank)
    if operation in _FRACTIONS and not x.type.is_float:
        x, y = as_dtype(x, a.device.float_dtype), as_dtype(y, a.device.float_dtype)
    return of_node(a.device, apply(operation, x, y))


def _with_number(operation, tensor, number, is_first):
    if isinstance(number, np.ndarray) and number.ndim:
        other = as_tensor(number, tensor.device)
        return binary(operation, *((other, tensor) if is_first else (tensor, other)))
    if isinstance(number, np.ndarray):
        number = number.item()
    if isinstance(number, bool | np.bool_) or not isinstance(number, int | float | np.number):
        return NotImplemented
    x = tensor.as_node()
    if not x.type.is_float:
        if isinstance(number, float | np.floating) or operation in _FRACTIONS:
            x = apply("cast", x, dtype=tensor.device.float_dtype)
        elif x.type.dtype == "bool":
            x = apply("cast", x, dtype="int32")
    y = tensor.device.scalar(float(number), x.type.dtype, x.type.rank)
    return of_node(tensor.device, apply(operation, *((y, x) if is_first else (x, y))))
