"""Lazy tensors: they look like arrays, and each operation only adds a node to the graph.

Whatever needs a number (``print``, ``item``, ``numpy``, ``if``) runs what that one tensor needs.
"""

import warnings

import numpy as np

from trainium_edu.neuroncore.recording.source import source_line
from trainium_edu.xla.autograd import gradients
from trainium_edu.xla.device import Device
from trainium_edu.xla.executor import as_held
from trainium_edu.xla.graph import DTYPES, GraphError, Node, Type
from trainium_edu.xla.operations import apply, constant

__all__ = ["EarlyRun", "Tensor", "aligned", "as_tensor", "binary"]

_WIDTH = ("bool", "uint8", "int32", "uint32", "float8_e5m2", "float8_e4m3", "float16", "bfloat16",
          "tfloat32", "float32")  # fmt: skip
_NUMPY = {"float64": "float32", "int64": "int32", "uint64": "uint32", "int16": "int32",
          "int8": "int32", "uint16": "int32"}  # fmt: skip
_said: set = set()


class EarlyRun(UserWarning):
    """A value was asked for before ``mark_step``; what it needs ran as a graph of its own."""


class Tensor:
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

    __slots__ = ("__weakref__", "_data", "_generation", "_leaf", "_of", "device", "grad", "name",
                 "node", "requires_grad", "type")  # fmt: skip
    __array_priority__ = 1000

    def __init__(self, device: Device, type: Type, node=None, data=None, *, name="",
                 requires_grad=False):  # fmt: skip
        self.device, self.type, self.node, self._data = device, type, node, data
        self.name, self.requires_grad, self.grad = name, requires_grad, None
        self._leaf = self._of = None  # (pending, node) of its data as a leaf; what computed it
        self._generation = device.generation
        if node is not None:
            device.add(self)

    # -- what the device asks for -------------------------------------------------------------

    def as_node(self) -> Node:
        """Return the node that stands for this tensor in the graph being recorded."""
        device = self.device
        if self._generation != device.generation:
            raise RuntimeError(
                f"this {self.type} tensor is of {device} before it was reset; make it again"
            )
        if self.node is not None:
            return self.node
        if self._leaf is None or self._leaf[0] is not device.pending:
            node = device.leaf(self._data, self.type, self.name, self, self._of)
            self._leaf = device.pending, node
        return self._leaf[1]

    def hold(self, data: np.ndarray) -> None:
        """Take the value that was computed."""
        self._data, self._of, self.node = data, self.node, None

    def forget_node(self) -> None:
        """Forget what computed the value: its graph has been cut off."""
        self._of = None

    def set_(self, other: "Tensor") -> "Tensor":
        """Become another tensor's value; how an optimiser updates a weight."""
        if other.type != self.type:
            raise GraphError(f"a {self.type} tensor cannot become {other.type}")
        self.node, self._data, self._of, self._leaf = other.node, other._data, other._of, None
        if self.node is not None:
            self.device.add(self)
        return self

    # -- values -------------------------------------------------------------------------------

    def numpy(self) -> np.ndarray:
        """Return the value as an array; runs what it needs if it is not there yet.

        BF16 and narrower formats come as float32 with the numbers that the format has.
        """
        if self._data is None:
            self._say()
            self.device.evaluate(self)
        return np.array(self._data)

    def _say(self):
        line = source_line({})
        if line is not None and line[:2] not in _said:
            _said.add(line[:2])
            warnings.warn(
                f"{line} asked for the value of a {self.type} tensor before mark_step: what it "
                "needs ran as a graph of its own",
                EarlyRun,
                stacklevel=4,
            )

    def item(self) -> float | int | bool:
        """Return the only element as a Python number."""
        if self.type.size != 1:
            raise ValueError(f"item() takes one element; this tensor is {self.type}")
        return self.numpy().reshape(()).item()

    def __array__(self, dtype=None, copy=None):
        return self.numpy().astype(dtype or self._data.dtype, copy=False)

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __bool__(self):
        return bool(self.item())

    __index__ = __int__

    def __format__(self, spec):
        return format(self.item() if self.type.size == 1 else str(self), spec)

    def __repr__(self):
        text = np.array2string(self.numpy(), separator=", ", prefix="tensor(")
        return f"tensor({text}, device='{self.device}', dtype={self.dtype})"

    # -- gradients ----------------------------------------------------------------------------

    def backward(self, gradient: "Tensor | None" = None) -> None:
        """Record the gradient of this tensor for every tensor that requires one; add to ``grad``.

        Raises
        ------
        GraphError
            If it is no scalar and no gradient is given, or its graph has been cut already.
        """
        if self.type.size != 1 and gradient is None:
            raise GraphError(f"backward() starts from one number, and this tensor is {self.type}; "
                             "take its mean or sum first, or give the gradient")  # fmt: skip
        root = self.as_node()
        if root.operation == "parameter" and self.device.origin(root) is None:
            raise GraphError("backward() finds no graph: mark_step has cut it; call backward first")
        wanted = [t for t in self.device.trained.values() if t.is_recorded]
        start = (
            constant(np.ones(self.shape), self.dtype) if gradient is None else gradient.as_node()
        )
        nodes = [t.as_node() for t in wanted]
        found = gradients(root, nodes, start, behind=self.device.origin)
        for tensor, node in zip(wanted, found, strict=True):
            if node is not None:
                part = Tensor(self.device, tensor.type, node)
                tensor.grad = part if tensor.grad is None else tensor.grad + part

    @property
    def is_recorded(self) -> bool:
        """Whether the graph being recorded uses it."""
        return self.node is not None or (
            self._leaf is not None and self._leaf[0] is self.device.pending
        )

    def requires_grad_(self, wanted: bool = True) -> "Tensor":
        """Ask ``backward`` for this tensor's gradient."""
        if wanted and not self.type.is_float:
            raise GraphError(f"only floating-point tensors have gradients; this one is {self.type}")
        self.requires_grad = wanted
        self.device.trained.pop(id(self), None)
        if wanted:
            self.device.trained[id(self)] = self
        return self

    def detach(self) -> "Tensor":
        """Return the same value, through which no gradient flows."""
        return unary("detach", self)

    # -- shape --------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""
        return self.type.shape

    @property
    def dtype(self) -> str:
        """Its dtype by name."""
        return self.type.dtype

    @property
    def ndim(self) -> int:
        """How many axes."""
        return self.type.rank

    @property
    def size(self) -> int:
        """How many elements."""
        return self.type.size

    def __len__(self):
        if not self.shape:
            raise TypeError("a tensor without axes has no length")
        return self.shape[0]

    def __setitem__(self, index, value):
        raise TypeError(
            "a lazy tensor's elements cannot be set: nodes of a graph never change; build the new "
            "tensor with where, concatenate or scatter_add"
        )

    def __hash__(self):
        return id(self)


