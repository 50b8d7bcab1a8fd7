"""Functions of one operand, element by element, mostly one instruction of the Scalar Engine."""

from math import pi, sqrt

import numpy as np

from trainium_edu.neuroncore.engines import activations
from trainium_edu.xla.operations import curves
from trainium_edu.xla.operations.elementwise import infer_elementwise
from trainium_edu.xla.operations.table import apply, register
from trainium_edu.xla.operations.tiles import spread

__all__: list[str] = []


def _scalar_engine(op, **options):
    """Return instructions for one tile: one function of the Scalar Engine."""

    def tile(core, node, out, x):
        core.activation(dst=out, op=op, data=spread(core, x, out), **options)

    return tile


def _tile_floor(core, node, out, x):
    x, part = spread(core, x, out), core.sbuf(out.shape, "float32")
    core.tensor_scalar(dst=part, data=x, op0="mod", operand0=1.0)
    core.tensor_tensor(dst=out, data1=x, data2=part, op="subtract")


def _tile_wave(ahead):
    """Return instructions for the sine of x + ahead, brought into [-pi, pi], where it is valid."""

    def tile(core, node, out, x):
        turned = core.sbuf(out.shape, "float32")
        core.tensor_scalar(
            dst=turned, data=spread(core, x, out), op0="add", operand0=ahead + pi, op1="mod",
            operand1=float(np.float32(2 * pi)),
        )  # fmt: skip
        core.tensor_scalar(dst=turned, data=turned, op0="subtract", operand0=pi)
        core.activation(dst=out, op="sin", data=turned)

    return tile


def _tile_is_nan(core, node, out, x):
    x = spread(core, x, out)
    core.tensor_tensor(dst=out, data1=x, data2=x, op="not_equal")


# -- gradients: functions of (node, its operand) that give the slope ----------------------------


def _slope(slope):
    """Return the vjp of a function with this slope."""
    return lambda node, g: (g * slope(node, node.inputs[0]),)


def _gelu_tanh_slope(y, x):
    """Return the derivative of x (1 + tanh u) / 2 with u = c (x + 0.044715 x^3)."""
    c, squared = sqrt(2 / pi), apply("square", x)
    tanh = apply("tanh", x * (squared * (c * 0.044715) + c))
    rise = squared * (3 * c * 0.044715) + c
    return (tanh + x * rise * (1.0 - apply("square", tanh)) + 1.0) * 0.5


for _name, _value, _kind, _tile, _vjp in (
    ("negate", np.negative, "signed", _scalar_engine("copy", scale=-1.0),
     lambda node, g: (-g,)),
    ("absolute", np.abs, "signed", _scalar_engine("abs"), _slope(lambda y, x: apply("sign", x))),
    ("sign", np.sign, "signed", _scalar_engine("sign"), lambda node, g: (None,)),
    ("floor", np.floor, "float", _tile_floor, lambda node, g: (None,)),
    ("square", np.square, "signed", _scalar_engine("square"), _slope(lambda y, x: x * 2.0)),
    ("exp", np.exp, "float", _scalar_engine("exp"), _slope(lambda y, x: y)),
    ("log", np.log, "float", _scalar_engine("log"), lambda node, g: (g / node.inputs[0],)),
    ("sqrt", np.sqrt, "float", _scalar_engine("sqrt"), lambda node, g: (g * 0.5 / node,)),
    ("rsqrt", lambda x: 1.0 / np.sqrt(x), "float", _scalar_engine("rsqrt"),
     _slope(lambda y, x: y / x * -0.5)),
    ("reciprocal", np.reciprocal, "float",
     lambda core, node, out, x: core.reciprocal(dst=out, data=spread(core, x, out)),
     _slope(lambda y, x: -apply("square", y))),
    ("sin", np.sin, "float", _tile_wave(0.0), _slope(lambda y, x: apply("cos", x))),
    ("cos", np.cos, "float", _tile_wave(pi / 2), _slope(lambda y, x: -apply("sin", x))),
    ("tanh", np.tanh, "float", _scalar_engine("tanh"),
     _slope(lambda y, x: 1.0 - apply("square", y))),
    ("sigmoid", activations.sigmoid, "float", _scalar_engine("sigmoid"),
     _slope(lambda y, x: y * (1.0 - y))),
    ("erf", curves.erf, "float", _scalar_engine("erf"),
     _slope(lambda y, x: apply("exp", -apply("square", x)) * (2 / sqrt(pi)))),
    ("relu", lambda x: np.maximum(x, 0), "float", _scalar_engine("relu"),
     lambda node, g: (apply("relu_gradient", g, node),)),
    ("gelu", curves.gelu, "float", _scalar_engine("gelu"),
     _slope(lambda y, x: apply("gelu_slope", x))),
    ("gelu_slope", curves.gelu_slope, "float", _scalar_engine("gelu_dx"), None),
    ("gelu_tanh", curves.gelu_tanh, "float", _scalar_engine("gelu_apprx_tanh"),
     _slope(_gelu_tanh_slope)),
    ("silu", curves.silu, "float", _scalar_engine("silu"),
     _slope(lambda y, x: apply("silu_slope", x))),
    ("silu_slope", activations.silu_dx, "float", _scalar_engine("silu_dx"), None),
):  # fmt: skip
    register(
        _name, infer_elementwise(1, _kind), value=lambda node, x, value=_value: value(x),
        vjp=_vjp, tile=_tile,
    )  # fmt: skip

register("is_nan", infer_elementwise(1, "float", "bool"),
         value=lambda node, x: np.isnan(x), tile=_tile_is_nan)  # fmt: skip
