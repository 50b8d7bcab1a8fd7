"""Calls of PyTorch's operations: name of the overload -> arguments, for rows beside PyTorch."""

from collections import defaultdict
from itertools import product
from math import inf, nan

import torch
import torch.nn.functional as F

aten = torch.ops.aten
CASES: dict[str, list[tuple[tuple, dict]]] = defaultdict(list)
RANDOM: dict[str, list[tuple[tuple, dict]]] = defaultdict(list)  #: judged by their statistics
INVERSES: dict[str, list[tuple]] = defaultdict(list)  #: (shape of base, arguments, index or None)
torch.manual_seed(7)


def f(*shape):
    return torch.randn(shape)


def p(*shape):
    """Return numbers well above 0."""
    return torch.rand(shape) + 0.1


def h(*shape):
    return torch.randn(shape).bfloat16()


def i(top, *shape, low=0):
    return torch.randint(low, top, shape)


def b(*shape):
    return torch.rand(shape) < 0.5


def case(names, *arguments, **options):
    for name in names.split():
        CASES[name].append((arguments, options))


def each(names, *calls):
    for name, arguments in product(names.split(), calls):
        CASES[name].append((arguments, {}))


# -- element by element ---------------------------------------------------------------------------

PAIRS = [
    (f(3, 4), f(3, 4)), (f(3, 1), f(2, 1, 4)), (f(3, 4), f()), (h(3, 4), h(4)), (h(3), f(2, 3)),
    (i(9, 3, 4), i(9, 4, low=1)), (i(9, 3), f(2, 3)), (f(3), torch.tensor(2.5)),
    (h(4), f()), (i(5, 3), torch.tensor([1.5, 2.0, 4.0])), (f(2, 3), i(9, 3, low=1)),
    (f(0, 3), f(3)),
]  # fmt: skip
NUMBERS = [(f(3, 4), 2.5), (f(3), 2), (h(3, 4), 0.5), (i(9, 3, 4), 2), (i(9, 3), 1.5), (f(), 3.0),
           (b(4), 2), (f(3), True), (f(3), 1), (f(3), -1.0)]  # fmt: skip
each("add.Tensor sub.Tensor mul.Tensor div.Tensor maximum minimum", *PAIRS)
each("maximum minimum", (b(5), b(5)))
each("eq.Tensor ne.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor", *PAIRS, (i(3, 9), i(3, 9)),
     (b(5), b(5)))  # fmt: skip
each("add.Scalar mul.Scalar div.Scalar", *NUMBERS)
each(
    "sub.Scalar rsub.Scalar",
    *(one for one in NUMBERS if one[0].dtype != torch.bool and one[1] is not True),
)
each("add.Tensor sub.Tensor mul.Tensor div.Tensor", (f(3), 2.5), (i(5, 3), 2))
each("add.Tensor mul.Tensor", (b(5), b(5)), (b(5), i(4, 5)), (b(5), f(5)))
each("eq.Scalar ne.Scalar lt.Scalar le.Scalar gt.Scalar ge.Scalar", *NUMBERS, (i(3, 9), 1),
     (b(4), True), (i(3, 9), 1.5))  # fmt: skip
for alpha in (2, -0.5):
    case("add.Tensor sub.Tensor rsub.Tensor", f(3, 4), f(4), alpha=alpha)
case("add.Tensor sub.Tensor rsub.Tensor", i(9, 3), i(9, 3), alpha=2)
case("rsub.Tensor", f(2, 3), f(3))
case("add.Scalar sub.Scalar rsub.Scalar", f(3), 2.0, alpha=3)
for mode in (None, "floor", "trunc"):
    case("div.Tensor_mode", f(50) * 9, f(50), rounding_mode=mode)
    case("div.Tensor_mode", i(40, 60, low=-40), i(9, 60, low=1), rounding_mode=mode)
    case("div.Scalar_mode", i(40, 60, low=-40), 7, rounding_mode=mode)
    case("div.Scalar_mode", f(60) * 20, 3.0, rounding_mode=mode)
each("floor_divide", (i(99, 40, low=-99), i(9, 40, low=1)), (f(40) * 9, p(40)))
each("remainder.Tensor fmod.Tensor", (i(99, 40, low=-99), i(9, 40, low=1)), (f(40) * 5, p(40)))
each("remainder.Scalar fmod.Scalar", (i(99, 40, low=-99), 5), (f(40) * 9, 2.0), (i(9, 4), 2.5))
for value in (1, -0.25):
    case("addcmul", f(3, 4), f(3, 4), f(4), value=value)
    case("addcdiv", f(3, 4), f(3, 4), p(4), value=value)
case("addcmul addcdiv", h(3, 4), h(3, 4), h(4) + 4)
each("lerp.Scalar", (f(3, 4), f(3, 4), 0.1), (f(3), f(3), 0.9), (h(3), h(3), 0.25))
each("lerp.Tensor", (f(3, 4), f(3, 4), p(4)))
case("clamp", f(9), -0.5, 0.5)
case("clamp", f(9), min=0)
case("clamp", h(9), max=0.5)
case("clamp", i(9, 9), 2, 5)
case("clamp.Tensor", f(3, 4), f(4), None)
case("clamp.Tensor", f(3, 4), -p(4), p(3, 4))
each("clamp_min clamp_max", (f(9), 0.1), (i(9, 9), 3), (h(9), 0))
each("clamp_min.Tensor clamp_max.Tensor", (f(3, 4), f(4)))

