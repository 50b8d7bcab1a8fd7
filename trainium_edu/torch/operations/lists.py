"""Operations on lists of tensors (``_foreach_*``): the row of one tensor, for each of them."""

from trainium_edu.torch.operations.table import ROWS, row

__all__: list[str] = []


def _one(function):
    return lambda self: tuple(function(x) for x in self)


def _with_scalar(function):
    return lambda self, scalar: tuple(function(x, scalar) for x in self)


def _with_scalars(function):
    return lambda self, scalars: tuple(map(function, self, scalars))


def _with_list(function):
    return lambda self, other: tuple(map(function, self, other))


def _with_list_scaled(function):
    def call(self, other, alpha=1):
        return tuple(function(x, y, alpha) for x, y in zip(self, other, strict=True))

    return call


def _with_tensor(function):
    return lambda self, other: tuple(function(x, other) for x in self)


for _name in ("sqrt", "rsqrt", "neg", "abs", "exp", "log", "reciprocal", "sign", "sigmoid", "tanh",
              "floor", "ceil", "round", "trunc"):  # fmt: skip
    row(f"_foreach_{_name}")(_one(ROWS[f"aten::{_name}"]))

for _name in ("add", "sub", "mul", "div", "maximum", "minimum", "clamp_min", "clamp_max"):
    _row = ROWS.get(f"aten::{_name}.Tensor") or ROWS[f"aten::{_name}"]
    _scalar = {"maximum": "clamp_min", "minimum": "clamp_max"}.get(_name, _name)
    _of_scalar = ROWS.get(f"aten::{_scalar}.Scalar") or ROWS[f"aten::{_scalar}"]
    row(f"_foreach_{_name}.Scalar")(_with_scalar(_of_scalar))
    row(f"_foreach_{_name}.ScalarList")(_with_scalars(_of_scalar))
    _of_list = _with_list_scaled if _name in ("add", "sub") else _with_list
    row(f"_foreach_{_name}.List")(_of_list(_row))

for _name in ("mul", "div"):
    row(f"_foreach_{_name}.Tensor")(_with_tensor(ROWS[f"aten::{_name}.Tensor"]))


@row("_foreach_add.Tensor")
def _add_tensor(self, other, alpha=1):
    return tuple(ROWS["aten::add.Tensor"](x, other, alpha) for x in self)


def _with_two(function):
    def call(self, tensor1, tensor2, value=1):
        return tuple(function(*three, value) for three in zip(self, tensor1, tensor2, strict=True))

    return call


def _with_two_and_scalars(function):
    return lambda self, tensor1, tensor2, scalars: tuple(
        map(function, self, tensor1, tensor2, scalars)
    )


for _name in ("addcmul", "addcdiv"):
    row(f"_foreach_{_name}.Scalar")(_with_two(ROWS[f"aten::{_name}"]))
    row(f"_foreach_{_name}.ScalarList")(_with_two_and_scalars(ROWS[f"aten::{_name}"]))


@row("_foreach_lerp.Scalar")
def _lerp(self, tensors1, weight):
    return tuple(
        ROWS["aten::lerp.Scalar"](x, y, weight) for x, y in zip(self, tensors1, strict=True)
    )


@row("_foreach_lerp.List")
def _lerp_list(self, tensors1, weights):
    return tuple(map(ROWS["aten::lerp.Tensor"], self, tensors1, weights))


@row("_foreach_pow.Scalar")
def _pow(self, exponent):
    return tuple(ROWS["aten::pow.Tensor_Scalar"](x, exponent) for x in self)


@row("_foreach_norm.Scalar")
def _norm(self, ord=2, dtype=None):
    return tuple(ROWS["aten::linalg_vector_norm"](x, ord, dtype=dtype) for x in self)


@row("_foreach_copy")
def _copy(self, src, non_blocking=False):
    return tuple(map(ROWS["aten::copy"], self, src))


@row("_foreach_zero")
def _zero(self):
    return tuple(map(ROWS["aten::zero"], self))
