"""Cases of moves: shapes, places named by data, convolution, control flow, collectives.

Judges: NumPy and PyTorch, as in ``cases_math.py``.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.texts import rows_beside
from tests.xla.operations.cases import Case, f, i
from trainium_edu.xla.graph import Graph, Type
from trainium_edu.xla.operations import apply, constant, parameter
from trainium_edu.xla.operations.control import item

ROWS = rows_beside(__file__, "moves.toml")


@dataclass(frozen=True)
class Built(Case):
    """A case whose operation stands among others: it has several results, or no input."""

    build: Callable | None = None  #: (*nodes) -> node

    def graph(self) -> Graph:
        inputs = tuple(parameter(i, t) for i, t in enumerate(self.types))
        return Graph(self.operation, inputs, (self.build(*inputs),))


def torch():
    import torch

    return torch


# -- shapes -----------------------------------------------------------------------------------

CASES: list[Case] = [
    Case("transpose", (f(*shape),), lambda x, p=order: x.transpose(p),
         lambda x, p=order: x.permute(p),
         attributes={"perm": tuple(axis - len(order) for axis in order)})
    for shape, order in (((5, 7), (1, 0)), ((130, 200), (1, 0)), ((3, 4, 5), (1, 0, 2)),
                         ((3, 4, 5), (1, 2, 0)), ((20, 3, 40), (2, 1, 0)),
                         ((3, 40, 20), (0, 2, 1)), ((9, 40, 20), (0, 2, 1)), ((6,), (0,)), ((), ()))
]  # fmt: skip
CASES += [
    Case("transpose", (i(20, 30),), np.transpose, attributes={"perm": (-1, -2)}, is_smooth=False),
    Case("reshape", (f(3, 1, 4),), lambda x: x.reshape(12), lambda x: x.reshape(12),
         attributes={"shape": (12,)}),
    Case("reshape", (f(1, 1),), lambda x: x.reshape(()), lambda x: x.reshape(()),
         attributes={"shape": ()}),
]  # fmt: skip


def _slice_case(shape, *parts):
    starts, limits, strides = zip(*parts, strict=True)
    at = tuple(map(slice, starts, limits, strides))
    return Case(
        "slice", (f(*shape),), lambda x: x[at], lambda x: x[at],
        attributes={"starts": starts, "limits": limits, "strides": strides},
    )  # fmt: skip


CASES += [
    _slice_case((7,), (2, 5, 1)),
    _slice_case((7, 5), (1, 6, 1), (0, 5, 1)),
    _slice_case((7, 5), (1, 7, 3), (2, 5, 2)),
    _slice_case((130, 3, 4), (0, 130, 129), (1, 2, 1), (3, 4, 5)),
    _slice_case((8, 6), (0, 7, 4), (1, 6, 3)),
    Built("slice", (f(6, 4),), lambda x: x[1::2].reshape(-1), lambda x: x[1::2].reshape(-1),
          build=lambda x: apply("reshape", apply("slice", x, starts=(1, 0), limits=(6, 4),
                                                 strides=(2, 1)), shape=(12,))),
]  # fmt: skip
CASES += [
    Case("pad", (f(*shape),),
         lambda x, lo=low, hi=high: np.pad(x, list(zip(lo, hi, strict=True)), constant_values=1.5),
         lambda x, lo=low, hi=high: torch().nn.functional.pad(
             x, [n for pair in zip(lo[::-1], hi[::-1], strict=True) for n in pair], value=1.5),
         attributes={"low": low, "high": high, "value": 1.5})
    for shape, low, high in (((5,), (2,), (0,)), ((3, 4), (1, 0), (0, 131)),
                             ((3, 4, 2), (0, 2, 1), (1, 0, 3)), ((3, 4), (0, 0), (0, 0)))
]  # fmt: skip
CASES += [
    Case("concatenate", tuple(f(*s) for s in shapes),
         lambda *x, a=axis: np.concatenate(x, a), lambda *x, a=axis: torch().cat(x, a),
         attributes={"axis": axis})
    for shapes, axis in ((((3, 4), (2, 4)), -2), (((3, 4), (3, 1), (3, 140)), -1),
                         (((2, 3, 4), (2, 5, 4)), -2), (((3, 4),), -1))
]  # fmt: skip
CASES += [
    Built("iota", (f(*shape),),
          lambda x, a=axis: x + np.arange(x.shape[a]).reshape(-1, *(1,) * (-1 - a)),
          build=lambda x, a=axis: apply("add", x, apply("iota", shape=x.shape, axis=a,
                                                        dtype=x.dtype)))
    for shape, axis in (((3, 5), -1), ((3, 5), -2), ((200, 3), -2), ((2, 3, 4), -2), ((5,), -1))
]  # fmt: skip

CASES += [  # of what lies in another order than its axes say
    Built("reduce_sum", (f(*shape),), lambda x, a=axes: x.swapaxes(0, 1).sum(a),
          build=lambda x, a=axes: apply(
              "reduce_sum", apply("transpose", x, perm=(-2, -3, -1)), axes=a, keep=False))
    for shape in ((4, 3, 5), (130, 3, 7)) for axes in ((-3, -1), (-1,), (-2,), (-3,))
]  # fmt: skip

# -- places named by data ---------------------------------------------------------------------


def _np_scatter_add(operand, indices, updates):
    out = np.array(operand)
    np.add.at(out, indices, updates)
    return out


def _torch_scatter_add(operand, indices, updates):
    return operand.index_put((indices.long(),), updates, accumulate=True)


CASES.append(Case("scatter_add", (i(7, 4), i(2, 3), i(2, 3, 4)), _np_scatter_add, low=0, high=6,
                  is_smooth=False))  # fmt: skip
for _rows, _indices, _rest in ((7, (2, 3), (4,)), (150, (130, 2), (5,)), (300, (140,), (2, 3)),
                               (7, (), (4,)), (7, (3,), ())):  # fmt: skip
    _out = (*_indices, *_rest)
    CASES += [
        Case("gather", (f(_rows, *_rest), i(*_indices)), lambda t, n: t[n],
             lambda t, n: t[n.long()], low=0, high=_rows - 1),
        Case("scatter_add", (f(_rows, *_rest), i(*_indices), f(*_out)), _np_scatter_add,
             _torch_scatter_add, low=0, high=_rows - 1),
        Case("pick", (f(*_indices, _rows), i(*_indices)),
             lambda x, n: np.take_along_axis(x, n[..., None], -1)[..., 0],
             lambda x, n: x.gather(-1, n.long()[..., None])[..., 0], low=0, high=_rows - 1),
        Case("one_hot", (i(*_indices),), lambda n, c=_rows: np.eye(c)[n], low=0, high=_rows - 1,
             attributes={"classes": _rows, "dtype": "float32"}, is_smooth=False),
    ]  # fmt: skip
CASES.append(Case("pick", (f(130, 16400), i(130)),
                  lambda x, n: np.take_along_axis(x, n[..., None], -1)[..., 0],
                  is_smooth=False, low=0, high=16399))  # fmt: skip

# -- convolution ------------------------------------------------------------------------------


def _torch_convolution(x, w, strides, padding):
    (top, bottom), (left, right) = padding
    functional = torch().nn.functional
    return functional.conv2d(functional.pad(x, (left, right, top, bottom)), w, stride=strides)


def _np_convolution(x, w, strides, padding):
    """Multiply and add, one place of the filter after the other."""
    x = np.pad(x, ((0, 0), (0, 0), *padding))
    down, across = (
        (n - k) // s + 1 for n, k, s in zip(x.shape[2:], w.shape[2:], strides, strict=True)
    )
    out = np.zeros((len(x), len(w), down, across))
    for r in range(down):
        for c in range(across):
            at = (slice(r * strides[0], r * strides[0] + w.shape[2]),
                  slice(c * strides[1], c * strides[1] + w.shape[3]))  # fmt: skip
            out[:, :, r, c] = np.einsum("nchw,ochw->no", x[:, :, *at], w)
    return out


def _torch_gradient(shape, which, options):
    """Return PyTorch's gradient of a convolution with respect to its operand `which`."""

    def judge(other, g):
        held = torch().zeros(shape, dtype=g.dtype, requires_grad=True)
        pair = (held, other) if which == 0 else (other, held)
        out = _torch_convolution(*pair, **options)
        return torch().autograd.grad(out, held, g, create_graph=True)[0]

    return judge


