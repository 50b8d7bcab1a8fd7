"""Calls of PyTorch's operations: name of the overload -> arguments, for rows beside PyTorch."""

from collections import defaultdict
from itertools import product
from math import inf, nan

import torch

from tests.texts import table_beside, text_beside

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


def rows(name):
    """Return the overloads and the arguments, as text, of each row of a file."""
    found = text_beside(__file__, name).splitlines()
    return [row.split(": ", 1) for row in found if row and not row.startswith("#")]


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
each("eq.Tensor ne.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor", *PAIRS, (i(3, 9), i(3, 9)),
     (b(5), b(5)))  # fmt: skip
each("add.Scalar mul.Scalar div.Scalar", *NUMBERS)
each(
    "sub.Scalar rsub.Scalar",
    *(one for one in NUMBERS if one[0].dtype != torch.bool and one[1] is not True),
)
each("eq.Scalar ne.Scalar lt.Scalar le.Scalar gt.Scalar ge.Scalar", *NUMBERS, (i(3, 9), 1),
     (b(4), True), (i(3, 9), 1.5))  # fmt: skip
for alpha in (2, -0.5):
    case("add.Tensor sub.Tensor rsub.Tensor", f(3, 4), f(4), alpha=alpha)
for mode in (None, "floor", "trunc"):
    case("div.Tensor_mode", f(50) * 9, f(50), rounding_mode=mode)
    case("div.Tensor_mode", i(40, 60, low=-40), i(9, 60, low=1), rounding_mode=mode)
    case("div.Scalar_mode", i(40, 60, low=-40), 7, rounding_mode=mode)
    case("div.Scalar_mode", f(60) * 20, 3.0, rounding_mode=mode)
for value in (1, -0.25):
    case("addcmul", f(3, 4), f(3, 4), f(4), value=value)
    case("addcdiv", f(3, 4), f(3, 4), p(4), value=value)

SPECIAL = torch.tensor([1.0, inf, -inf, nan, 0.0, -3.5])

each("pow.Tensor_Scalar", *((p(3, 4), e) for e in (0, 1, 2, 3, 0.5, -0.5, -1, 1.7, -2, 4)),
     *((i(9, 5, low=-3), e) for e in (0, 1, 2, 3, 4)), (f(5), 2), (f(5), 3.0), (h(5), 2),
     (i(5, 4), 0.5), (p(9).bfloat16(), 3))  # fmt: skip

# -- activations ----------------------------------------------------------------------------------

ACTIVE = [(f(3, 4) * 4,), (h(3, 8),), (torch.tensor([-3.0, 0.0, 3.0, 6.0, -9.0]),)]
each("relu relu6 gelu silu leaky_relu elu softplus log_sigmoid_forward hardtanh hardsigmoid "
     "hardswish mish", *ACTIVE)  # fmt: skip
G = [(f(3, 4), f(3, 4) * 3), (h(3, 4), h(3, 4))]
each("silu_backward hardsigmoid_backward hardswish_backward mish_backward gelu_backward", *G)
x = f(9)
each("log_sigmoid_backward", (f(9), x, aten.log_sigmoid_forward(x)[1]))

# -- tensors of nothing, copies -------------------------------------------------------------------

for dtype in (torch.bfloat16, torch.float16, torch.int64, torch.bool, torch.float64, torch.int8):
    case("_to_copy", f(3, 4) * 9, dtype=dtype)

# -- views ----------------------------------------------------------------------------------------

INVERSES["as_strided"] = [((4, 6), ([2, 6], [6, 1], 6)), ((3, 4), ([4, 3], [1, 4]))]
for name, call in rows("operation_views.txt"):
    shape, *arguments = eval(f"({call},)")
    each(name, (f(*shape), *arguments), (i(9, *shape), *arguments), (b(*shape), *arguments))
    INVERSES[name].append((shape, tuple(arguments)))

# -- moves ----------------------------------------------------------------------------------------


# -- where data name the place --------------------------------------------------------------------

order = torch.stack([torch.randperm(5)[:3] for _ in range(4)])
each("scatter.src", (f(4, 5), 1, order, f(4, 3)), (i(9, 5, 4), 0, order.T.contiguous(), i(9, 3, 4)))
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
for name in ("var.correction", "std.correction", "var_mean.correction", "std_mean.correction"):
    case(name, f(3, 4))
    case(name, f(3, 4), [1], correction=0, keepdim=True)
    case(name, f(2, 3, 4), [0, 2], correction=2)
    case(name, h(3, 20), [-1])
for order in (2, 1, inf, -inf, 0, 3, 0.5):
    each("linalg_vector_norm", (f(3, 4), order), (f(3, 4), order, [1], True))

# -- products -------------------------------------------------------------------------------------

for beta, alpha in ((1, 1), (0.5, 2), (0, 1)):
    case("addmm", f(5), f(3, 4), f(4, 5), beta=beta, alpha=alpha)
    case("addmv", f(3), f(3, 4), f(4), beta=beta, alpha=alpha)
    case("baddbmm", f(2, 3, 5), f(2, 3, 4), f(2, 4, 5), beta=beta, alpha=alpha)
    case("addbmm", f(3, 5), f(2, 3, 4), f(2, 4, 5), beta=beta, alpha=alpha)
    case("addr", f(3, 4), f(3), f(4), beta=beta, alpha=alpha)

# -- convolutions: x, w, stride, padding, dilation, transposed, output padding, groups ------------

CONVOLUTIONS = table_beside(__file__, "operation_cases.toml")["convolutions"]
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

hidden = f(3, 4)
hidden[1] = -inf
hidden[2, 1:] = -inf
each("_safe_softmax", (hidden, -1), (f(2, 3, 4), 1))
for shape, normal, affine in (
    ((3, 8), [8], True),
    ((2, 3, 8), [8], False),
    ((2, 3, 4), [3, 4], True),
):
    x, wb = f(*shape), [p(*normal), f(*normal)] if affine else [None, None]
    case("native_layer_norm", x, normal, *wb, 1e-5)
    _, mean, rstd = aten.native_layer_norm(x, normal, *wb, 1e-5)
    case(
        "native_layer_norm_backward", f(*shape), x, normal, mean, rstd, *wb, [True, affine, affine]
    )
for affine in (True, False):
    x, wb = f(2, 6, 3, 4), [p(6), f(6)] if affine else [None, None]
    case("native_group_norm", x, *wb, 2, 6, 12, 3, 1e-5)
    _, mean, rstd = aten.native_group_norm(x, *wb, 2, 6, 12, 3, 1e-5)
    case("native_group_norm_backward", f(2, 6, 3, 4), x, mean, rstd, wb[0], 2, 6, 12, 3,
         [True, affine, affine])  # fmt: skip
for shape, training, affine in product([(4, 5, 3, 3), (6, 5)], [True, False], [True, False]):
    x, wb = f(*shape), [p(5), f(5)] if affine else [None, None]
    stats = f(5), p(5)
    each(
        "native_batch_norm _native_batch_norm_legit _native_batch_norm_legit_functional",
        (x, *wb, *stats, training, 0.1, 1e-5),
    )
    _, mean, rstd = aten.native_batch_norm(x, *wb, *(s.clone() for s in stats), training, 0.1, 1e-5)
    case("native_batch_norm_backward", f(*shape), x, wb[0], *stats, mean, rstd, training, 1e-5,
         [True, affine, affine])  # fmt: skip
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


for names, call in rows("operation_cases.txt"):
    eval(f"case({names!r}, {call})")