each(
    "logical_and logical_or logical_xor", (b(3, 4), b(4)), (f(3).round(), i(2, 3)), (i(2, 5), b(5))
)
each("bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor", (b(3, 4), b(4)))
each("bitwise_and.Scalar bitwise_or.Scalar bitwise_xor.Scalar", (b(4), True), (b(4), False))
each("logical_not", (b(3, 4),), (i(2, 5),), (f(4).round(),))
case("bitwise_not", b(3, 4))
SPECIAL = torch.tensor([1.0, inf, -inf, nan, 0.0, -3.5])
each("isnan isinf isfinite isposinf isneginf", (SPECIAL,), (f(2, 3),), (SPECIAL.bfloat16(),))
each("isnan isfinite isinf", (i(5, 3),))
case("nan_to_num", SPECIAL)
case("nan_to_num", SPECIAL, 0.5, 2.0, -2.0)
case("nan_to_num", SPECIAL.bfloat16(), nan=1.0)
case("nan_to_num", i(5, 3))

each("exp sin cos tanh erf sigmoid sinh cosh exp2 erfc expm1", (f(3, 4),), (f(),), (i(3, 4),),
     (h(3, 4),))  # fmt: skip
each(
    "log sqrt rsqrt reciprocal log1p log2 log10", (p(3, 4),), (i(9, 4, low=1),), (p(5).bfloat16(),)
)
each("expm1 log1p", (f(40).abs() * 1e-4,), (torch.tensor([0.0, 80.0, 1e-8, 3.0]),))
each("abs neg sign sgn square", (f(3, 4),), (i(9, 4, low=-9),), (h(5),))
each("floor ceil trunc round frac", (f(3, 40) * 4,), (torch.tensor([0.5, 1.5, -0.5, -2.5, 2.0]),),
     (h(40) * 4,))  # fmt: skip
each("floor ceil trunc round", (i(9, 4, low=-9),))
each("sinh", (f(9) * 9,))
each("tan", (f(9) * 0.5,))
case("round.decimals", f(20) * 4, decimals=2)
each("xlogy.Tensor", (torch.tensor([0.0, 0.5, 2.0]), p(3)))
each("logaddexp", (f(3, 4), f(4) * 5), (torch.tensor([90.0, -3.0]), torch.tensor([80.0, 2.0])))
each("pow.Tensor_Scalar", *((p(3, 4), e) for e in (0, 1, 2, 3, 0.5, -0.5, -1, 1.7, -2, 4)),
     *((i(9, 5, low=-3), e) for e in (0, 1, 2, 3, 4)), (f(5), 2), (f(5), 3.0), (h(5), 2),
     (i(5, 4), 0.5), (p(9).bfloat16(), 3))  # fmt: skip
each("pow.Tensor_Tensor", (p(3, 4), f(4)), (i(5, 4, low=1), i(3, 4)), (p(4), i(3, 4)))
each("pow.Scalar", (2.0, f(4)), (2, f(4)), (2, i(5, 4)), (0.9, f()))

# -- activations ----------------------------------------------------------------------------------

ACTIVE = [(f(3, 4) * 4,), (h(3, 8),), (torch.tensor([-3.0, 0.0, 3.0, 6.0, -9.0]),)]
each("relu relu6 gelu silu leaky_relu elu softplus log_sigmoid_forward hardtanh hardsigmoid "
     "hardswish mish", *ACTIVE)  # fmt: skip
case("relu relu6", i(9, 5, low=-9))
case("gelu", f(9), approximate="tanh")
each("celu hardshrink softshrink", (f(9) * 2,), (f(9), 0.7))
each("hardshrink_backward softshrink_backward", (f(9), f(9), 0.5))
case("threshold", f(9), 0.3, -1.0)
case("leaky_relu", f(9), 0.2)
case("elu", f(9), 0.5, 1.2, 0.8)
case("softplus", f(9) * 3, 2, 5)
case("hardtanh", f(9), -0.5, 0.25)
case("glu", f(3, 8))
case("glu", f(4, 3), 0)
case("_prelu_kernel", f(3, 4), f(4))
G = [(f(3, 4), f(3, 4) * 3), (h(3, 4), h(3, 4))]
each("silu_backward hardsigmoid_backward hardswish_backward mish_backward gelu_backward", *G)
each("tanh_backward", (f(5), f(5).tanh()), (h(5), h(5).tanh()))
each("sigmoid_backward", (f(5), f(5).sigmoid()))
case("gelu_backward", f(3, 4), f(3, 4), approximate="tanh")
each("threshold_backward", (f(9), f(9), 0), (f(9), f(9), 0.5), (h(9), h(9), 0))
each("leaky_relu_backward", (f(9), f(9), 0.1, False))
each("elu_backward", (f(9), 1.5, 1.0, 1.0, False, f(9)), (f(9), 1.0, 1.0, 1.0, True, F.elu(f(9))))
each("softplus_backward", (f(9), f(9), 1, 20), (f(9), f(9) * 9, 2, 5))
x = f(9)
each("log_sigmoid_backward", (f(9), x, aten.log_sigmoid_forward(x)[1]))
each("hardtanh_backward", (f(9), f(9), -0.5, 0.5))
each("glu_backward", (f(3, 4), f(3, 8), -1), (f(2, 3), f(4, 3), 0))
each("_prelu_kernel_backward", (f(3, 4), f(3, 4), f(3, 4)))