for _x, _w, _strides, _padding in ROWS["convolutions"]:
    _options = {"strides": _strides, "padding": _padding}
    _g = (
        _x[0], _w[0], *((n + sum(p) - k) // s + 1
                        for n, k, s, p in zip(_x[2:], _w[2:], _strides, _padding, strict=True)),
    )  # fmt: skip
    CASES += [
        Case("convolution", (f(*_x), f(*_w)), lambda x, w, o=_options: _np_convolution(x, w, **o),
             lambda x, w, o=_options: _torch_convolution(x, w, **o), attributes=_options),
        Case("convolution_of_input", (f(*_w), f(*_g)), None, _torch_gradient(_x, 0, _options),
             attributes={"shape": _x, **_options}),
        Case("convolution_of_filter", (f(*_x), f(*_g)), None, _torch_gradient(_w, 1, _options),
             attributes={"shape": _w, **_options}),
    ]  # fmt: skip

# -- several results, control flow --------------------------------------------------------------


def _branches(x, y):
    """Return ``x * y`` and ``x + x`` as graphs of (x, y), each with y beside it."""
    a, b = parameter(0, x.type), parameter(1, y.type)
    return {
        "on_true": Graph("product", (a, b), (apply("multiply", a, b), b)),
        "on_false": Graph("twice", (a, b), (apply("add", a, a), apply("negate", b))),
    }