def unary(operation: str, x: Tensor, /, **attributes) -> Tensor:
    """Record an operation on one tensor."""
    node = apply(operation, x.as_node(), **attributes)
    return Tensor(x.device, node.type, node)


def as_tensor(data, device: Device, dtype: str | None = None, *, name: str = "") -> Tensor:
    """Move data to a device.

    Parameters
    ----------
    data : array, or what NumPy makes one of
        64-bit numbers become 32-bit ones.
    device : Device
    dtype : str, optional
    name : str
        Of the graph's parameter.
    """
    array = np.asarray(data)
    kind = getattr(dtype, "__name__", dtype) or array.dtype.name
    kind = _NUMPY.get(kind, kind)
    if kind not in DTYPES:
        raise GraphError(f"dtype is {kind}; a lazy device holds {', '.join(DTYPES)}")
    type = Type(array.shape, kind)
    return Tensor(device, type, data=np.ascontiguousarray(as_held(array, type)).reshape(array.shape),
                  name=name)  # fmt: skip


def aligned(node: Node, rank: int) -> Node:
    """Put axes of size 1 in front, as NumPy does."""
    if node.type.rank == rank:
        return node
    return apply("reshape", node, shape=(1,) * (rank - node.type.rank) + node.shape)


def binary(operation: str, a, b) -> Tensor:
    """Record an elementwise operation on two tensors, or a tensor and a number."""
    if not isinstance(a, Tensor):
        return _with_number(operation, b, a, True)
    if not isinstance(b, Tensor):
        return _with_number(operation, a, b, False)
    if a.device is not b.device:
        raise GraphError(
            f"{operation} of tensors on {a.device} and {b.device}; both must be on one"
        )
    x, y = a.as_node(), b.as_node()
    if x.type != y.type:
        if x.dtype != y.dtype:
            wide = max(x.dtype, y.dtype, key=_WIDTH.index)
            x, y = (n if n.dtype == wide else apply("cast", n, dtype=wide) for n in (x, y))
        rank = max(x.type.rank, y.type.rank)
        x, y = aligned(x, rank), aligned(y, rank)
    node = apply(operation, x, y)
    return Tensor(a.device, node.type, node)


def _with_number(operation, tensor, number, is_first):
    if isinstance(number, np.ndarray) and number.ndim:
        other = as_tensor(number, tensor.device)
        return binary(operation, *((other, tensor) if is_first else (tensor, other)))
    if isinstance(number, bool | np.bool_) or not isinstance(number, int | float | np.number):
        return NotImplemented
    x = tensor.as_node()
    if isinstance(number, float | np.floating) and not x.type.is_float:
        x = apply("cast", x, dtype="float32")
    y = tensor.device.scalar(float(number), x.dtype, x.type.rank)
    node = apply(operation, *((y, x) if is_first else (x, y)))
    return Tensor(tensor.device, node.type, node)


def _operator(operation, reverse=False):
    def method(self, other):
        return binary(operation, other, self) if reverse else binary(operation, self, other)

    return method


def _in_place(operation):
    def method(self, other):
        return self.set_(binary(operation, self, other))

    return method


_OPERATORS = {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide",
              "pow": "power"}  # fmt: skip
for _name, _row in _OPERATORS.items():
    setattr(Tensor, f"__{_name}__", _operator(_row))
    setattr(Tensor, f"__r{_name}__", _operator(_row, reverse=True))
    setattr(Tensor, f"__i{_name}__", _in_place(_row))
for _name, _row in {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
                    "eq": "equal", "ne": "not_equal"}.items():  # fmt: skip
    setattr(Tensor, f"__{_name}__", _operator(_row))
Tensor.__neg__ = lambda self: unary("negate", self)