# -- tensors of nothing, copies -------------------------------------------------------------------

each("full", ((2, 3), 1.5), ((2,), 3), ((), True))
case("full", (2, 3), 1, dtype=torch.bfloat16)
case("full", (2,), 7, dtype=torch.int64)
case("scalar_tensor", 2.5)
case("scalar_tensor", 3, dtype=torch.int64)
each("zeros ones", ((2, 3),), ((),))
case("zeros ones", (4,), dtype=torch.bool)
case("zeros_like ones_like", f(2, 3))
case("zeros_like ones_like", i(4, 3), dtype=torch.float64)
case("full_like", h(2, 3), 2.5)
case("new_zeros new_ones", i(3, 2), (3, 4))
case("new_zeros new_ones", i(3, 2), (3, 4), dtype=torch.float32)
case("new_full", f(2), (3,), 0.5)
case("zero", f(3))
case("fill.Scalar", i(4, 3), 2)
case("fill.Tensor", f(2, 3), torch.tensor(0.5))
each("arange", (5,), (2.5,))
each("arange.start", (2, 7), (0.5, 4))
each("arange.start_step", (0, 10, 3), (5, 0, -2), (0.0, 1.0, 0.25))
case("arange", 5, dtype=torch.float32)
each("linspace", (0, 1, 5), (-1.0, 1.0, 1), (2, -3, 7))
each("eye", (3,))
case("eye", 2, dtype=torch.int64)
each("eye.m", (2, 4))
case("clone", f(2, 3))
each("copy", (f(2, 3), i(9, 2, 3)), (f(2, 3), f(3)), (h(3), f(3)))
for dtype in (torch.bfloat16, torch.float16, torch.int64, torch.bool, torch.float64, torch.int8):
    case("_to_copy", f(3, 4) * 9, dtype=dtype)
case("_to_copy", b(5), dtype=torch.float32)
case("_to_copy", i(9, 5), dtype=torch.float32)
case("_to_copy", f(3))

# -- views ----------------------------------------------------------------------------------------

VIEWS = {
    "view": [((4, 6), ([2, 12],)), ((4, 6), ([-1],)), ((2, 3, 4), ([6, -1],))],
    "_unsafe_view": [((4, 6), ([2, 12],))],
    "_reshape_alias": [((4, 6), ([3, 8], [8, 1]))],
    "alias": [((3,), ())], "detach": [((3,), ())], "lift_fresh": [((3,), ())],
    "squeeze": [((1, 3, 1), ())],
    "squeeze.dim": [((1, 3, 1), (0,)), ((2, 3), (1,)), ((2, 1), (-1,))],
    "squeeze.dims": [((1, 3, 1), ([0, -1],)), ((1, 3), ([0, 1],))],
    "unsqueeze": [((3, 4), (0,)), ((3, 4), (-1,)), ((3, 4), (1,))],
    "t": [((3, 4), ()), ((3,), ())],
    "transpose.int": [((2, 3, 4), (0, -1)), ((2, 3, 4), (1, 2))],
    "permute": [((2, 3, 4), ([2, 0, 1],)), ((2, 3, 4), ([-1, 1, 0],))],
    "slice.Tensor": [((5, 6), (0, 1, 4)), ((5, 6), (1, -3, 9223372036854775807)), ((5, 6), ()),
                     ((7, 9), (1, 1, 8, 3)), ((5, 6), (-1, None, 4)), ((5,), (0, 3, 2)),
                     ((5, 6), (0, -99, 2))],
    "select.int": [((5, 6), (0, 2)), ((5, 6), (-1, -1)), ((2, 3, 4), (1, 0)), ((4,), (0, 1))],
    "diagonal": [((3, 4), ()), ((3, 4), (1,)), ((2, 3, 4), (-1, 1, 2)), ((2, 3, 2), (0, 0, -1))],
}  # fmt: skip
INVERSES["as_strided"] = [((4, 6), ([2, 6], [6, 1], 6)), ((3, 4), ([4, 3], [1, 4]))]
for name, calls in VIEWS.items():
    for shape, arguments in calls:
        each(name, (f(*shape), *arguments), (i(9, *shape), *arguments), (b(*shape), *arguments))
        INVERSES[name].append((shape, arguments))
