"""What does not fit is refused when it is recorded, in one sentence.  Judge: the sentence."""

import numpy as np
import pytest

from tests.for_each import for_each, raises
from tests.xla.operations.cases_math import b, f, i
from trainium_edu.xla.executor import Plan
from trainium_edu.xla.graph import Graph, GraphError
from trainium_edu.xla.operations import apply, parameter

WRONG = [
    ("add", (f(2, 3), f(3)), {}, "ranks must be equal"),
    ("add", (f(2, 3), f(2, 4)), {}, "axis -1 .from the end. has sizes 3 and 4"),
    ("add", (f(2), i(2)), {}, "both must have one dtype; cast one of them"),
    ("add", (b(2), b(2)), {}, "it takes numbers; cast both, or use logic"),
    ("divide", (i(2), i(2)), {}, "it takes floating-point numbers; cast both"),
    ("less", (f(2), i(2)), {}, "both must have one dtype"),
    ("logical_and", (b(2), f(2)), {}, "it takes pred; compare with 0 first"),
    ("select", (f(2), f(2), f(2)), {}, "the condition must be pred"),
    ("select", (b(2), f(2), i(2)), {}, "both must have one dtype"),
    ("cast", (f(2),), {"dtype": "int4"}, "a graph knows float32"),
    ("relu_gradient", (f(2, 3), f(1, 3)), {}, "numbers of one type"),
    ("exp", (i(2),), {}, "it takes floating-point numbers; cast it first"),
    ("negate", (b(2),), {}, "it takes floating-point numbers"),
    ("is_nan", (i(2),), {}, "it takes floating-point numbers"),
    ("softmax", (i(2),), {}, "floating-point numbers with a last axis"),
    ("log_softmax", (f(),), {}, "floating-point numbers with a last axis"),
    ("layer_norm", (f(2, 3), f(2), f(3)), {"eps": 1e-5}, r"both must be f32\[3\]"),
    ("cross_entropy", (f(2, 3, 4), i(2)), {}, r"\[rows, classes\]"),
    ("cross_entropy", (f(2, 3), i(3)), {}, r"labels must be s32\[2\]"),
    ("cross_entropy_gradient", (f(2, 3), i(2), f(3)), {}, "not the type of the loss"),
    ("reduce_sum", (f(2, 3),), {"axes": (0,), "keep": True}, "from -2 to -1"),
    ("reduce_sum", (f(2, 3),), {"axes": (-1, -1), "keep": True}, "must be different ones"),
    ("reduce_sum", (b(2, 3),), {"axes": (-1,), "keep": True}, "cast it to s32 to count"),
    ("reduce_max", (f(2, 0),), {"axes": (-1,), "keep": True}, "there is no element"),
    ("argmax", (f(2, 3),), {"axis": 1}, "from -2 to -1"),
    ("broadcast", (f(2, 3),), {"shape": (4, 3)}, "must be 1 before"),
    ("broadcast", (f(3),), {"shape": (4, 3)}, "ranks must be equal"),
]  # fmt: skip


@for_each("name, types, options, sentence", WRONG)
def test_what_does_not_fit_is_refused(name, types, options, sentence):
    inputs = [parameter(n, t) for n, t in enumerate(types)]
    assert "\n" not in str(raises(GraphError, sentence, apply, name, *inputs, **options))


def test_a_label_beyond_the_classes_is_named():
    inputs = parameter(0, f(2, 3)), parameter(1, i(2))
    graph = Graph("loss", inputs, (apply("cross_entropy", *inputs),))
    with pytest.raises(IndexError, match="label 3 is out of range; 3 classes"):
        Plan(graph).run([np.zeros((2, 3), np.float32), np.int32([0, 3])])
