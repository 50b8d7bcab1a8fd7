"""Cases of arithmetic: elementwise rows, reductions, norms, losses, products."""

import numpy as np

from tests.texts import rows_beside
from tests.xla.operations.cases import Case, b, f, i

TABLES = rows_beside(__file__, "tables.toml")


def torch_of(name):
    """Return PyTorch's function of that name, looked up when it is called."""

    def call(*tensors, **options):
        import torch

        return getattr(torch, name)(*tensors, **options)

    return call


def torch_nn(name, **options):
    """Return a function of ``torch.nn.functional``."""

    def call(*tensors):
        import torch

        return getattr(torch.nn.functional, name)(*tensors, **options)

    return call


#: Rows that say they have no gradient, rows whose gradient is none, rows tested in other files.
WITHOUT_VJP = set(TABLES["without_vjp"])
STEPS = {"argmax", "floor", "sign"}  # ``test_gradients``
#: with the graph and the passes; custom_op in tests/xla/test_custom.py
ELSEWHERE = {"constant", "custom_op", "detach", "parameter", "fusion"}

FULL = (f(130, 5), f(130, 5))
STRETCHED = [FULL, (f(130, 5), f(1, 5)), (f(130, 1), f(130, 5)), (f(130, 1), f(1, 5)),
             (f(3, 1, 5), f(3, 4, 5)), (f(2, 3, 1, 4), f(1, 3, 5, 1)), (f(), f())]  # fmt: skip

#: named alike in NumPy and PyTorch: the least input
BINARY = {"add": -2.0, "subtract": -2.0, "multiply": -2.0, "divide": 0.5, "maximum": -2.0,
          "minimum": -2.0, "power": 0.5}  # fmt: skip
CASES: list[Case] = [
    Case(name, shapes, getattr(np, name), torch_of(name.replace("power", "pow")), low)
    for shapes in STRETCHED
    for name, low in BINARY.items()
]
CASES += [Case(name, (i(130, 5), i(130, 1)), getattr(np, name), is_smooth=False)
          for name in ("add", "subtract", "multiply", "maximum", "minimum")]  # fmt: skip

for _name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
    CASES += [
        Case(_name, types, getattr(np, _name), is_smooth=False)
        for types in (FULL, (f(130, 1), f(1, 5)), (i(130, 5), i(1, 5)), (b(7, 5), b(7, 5)))
    ]
for _name in ("logical_and", "logical_or"):
    CASES += [Case(_name, types, getattr(np, _name), is_smooth=False)
              for types in ((b(130, 5), b(130, 5)), (b(130, 1), b(1, 5)))]  # fmt: skip
CASES += [Case("logical_not", (b(130, 5),), np.logical_not, is_smooth=False)]

CASES += [
    Case("select", (b(130, 5), f(130, 5), f(130, 5)), np.where, torch_of("where")),
    Case("select", (b(130, 1), f(1, 5), f(1, 1)), np.where, torch_of("where")),
    Case("select", (b(130, 5), i(130, 5), i(1, 5)), np.where, is_smooth=False),
    Case("relu_gradient", FULL, lambda g, y: g * (y > 0), lambda g, y: g * (y > 0), flat=(1,)),
]

_CASTS = (
    (f(130, 5), "bfloat16", None), (f(130, 5), "float16", np.float16),
    (f(130, 5), "int32", np.int32), (f(130, 5), "bool", bool), (i(130, 5), "float32", np.float32),
    (b(130, 5), "float32", np.float32), (b(130, 5), "int32", np.int32), (i(130, 5), "bool", bool),
)  # fmt: skip


def _bf16(x):
    import ml_dtypes

    return x.astype(ml_dtypes.bfloat16)


CASES += [
    Case("cast", (before,), _bf16 if to is None else lambda x, to=to: x.astype(to),
         attributes={"dtype": dtype}, low=-9, high=9, is_smooth=False)
    for before, dtype, to in _CASTS
]  # fmt: skip
CASES += [Case("cast", (f(3, 4),), lambda x: x, lambda x: x, attributes={"dtype": "float32"})]

#: name in NumPy, in PyTorch, where the inputs lie
UNARY = TABLES["unary"]
for _shape in ((130, 5), (3, 4, 5), (1, 1), ()):
    x = (f(*_shape),)
    CASES += [Case(name, x, getattr(np, of_numpy), torch_of(of_torch), *place)
              for name, (of_numpy, of_torch, *place) in UNARY.items()]  # fmt: skip
    CASES += [
        Case("sign", x, np.sign, is_smooth=False), Case("floor", x, np.floor, is_smooth=False),
        Case("is_nan", x, np.isnan, is_smooth=False),
        Case("rsqrt", x, lambda x: 1 / np.sqrt(x), torch_of("rsqrt"), low=0.1),
        Case("reciprocal", x, lambda x: 1 / x, torch_of("reciprocal"), low=0.3),
        Case("sigmoid", x, lambda x: 1 / (1 + np.exp(-x)), torch_of("sigmoid")),
        Case("relu", x, lambda x: np.maximum(x, 0), torch_of("relu")),
        Case("erf", x, None, torch_of("erf")), Case("gelu", x, None, torch_nn("gelu")),
        Case("gelu_tanh", x, None, torch_nn("gelu", approximate="tanh")),
        Case("silu", x, lambda x: x / (1 + np.exp(-x)), torch_nn("silu")),
    ]  # fmt: skip