each("expand", (f(3, 1), [3, 4]), (f(3, 1), [2, -1, 4]), (b(1), [3]), (f(), [2, 2]))
each("reshape", (f(4, 6), [3, 8]))
each("narrow", (f(5, 6), 0, 1, 3), (i(9, 5, 6), -1, -3, 2))
each("split.Tensor", (f(5, 6), 2), (i(9, 5, 6), 3, -1))
each("split_with_sizes", (f(5, 6), [1, 4]), (b(5, 6), [2, 3, 1], 1))
each("unbind.int", (f(3, 4),), (i(9, 3, 4), -1))
each("unsafe_split.Tensor", (f(5, 6), 2, 1))
each("unsafe_split_with_sizes", (f(5, 6), [2, 4], 1))
each("unfold", (f(2, 9), 1, 3, 2), (f(7, 2), 0, 3, 1), (i(9, 8), -1, 4, 4))
each("as_strided", (f(4, 6), (3, 2), (2, 1), 1), (f(4, 6), (2, 6), (6, 1)), (f(24), (3, 4), (0, 2)),
     (f(4, 6), (4, 3), (6, 1), 2))  # fmt: skip
each("slice_scatter", (f(5, 6), f(2, 6), 0, 1, 3), (f(5, 6), f(5, 3), 1, 0, 6, 2))
each("select_scatter", (f(5, 6), f(6), 0, 2), (f(5, 6), f(5), -1, -1))
each("diagonal_scatter", (f(3, 4), f(3)), (f(2, 3, 3), f(2, 2), 1, 1, 2))
each("slice_backward", (f(2, 6), [5, 6], 0, 1, 3, 1), (f(5, 2), [5, 6], -1, 1, 6, 3),
     (f(5, 6), [5, 6], 0, 0, 9223372036854775807, 1))  # fmt: skip
each("select_backward", (f(6), [5, 6], 0, 2), (f(5), [5, 6], -1, -1))
each("diagonal_backward", (f(3), [3, 4], 0, 0, 1), (f(2, 2), [2, 3, 4], -1, 1, 2))
each("unfold_backward", (f(2, 4, 3), [2, 9], 1, 3, 2), (f(3, 2, 4), [6, 2], 0, 4, 1))

# -- moves ----------------------------------------------------------------------------------------

each("cat", ([f(2, 3), f(4, 3)],), ([f(2, 3), f(2, 1)], -1), ([f(0), f(2, 3)],), ([i(4, 2), f(3)],),
     ([h(2), h(3)],), ([b(2), b(3)],))  # fmt: skip
each("stack", ([f(2, 3), f(2, 3)],), ([f(2), f(2), f(2)], -1), ([f(), f()],))
each("repeat", (f(2, 3), [2, 1]), (f(3), [2, 2]), (f(), [3]), (i(4, 2), [3]), (f(2, 3), [4, 1, 2]))
each("flip", (f(2, 3), [0]), (f(2, 3), [0, -1]), (i(9, 4), [0]))
each(
    "roll", (f(2, 5), [2], [1]), (f(2, 5), [1, -2], [0, 1]), (f(2, 5), [3], []), (i(5, 4), [1], [0])
)
each("constant_pad_nd", (f(2, 3), [1, 2]), (f(2, 3), [1, 0, 0, 2], 1.5), (f(2, 5), [-1, -2]),
     (i(5, 3), [1, 1], 7), (f(2, 4), [1, -1], -inf))  # fmt: skip
each("pixel_shuffle", (f(2, 8, 3, 2), 2))
each("pixel_unshuffle", (f(2, 4, 6), 2))
each("tril triu", (f(3, 4),), (f(2, 4, 3), 1), (i(9, 3, 3), -1), (b(3, 3),))
each("where.self", (b(3, 4), f(3, 4), f(4)), (b(3, 1), f(4), i(5, 4)), (b(3), i(4, 3), i(4, 3)),
     (b(3), b(3), b(3)), (b(3), f(3), torch.tensor(1.5)))  # fmt: skip
each("where.ScalarSelf", (b(3), 1.5, f(3)), (b(3), 2, i(4, 3)), (b(3), 1.5, i(4, 3)))
each("where.ScalarOther", (b(3), f(3), -inf), (b(3), i(4, 3), 2))
each("where.Scalar", (b(3), 1.0, 0.0))
each("masked_fill.Scalar", (f(3, 4), b(4), -inf), (i(9, 3), b(3), 0), (h(3), b(3), -1e30),
     (b(3), b(3), True))  # fmt: skip
case("masked_fill.Tensor", f(3, 4), b(3, 4), torch.tensor(2.0))
case("masked_fill.Tensor", h(3), b(3), torch.tensor(0.5))

# -- where data name the place --------------------------------------------------------------------

each("embedding", (f(7, 3), i(7, 2, 4)), (h(7, 3), i(7, 4), 2), (f(7, 3), i(7)))
each(
    "embedding_dense_backward",
    (f(2, 4, 3), i(7, 2, 4), 7, -1, False),
    (f(9, 3), i(4, 9), 5, 2, False),
)
case("one_hot", i(5, 3, 2), 5)
each(
    "index_select", (f(4, 5), 1, i(5, 3)), (f(4, 5), 0, torch.tensor(2)), (i(9, 4, 2), -2, i(4, 6))
)
each("index_add", (f(4, 5), 1, i(5, 7), f(4, 7)), (f(4, 5), 0, i(4, 3), f(3, 5)))
case("index_add", f(4, 5), -1, i(5, 3), f(4, 3), alpha=0.5)
each(
    "index_copy",
    (f(4, 5), 1, torch.tensor([3, 0]), f(4, 2)),
    (f(4, 5), 0, torch.tensor([2]), f(1, 5)),
)
each("index_fill.int_Scalar", (f(4, 5), 1, i(5, 2), 1.5), (i(9, 4), 0, i(4, 2), 3))
each("gather", (f(3, 5), 1, i(5, 3, 1)), (f(3, 5), 1, i(5, 2, 4)), (f(4, 5), 0, i(4, 6, 3)),
     (f(2, 3, 4), -2, i(3, 2, 5, 4)), (i(9, 6), 0, i(6, 3)))  # fmt: skip
