"""Operators in C++ as nodes of a graph; judges: NumPy, the operator called by itself."""

import numpy as np
import pytest

from tests.for_each import raises
from tests.neuroncore.gpsimd_cpp.sources import program
from trainium_edu import xla
from trainium_edu.neuroncore import gpsimd_cpp
from trainium_edu.xla.executable import Executable
from trainium_edu.xla.operations.custom import check_libraries

KERNEL = program("cube.cpp")
SHAPE = program("cube_shape.cpp")


@pytest.fixture
def load(tmp_path):
    def load(name="ops"):
        (tmp_path / "kernel.cpp").write_text(KERNEL)
        (tmp_path / f"{name}.cpp").write_text(SHAPE.replace("NAME", name))
        return gpsimd_cpp.load(name, [tmp_path / "kernel.cpp"], [tmp_path / f"{name}.cpp"])

    try:
        gpsimd_cpp.find_compiler()
    except gpsimd_cpp.NoCompilerError as missing:
        pytest.skip(str(missing))
    return load


def test_values_and_gradients_in_a_graph_that_is_compiled_once(load):
    ops, device = load(), xla.Device()
    for step in range(3):
        given = np.random.default_rng(step).standard_normal((4, 6)).astype(np.float32)
        x = xla.as_tensor(given, device).requires_grad_()
        y = xla.custom_op(ops.cube, x + x, 0.5, backward=ops.cube_backward)
        y.sum().backward()
        device.mark_step()
        np.testing.assert_allclose(y.numpy(), 0.5 * (2 * given) ** 3, rtol=1e-6)
        np.testing.assert_allclose(x.grad.numpy(), 2 * 1.5 * (2 * given) ** 2, rtol=1e-6)
    assert [event.kind for event in device.compiler.history] == ["compiled", "memory", "memory"]


def test_its_time_is_on_the_gpsimd_track_and_is_kept(load):
    ops, device = load(), xla.Device()
    x = xla.as_tensor(np.ones((8, 512), np.float32), device)
    y = xla.custom_op(ops.narrow, x) * 2.0
    device.mark_step()
    assert y.dtype == "bfloat16"
    executable = device.compiler.newest
    by_node = {one.node.operation: one for one in executable.operations()}
    alone = ops.narrow.run(np.ones((8, 512), np.float32)).timeline
    spent = by_node["custom_op"].engine_ns["gpsimd"]
    assert spent == pytest.approx(alone.busy_ns("gpsimd"), rel=1e-3)
    again = Executable.from_bytes(executable.to_bytes())
    assert again.makespan_ns == executable.makespan_ns


def test_what_the_shape_function_refuses_is_said_when_it_is_recorded(load):
    x = xla.as_tensor(np.ones(3, np.float32), xla.Device())
    with pytest.raises(xla.GraphError, match=r"ops.cpp:6: its assertion failed: x.dim\(\) == 2"):
        xla.custom_op(load().narrow, x)


def test_a_model_has_one_library(load):
    device = xla.Device()
    x = xla.as_tensor(np.ones((2, 2), np.float32), device)
    y = xla.custom_op(load("more").cube, xla.custom_op(load().cube, x, 1.0), 1.0)
    raises(xla.GraphError, r"libraries ops and more .*a model can have one", device.mark_step)
    assert y.node


def test_operators_without_tensors_are_refused(load):
    with pytest.raises(xla.GraphError, match="cube is called without a lazy tensor"):
        xla.custom_op(load().cube, 1.0, 2.0)
    assert check_libraries(xla.Graph("empty", (), ())) is None