CASES += [Case(name, (i(130, 5),), judge, low=-9, high=9, is_smooth=False)
          for name, judge in (("negate", np.negative), ("absolute", np.abs), ("sign", np.sign),
                              ("square", np.square))]  # fmt: skip


def _slope_of(function):
    def judge(x):
        import torch

        x = x.detach().requires_grad_()
        (slope,) = torch.autograd.grad(function(x).sum(), x)
        return slope

    return judge


CASES += [
    Case("gelu_slope", (f(130, 5),), None, _slope_of(torch_nn("gelu")), is_smooth=False),
    Case("silu_slope", (f(130, 5),), None, _slope_of(torch_nn("silu")), is_smooth=False),
]

for _shape, _axes in (((130, 5), (-1,)), ((130, 5), (-2,)), ((130, 5), (-2, -1)),
                      ((2, 130, 5), (-2,)), ((3, 4, 5, 2), (-4, -2, -1)), ((3, 4, 5, 2), (-3, -1)),
                      ((1, 9), (-2,)), ((130, 1), (-1,))):  # fmt: skip
    for _keep in (True, False):
        for _name in ("sum", "max", "min"):
            CASES.append(
                Case(f"reduce_{_name}", (f(*_shape),), attributes={"axes": _axes, "keep": _keep},
                     numpy=lambda x, n=_name, a=_axes, k=_keep: getattr(np, n)(x, a, keepdims=k),
                     torch=lambda x, n=_name, a=_axes, k=_keep: torch_of(
                         "sum" if n == "sum" else f"a{n}")(x, dim=a, keepdim=k))
            )  # fmt: skip
CASES += [
    Case("reduce_sum", (f(),), lambda x: x, lambda x: x, attributes={"axes": (), "keep": False}),
    Case("reduce_sum", (i(130, 5),), lambda x: x.sum(0), low=-9, high=9, is_smooth=False,
         attributes={"axes": (-2,), "keep": False}),
    Case("reduce_max", (b(13, 5),), lambda x: x.any(1), is_smooth=False,
         attributes={"axes": (-1,), "keep": False}),
]  # fmt: skip
CASES += [
    Case("argmax", (f(*shape),), lambda x, axis=axis: x.argmax(axis), is_smooth=False,
         attributes={"axis": axis})
    for shape, axis in (((130, 5), -1), ((130, 5), -2), ((3, 40, 2), -2), ((4, 8200), -1))
]  # fmt: skip
CASES += [
    Case("broadcast", (f(3, 1, 5),), lambda x: np.broadcast_to(x, (3, 4, 5)),
         lambda x: x.expand(3, 4, 5), attributes={"shape": (3, 4, 5)}),
]  # fmt: skip


def _np_softmax(x):
    raised = np.exp(x - x.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def _np_layer_norm(x, weight, bias):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * weight + bias


def _torch_layer_norm(x, weight, bias):
    return torch_nn("layer_norm")(x, x.shape[-1:], weight, bias)


def _np_cross_entropy(logits, labels):
    loss = np.log(np.exp(logits).sum(-1)) - logits[np.arange(len(logits)), labels]
    return np.where(labels < 0, 0, loss)


def _torch_cross_entropy(logits, labels):
    return torch_nn("cross_entropy", reduction="none", ignore_index=-1)(logits, labels.long())


def _np_cross_entropy_gradient(logits, labels, g):
    one_hot = labels[:, None] == np.arange(logits.shape[1])
    return (_np_softmax(logits) - one_hot) * (g * (labels >= 0))[:, None]


for _shape in ((130, 10), (2, 3, 7), (5, 1)):
    CASES += [
        Case("softmax", (f(*_shape),), _np_softmax, lambda x: x.softmax(-1)),
        Case("log_softmax", (f(*_shape),), lambda x: np.log(_np_softmax(x)),
             lambda x: x.log_softmax(-1)),
    ]  # fmt: skip
for _shape in ((130, 10), (2, 3, 7), (600,)):
    CASES.append(
        Case("layer_norm", (f(*_shape), f(_shape[-1]), f(_shape[-1])), _np_layer_norm,
             _torch_layer_norm, attributes={"eps": 1e-5})
    )  # fmt: skip
CASES += [
    Case("cross_entropy", (f(130, 5), i(130)), _np_cross_entropy, _torch_cross_entropy, -1, 4),
    Case("cross_entropy_gradient", (f(130, 5), i(130), f(130)), _np_cross_entropy_gradient,
         low=-1, high=4, is_smooth=False),
]  # fmt: skip

CASES += [
    Case("dot", (f(*((*batch, *(a[::-1] if turn_a else a)))),
                 f(*((*batch, *(b_[::-1] if turn_b else b_))))),
         lambda a, b, s=turn_a, t=turn_b: np.matmul(a.swapaxes(-1, -2) if s else a,
                                                    b.swapaxes(-1, -2) if t else b),
         lambda a, b, s=turn_a, t=turn_b: (a.mT if s else a) @ (b.mT if t else b),
         attributes={"turn_a": turn_a, "turn_b": turn_b})
    for batch in ((), (3,)) for a, b_ in (((5, 4), (4, 6)),)
    for turn_a in (False, True) for turn_b in (False, True)
]  # fmt: skip
CASES += [
    Case("reshape", (f(3, 4),), lambda x: x.reshape(2, 6), lambda x: x.reshape(2, 6),
         attributes={"shape": (2, 6)}),
]  # fmt: skip