each("scatter_add", (f(3, 5), 1, i(5, 3, 4), f(3, 4)), (f(3, 5), 0, i(3, 2, 4), f(4, 5)))
order = torch.stack([torch.randperm(5)[:3] for _ in range(4)])
each("scatter_reduce.two", (f(3, 5), 1, i(5, 3, 4), f(3, 4), "sum"))
each("scatter.src", (f(4, 5), 1, order, f(4, 3)), (i(9, 5, 4), 0, order.T.contiguous(), i(9, 3, 4)))
each("gather", (f(), 0, torch.tensor([0])))
case("scatter.src", b(5), 0, torch.tensor([3, 1]), b(2))
each("scatter.value", (f(3, 5), 1, i(5, 3, 4), 1.0), (i(9, 5), 0, i(5, 2), 7))
each("index.Tensor _unsafe_index.Tensor", (f(5, 3), [i(5, 4)]), (f(5, 3), [i(5, 2, 4, low=-5)]),
     (f(5, 3), [None, i(3, 4)]),
     (f(5, 3, 2), [i(5, 4), i(3, 4)]), (f(5, 3, 2), [None, i(3, 4, 1), i(2, 6)]),
     (f(5, 3, 2), [i(5, 4), None, i(2, 4)]), (i(9, 5), [i(5, 3)]))  # fmt: skip
for name in ("index_put", "_index_put_impl_", "_unsafe_index_put"):
    case(name, f(5, 3), [torch.tensor([3, 0])], f(2, 3))
    case(name, f(5, 3), [i(5, 4)], f(4, 3), True)
    case(name, f(5, 3, 2), [None, torch.tensor([2, 0])], f(5, 2, 2))
    case(name, f(5, 3, 2), [i(5, 4), None, i(2, 4)], f(4, 3), True)
    case(name, f(5, 3), [i(5, 4), i(3, 4)], f(1), True)
    case(name, f(5, 3), [b(5, 3)], torch.tensor(0.5))
    case(name, f(5, 3), [b(5)], torch.tensor(-inf))

# -- reductions -----------------------------------------------------------------------------------

MANY = (f(3, 4), f(2, 3, 4), f(), h(3, 8), i(9, 3, 4), b(3, 4))
each("sum", *((x,) for x in MANY))
case("sum", i(9, 3), dtype=torch.float32)
each("sum.dim_IntList", (f(3, 4), [0]), (f(2, 3, 4), [0, -1], True), (f(3, 4), None), (f(3, 4), []),
     (i(9, 3, 4), [1]), (b(3, 4), [0]), (f(), [0]))  # fmt: skip
case("sum.dim_IntList", h(3, 4), [1], dtype=torch.float32)
each("mean", (f(3, 4),), (h(3, 40),), (f(),))
each("mean.dim", (f(3, 4), [0]), (f(2, 3, 4), [-1, 0], True), (h(3, 40), [1]), (f(3, 4), None))
case("mean.dim", i(9, 3, 4), [0], dtype=torch.float32)
for name in ("var.correction", "std.correction", "var_mean.correction", "std_mean.correction"):
    case(name, f(3, 4))
    case(name, f(3, 4), [1], correction=0, keepdim=True)
    case(name, f(2, 3, 4), [0, 2], correction=2)
    case(name, h(3, 20), [-1])
each("amax amin", (f(3, 4), [0]), (f(2, 3, 4), [0, -1], True), (f(3, 4),), (i(9, 4), [0]))
case("aminmax", f(3, 4))
case("aminmax", f(3, 4), dim=1, keepdim=True)
each("amax amin logsumexp", (f(), [0]), (f(), [0], True))
each("max.dim min.dim", (f(), 0), (b(3, 4), 1))
case("linalg_vector_norm", f(), 3, [0])
case("aminmax", f(), dim=0)
each("max min", (f(3, 4),), (i(99, 5),))
each("max.dim min.dim argmax argmin", (f(3, 4), 1), (f(3, 4), 0, True), (f(5, 4), -1),
     (i(99, 5, 6), 1))  # fmt: skip
each("argmax argmin", (f(3, 4),))
each("topk", (f(3, 9), 3), (f(3, 9), 2, 0), (f(9), 4, -1, False))
each("any all", (b(3, 4),), (f(3).round(),), (b(),))
each("any.dim all.dim", (b(3, 4), 1), (i(2, 3, 4), 0, True))
each("any.dims all.dims", (b(3, 4), [0]), (b(2, 3, 4), [0, -1], True), (b(3), None))
each("count_nonzero", (i(3, 4, 5),), (f(3, 4).round(), 1))
for order in (2, 1, inf, -inf, 0, 3, 0.5):
    each("linalg_vector_norm", (f(3, 4), order), (f(3, 4), order, [1], True))