def _build_cond(predicate, x, y):
    node = apply("cond", predicate, x, y, **_branches(x, y))
    return apply("add", item(node, 0), item(node, 1))


def _build_tuple(x, y):
    both = apply("tuple", apply("add", x, y), y)
    return apply("multiply", apply("item", both, index=0), apply("item", both, index=1))


def _build_while(x, limit):
    """Double the first operand, and count, until its turns are as many as the limit."""
    kinds = x.type, limit.type, limit.type
    state = tuple(parameter(n, kind) for n, kind in enumerate(kinds))
    one = constant(1, "int32")
    condition = Graph("below", state, (apply("less", state[1], state[2]),))
    body = Graph(
        "double", state, (apply("add", state[0], state[0]), apply("add", state[1], one), state[2])
    )
    start = constant(0, "int32")
    return item(apply("while", x, start, limit, condition=condition, body=body, most=5), 0)


_PREDICATE = Type((), "bool")
CASES += [
    Built("cond", (_PREDICATE, f(*shape), f(*shape)),
          lambda p, x, y: np.where(p, x * y + y, 2 * x - y),
          lambda p, x, y: torch().where(p.bool(), x * y + y, 2 * x - y), build=_build_cond)
    for shape in ((130, 5), (3,), ())
]  # fmt: skip
CASES += [
    Built("item", (f(3, 4), f(3, 4)), lambda x, y: x + y, lambda x, y: x + y,
          build=lambda x, y: apply("item", apply("tuple", apply("add", x, y), y), index=0)),
    Built("tuple", (f(3, 4), f(3, 4)), lambda x, y: (x + y) * y, lambda x, y: (x + y) * y,
          build=_build_tuple),
    Built("while", (f(130, 5), i()), lambda x, n: x * 2.0**n, low=0, high=4, is_smooth=False,
          build=_build_while),
]  # fmt: skip

# -- random numbers and collectives -------------------------------------------------------------

CASES += [
    Case("random_uniform", (i(), i()), low=0, high=9, is_smooth=False, is_lowered=False,
         attributes={"shape": (7, 300), "number": 0}),
    Case("random_keep", (i(), i()), low=0, high=9, is_smooth=False, is_lowered=False,
         attributes={"shape": (7, 300), "number": 1, "probability": 0.75, "dtype": "float32"}),
]  # fmt: skip
_ALONE = tuple((rank,) for rank in range(3))
CASES += [
    Case(name, (f(4, 6),), lambda x: x, lambda x: x, attributes={"groups": _ALONE, **more})
    for name, more in (
        ("all_reduce", {"kind": "sum"}),
        ("all_gather", {"axis": -1, "world": 1}),
        ("reduce_scatter", {"kind": "sum", "axis": -2, "world": 1}),
        ("all_to_all", {"axis": -1, "world": 1}),
        ("collective_permute", {"pairs": ((0, 0),), "world": 1}),
    )
]

WITHOUT_VJP = {"while"}
STEPS = {"one_hot", "random_keep", "random_uniform"}  #: their vjp returns None
ELSEWHERE: set[str] = set()