case("linalg_vector_norm", h(3, 4), 2, dtype=torch.float32)
case("linalg_vector_norm", f())
each("norm.Scalar", (f(3, 4),), (f(5), 3))
each("norm.ScalarOpt_dim", (f(3, 4), None, [1]), (f(3, 4), 1, [0], True))
case("norm.ScalarOpt_dim_dtype", h(3, 4), 2, [1], False, dtype=torch.float32)
each("logsumexp", (f(3, 4), [1]), (f(3, 4) * 50, [0], True), (torch.full((2, 3), -inf), [1]),
     (f(2, 3, 4), [0, 2]))  # fmt: skip
each("prod", (f(7),), (i(4, 5, low=1),), (f(2, 3),))
each("prod.dim_int", (f(3, 5), 1), (f(8, 2), 0, True), (i(4, 3, 1), 1))
each("cumsum cumprod", (f(3, 7), 1), (i(4, 9, 2), 0), (f(5), -1), (b(6), 0), (f(), 0))
case("cumsum", b(6), 0, dtype=torch.float32)

# -- products -------------------------------------------------------------------------------------

each("mm", (f(3, 4), f(4, 5)), (h(3, 4), h(4, 5)))
each("bmm", (f(2, 3, 4), f(2, 4, 5)), (h(2, 3, 4), h(2, 4, 5)))
each("mv", (f(3, 4), f(4)))
each("matmul", (f(2, 3, 4), f(4, 5)), (f(2, 1, 3, 4), f(5, 4, 2)), (f(4), f(4)))
each("dot vdot", (f(5), f(5)))
each("linear", (f(2, 3, 4), f(5, 4)), (f(3, 4), f(5, 4), f(5)))
for beta, alpha in ((1, 1), (0.5, 2), (0, 1)):
    case("addmm", f(5), f(3, 4), f(4, 5), beta=beta, alpha=alpha)
    case("addmv", f(3), f(3, 4), f(4), beta=beta, alpha=alpha)
    case("baddbmm", f(2, 3, 5), f(2, 3, 4), f(2, 4, 5), beta=beta, alpha=alpha)
    case("addbmm", f(3, 5), f(2, 3, 4), f(2, 4, 5), beta=beta, alpha=alpha)
    case("addr", f(3, 4), f(3), f(4), beta=beta, alpha=alpha)
case("addmm", torch.full((5,), nan), f(3, 4), f(4, 5), beta=0)

# -- convolutions: x, w, stride, padding, dilation, transposed, output padding, groups ------------

CONVOLUTIONS = [
    ((2, 3, 8, 7), (5, 3, 3, 3), [1, 1], [0, 0], [1, 1], False, [0, 0], 1),
    ((2, 3, 8, 8), (5, 3, 4, 4), [4, 4], [0, 0], [1, 1], False, [0, 0], 1),
    ((2, 3, 9, 8), (5, 3, 3, 2), [2, 2], [1, 0], [1, 1], False, [0, 0], 1),
    ((2, 3, 9, 9), (4, 3, 3, 3), [2, 1], [2, 2], [2, 3], False, [0, 0], 1),
    ((2, 6, 7, 7), (6, 1, 3, 3), [1, 1], [1, 1], [1, 1], False, [0, 0], 6),
    ((2, 4, 9, 8), (4, 1, 3, 3), [2, 2], [1, 1], [2, 1], False, [0, 0], 4),
    ((2, 4, 7, 7), (8, 1, 3, 3), [1, 1], [1, 1], [1, 1], False, [0, 0], 4),
    ((2, 6, 7, 7), (4, 3, 3, 3), [2, 2], [1, 1], [1, 1], False, [0, 0], 2),
    ((2, 3, 9), (4, 3, 3), [2], [1], [1], False, [0], 1),
    ((2, 4, 9), (4, 1, 3), [1], [2], [2], False, [0], 4),
    ((2, 3, 5, 4), (3, 4, 3, 3), [2, 2], [1, 1], [1, 1], True, [1, 1], 1),
    ((2, 4, 5, 4), (4, 3, 2, 2), [2, 2], [0, 0], [1, 1], True, [0, 0], 2),
    ((2, 3, 5), (3, 4, 3), [2], [1], [2], True, [1], 1),
]  # fmt: skip
for x_shape, w_shape, *how in CONVOLUTIONS:
    x, w = f(*x_shape), f(*w_shape)
    outs = w_shape[1] * how[-1] if how[3] else w_shape[0]
    y = aten.convolution(x, w, None, *how)
    case("convolution", x, w, f(outs), *how)
    case("convolution_backward", torch.randn_like(y), x, w, [outs], *how, [True] * 3)
case("convolution", h(2, 3, 8, 8), h(5, 3, 3, 3), None, *CONVOLUTIONS[0][2:])
y = aten.convolution(x := f(2, 3, 8, 7), w := f(5, 3, 3, 3), None, *CONVOLUTIONS[0][2:])
for mask in ([True, False, False], [False, True, False], [False, False, True]):
    case("convolution_backward", torch.randn_like(y), x, w, [5], *CONVOLUTIONS[0][2:], mask)

# -- softmax and norms ----------------------------------------------------------------------------

each("_softmax _log_softmax", (f(3, 4), 1, False), (f(2, 3, 4), 0, False), (h(3, 8), -1, False),
     (f(), 0, False))  # fmt: skip
hidden = f(3, 4)
hidden[1] = -inf
hidden[2, 1:] = -inf
each("_safe_softmax", (hidden, -1), (f(2, 3, 4), 1))
each("_softmax_backward_data", (f(3, 4), f(3, 4).softmax(-1), -1, torch.float32),
     (f(2, 3, 4), f(2, 3, 4).softmax(0), 0, torch.float32),
     (h(3, 4), h(3, 4).softmax(1), 1, torch.bfloat16))  # fmt: skip
each("_log_softmax_backward_data", (f(3, 4), f(3, 4).log_softmax(-1), -1, torch.float32),
     (f(2, 3, 4), f(2, 3, 4).log_softmax(1), 1, torch.float32))  # fmt: skip
for shape, normal, affine in (
    ((3, 8), [8], True),
    ((2, 3, 8), [8], False),
    ((2, 3, 4), [3, 4], True),
):
    x, wb = f(*shape), [p(*normal), f(*normal)] if affine else [None, None]
    case("native_layer_norm", x, normal, *wb, 1e-5)
    _, mean, rstd = aten.native_layer_norm(x, normal, *wb, 1e-5)
    case("native_layer_norm_backward", f(*shape), x, normal, mean, rstd, *wb,
         [True, affine, affine])  # fmt: skip
case("native_layer_norm", h(3, 16), [16], h(16), h(16), 1e-5)
for affine in (True, False):
    x, wb = f(2, 6, 3, 4), [p(6), f(6)] if affine else [None, None]
    case("native_group_norm", x, *wb, 2, 6, 12, 3, 1e-5)
    _, mean, rstd = aten.native_group_norm(x, *wb, 2, 6, 12, 3, 1e-5)
    case("native_group_norm_backward", f(2, 6, 3, 4), x, mean, rstd, wb[0], 2, 6, 12, 3,
         [True, affine, affine])  # fmt: skip
for shape, training, affine in product([(4, 5, 3, 3), (6, 5)], [True, False], [True, False]):
    x, wb = f(*shape), [p(5), f(5)] if affine else [None, None]
    stats = f(5), p(5)
    for name in (
        "native_batch_norm",
        "_native_batch_norm_legit",
        "_native_batch_norm_legit_functional",
    ):
        case(name, x, *wb, *stats, training, 0.1, 1e-5)
    _, mean, rstd = aten.native_batch_norm(x, *wb, *(s.clone() for s in stats), training, 0.1, 1e-5)
    case("native_batch_norm_backward", f(*shape), x, wb[0], *stats, mean, rstd, training, 1e-5,
         [True, affine, affine])  # fmt: skip
case("native_batch_norm", f(4, 5, 3), p(5), f(5), None, None, True, 0.1, 1e-5)
case("native_batch_norm", h(4, 5, 3), h(5), h(5), h(5), h(5), True, 0.1, 1e-5)
case("native_batch_norm", h(4, 5, 3), f(5), f(5), f(5), f(5), True, 0.1, 1e-5)
case("_native_batch_norm_legit.no_stats", f(4, 5, 3), p(5), f(5), True, 0.1, 1e-5)
for shape, affine in product([(4, 5, 3, 3), (6, 5)], [True, False]):
    wb = [p(5), f(5)] if affine else [None, None]
    case("_native_batch_norm_legit_no_training", f(*shape), *wb, f(5), p(5), 0.1, 1e-5)
for shape, axis in (((4, 5), 0), ((3, 4, 5), 2)):
    v, g = f(*shape), p(*(n if i == axis else 1 for i, n in enumerate(shape)))
    case("_weight_norm_interface", v, g, axis)
    _, norms = aten._weight_norm_interface(v, g, axis)
    case("_weight_norm_interface_backward", f(*shape), v, g, norms, axis)

# -- pooling --------------------------------------------------------------------------------------

POOLS = [([2, 2],), ([3, 3], [2, 2], [1, 1]), ([3, 2], [1, 2]),
         ([3, 3], [2, 2], [0, 0], [1, 1], True),
         ([2, 2], [1, 1], [0, 0], [2, 2]), ([2], [2], [0])]  # fmt: skip
for arguments in POOLS:
    x = f(2, 3, 9, 8)
    case("max_pool2d_with_indices", x, *arguments)
    y, places = aten.max_pool2d_with_indices(x, *arguments)
    whole = [*arguments, [], [0, 0], [1, 1], False][: max(len(arguments), 1)]
    whole += [[], [0, 0], [1, 1], False][len(whole) - 1 :]
    case("max_pool2d_with_indices_backward", torch.randn_like(y), x, *whole, places)
case("max_pool2d_with_indices", f(3, 6, 6), [2, 2])
AVERAGES = [([2, 2],), ([3, 3], [2, 2], [1, 1]), ([3, 3], [2, 2], [1, 1], False, False),
            ([3, 3], [2, 2], [0, 0], True), ([2, 3], [2, 1], [0, 0], False, True, 5)]  # fmt: skip
for arguments in AVERAGES:
    x = f(2, 3, 9, 8)
    case("avg_pool2d", x, *arguments)
    whole = [*arguments, *[None, [], [0, 0], False, True, None][len(arguments) :]]
    case("avg_pool2d_backward", torch.randn_like(aten.avg_pool2d(x, *arguments)), x, *whole)
for size in ([1, 1], [3, 3], [7, 4]):
    case("_adaptive_avg_pool2d", f(2, 3, 7, 8), size)
    case("_adaptive_avg_pool2d_backward", f(2, 3, *size), f(2, 3, 7, 8))
for scales in ((), (2.0, 1.5)):
    case("upsample_nearest2d", f(2, 3, 5, 6), [10, 9], *scales)
    case("upsample_nearest2d_backward", f(2, 3, 10, 9), [10, 9], [2, 3, 5, 6], *scales)
    for aligned in (True, False):
        case("upsample_bilinear2d", f(2, 3, 5, 6), [10, 9], aligned, *scales)
        case(
            "upsample_bilinear2d_backward", f(2, 3, 10, 9), [10, 9], [2, 3, 5, 6], aligned, *scales
        )
case("upsample_nearest2d upsample_nearest2d", f(1, 1, 7, 7), [3, 4])

# -- losses ---------------------------------------------------------------------------------------

for reduction in (0, 1, 2):
    x, y, g = f(3, 4), f(3, 4), f(3, 4) if reduction == 0 else f()
    case("mse_loss", x, y, reduction)
    case("mse_loss_backward", g, x, y, reduction)
    case("soft_margin_loss", x * 5, y.sign(), reduction)
    case("soft_margin_loss_backward", g, x, y.sign(), reduction)
    for name, bound in (("smooth_l1_loss", 0.7), ("huber_loss", 0.7)):
        case(name, x, y, reduction, bound)
        case(f"{name}_backward", g, x, y, reduction, bound)
    for weight in (None, p(3, 4)):
        share, goal = torch.rand(3, 4) * 0.9 + 0.05, torch.rand(3, 4)
        case("binary_cross_entropy", share, goal, weight, reduction)
        case("binary_cross_entropy_backward", g, share, goal, weight, reduction)
        case("binary_cross_entropy_with_logits", x * 9, goal, weight, p(4), reduction)
        case("binary_cross_entropy_with_logits", x, goal, weight, None, reduction)
    for weight, shape in product((None, p(5)), ((6,), (2, 3, 4))):
        name = "nll_loss_{}" if len(shape) == 1 else "nll_loss2d_{}"
        x = f(shape[0], 5, *shape[1:]).log_softmax(1)
        labels = i(5, *shape)
        labels[labels == 2] = -100
        case(name.format("forward"), x, labels, weight, reduction, -100)
        found, total = getattr(aten, name.format("forward"))(x, labels, weight, reduction, -100)
        case(name.format("backward"), torch.randn_like(found), x, labels, weight, reduction, -100,
             total)  # fmt: skip
case("nll_loss_forward", f(5), torch.tensor(2), None, 1, -100)
case("smooth_l1_loss", f(5), f(5), 1, 0.0)

# -- lists ----------------------------------------------------------------------------------------

LIST = [f(3, 4), f(5), f()]
OTHER = [p(3, 4), p(5), p()]
for name in ["sqrt", "rsqrt", "log", "reciprocal"]:
    case(f"_foreach_{name}", OTHER)
for name in ["neg", "abs", "exp", "sign", "sigmoid", "tanh", "floor", "ceil", "round", "trunc"]:
    case(f"_foreach_{name}", LIST)
for name in ["add", "sub", "mul", "div", "maximum", "minimum", "clamp_min", "clamp_max"]:
    case(f"_foreach_{name}.Scalar", LIST, 0.5)
    case(f"_foreach_{name}.ScalarList", LIST, [0.5, 2.0, 1.0])
    case(f"_foreach_{name}.List", LIST, OTHER)
case("_foreach_add.List _foreach_sub.List", LIST, OTHER, alpha=0.5)
case("_foreach_mul.Tensor _foreach_div.Tensor _foreach_add.Tensor", LIST, torch.tensor(1.5))
case("_foreach_addcmul.Scalar _foreach_addcdiv.Scalar", LIST, LIST, OTHER, 0.5)
case("_foreach_addcmul.ScalarList _foreach_addcdiv.ScalarList", LIST, LIST, OTHER, [1.0, 0.5, 2.0])
case("_foreach_lerp.Scalar", LIST, OTHER, 0.1)
case("_foreach_lerp.List", LIST, OTHER, OTHER)
case("_foreach_pow.Scalar", OTHER, 2)
case("_foreach_norm.Scalar", LIST)
case("_foreach_norm.Scalar", LIST, inf)
case("_foreach_copy", LIST, OTHER)
case("_foreach_zero", LIST)
