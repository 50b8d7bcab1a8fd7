"""Values through each accessor, dtypes, arguments, files; judges: NumPy, and the host's own C++."""

import shutil
import subprocess

import ml_dtypes
import numpy as np
import pytest

from tests.neuroncore.gpsimd_cpp.sources import program
from trainium_edu.neuroncore import gpsimd_cpp

RELU = program("relu.cpp")
OPERATORS = {
    "by_element": "torch::Tensor x", "by_stream": "const torch::Tensor& x",
    "by_tcm": "torch::Tensor x", "scaled": "torch::Tensor x, double by, torch::Scalar plus",
}  # fmt: skip
WAYS = "by_element", "by_stream", "by_tcm"


@pytest.fixture
def relu(build):
    return build(RELU, **OPERATORS)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (7, 1024), (33, 130)])
def test_relu_through_each_accessor_equals_numpys(relu, way, shape):
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    np.testing.assert_array_equal(getattr(relu, way)(x), np.maximum(x, 0))


def test_one_run_leaves_nothing_behind_for_the_next(relu):
    x = np.ones((2, 3), np.float32)
    assert [relu.by_tcm(x * k).sum() for k in (1, 2, 3)] == [6, 12, 18]


def test_numbers_arrive_as_numbers(relu):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(relu.scaled(x, 2, np.float32(0.5)), x * 2 + 0.5)


def test_an_array_with_gaps_arrives_in_order(relu):
    x = np.arange(24, dtype=np.float32).reshape(4, 6)[::2, ::-1] - 10
    np.testing.assert_array_equal(relu.by_element(x), np.maximum(x, 0))


def test_a_run_has_result_counts_time_and_reasons(relu):
    x = np.random.default_rng(2).standard_normal((16, 64)).astype(np.float32)
    run = relu.by_element.run(x)
    np.testing.assert_array_equal(run.outputs, np.maximum(x, 0))
    assert run.works[0].elements == 2 * x.size + (x > 0).sum()
    (span,) = run.timeline.timeline.spans
    assert span.track == "GpSimd Engine"
    assert run.band.low_ns < run.timeline.makespan_ns < run.band.high_ns
    assert abs(run.why().total_ns - run.timeline.makespan_ns) < 1e-6
    assert str(run.advice[0]).startswith("kernel.cpp:10: by_element makes 2,5")


def test_a_run_is_saved_and_read_without_a_compiler(relu, tmp_path):
    run = relu.by_tcm.run(np.ones((2, 8), np.float32))
    run.save(tmp_path / "one.run")
    again = gpsimd_cpp.OperatorRun.load(tmp_path / "one.run", words=run.words)
    assert (again.works, again.timeline.makespan_ns) == (run.works, run.timeline.makespan_ns)
    np.testing.assert_array_equal(again.outputs, run.outputs)


SEVERAL = program("several.cpp")
SEVERAL_SHAPE = program("several_shape.cpp")


def test_operators_of_several_kinds_give_what_numpy_gives(build):
    made = build(SEVERAL, shape=SEVERAL_SHAPE)
    x = np.random.default_rng(6).standard_normal((7, 300)).astype(np.float32)
    powers = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(made.softmax(x), powers / powers.sum(1, keepdims=True), rtol=2e-6)
    np.testing.assert_array_equal(made.turned(x), x.T)
    eight = np.arange(2 * 1 * 3 * 1 * 2 * 2 * 1 * 3, dtype=np.float32).reshape(
        2, 1, 3, 1, 2, 2, 1, 3
    )
    assert made.corner(eight) == eight[1, 0, 2, 0, 1, 1, 0, 2]
    np.testing.assert_array_equal(made.narrow(x), x.astype(ml_dtypes.bfloat16))
    np.testing.assert_array_equal(made.none(), np.full((2, 3), 1.5))
    for shape in ((0,), (3, 0, 2), (), (1,) * 8):
        given = np.full(shape, -2, np.float32)
        run = made.same.run(given)
        np.testing.assert_array_equal(run.outputs, np.abs(given))
        assert run.outputs.shape == shape
        assert run.timeline.makespan_ns > 0


HOST = program("curve_on_the_host.cpp")
SAME = program("curve.cpp")


def test_the_same_loop_compiled_by_the_host_alone_gives_the_same_bits(build, compiler, tmp_path):
    x = np.random.default_rng(3).standard_normal(4096).astype(np.float32)
    (tmp_path / "host.cpp").write_text(HOST)
    subprocess.run([*compiler.command, "-O1", "host.cpp", "-o", "host"], cwd=tmp_path, check=True)
    said = subprocess.run([tmp_path / "host"], input=x.tobytes(), capture_output=True, check=True)
    made = build(SAME, curve="torch::Tensor x")(x)
    np.testing.assert_array_equal(made, np.frombuffer(said.stdout, np.float32))


COPY = program("every_dtype.cpp")
NAMES = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16, "i32": np.int32,
         "i8": np.int8, "i16": np.int16, "u8": np.uint8}  # fmt: skip


def test_every_dtype_comes_and_goes(build):
    made = build(COPY, dtype="x.scalar_type()", **dict.fromkeys(NAMES, "torch::Tensor x"))
    for name, dtype in NAMES.items():
        x = np.array([0, 1, 3, 100], dtype)
        y = getattr(made, name)(x)
        assert y.dtype == x.dtype
        np.testing.assert_array_equal(y, x + np.ones((), dtype), err_msg=name)


def test_bf16_and_half_round_as_numpy_and_ml_dtypes_do(build):
    made = build(program("narrowed.cpp"), bf16="torch::Tensor x", half="torch::Tensor x")
    bits = np.random.default_rng(4).integers(0, 2**32, 100_000, dtype=np.uint32)
    small = np.random.default_rng(5).standard_normal(100_000).astype(np.float32) * 1e-6
    ties = np.arange(4000, dtype=np.float32) * 2.0**-25
    ends = np.float32([65519.9, 65520, np.inf, -np.inf])
    x = np.concatenate([bits.view(np.float32), small, ties, ends])
    with np.errstate(over="ignore", invalid="ignore"):
        half, bf16 = (x.astype(t).astype(np.float32) for t in (np.float16, ml_dtypes.bfloat16))
    np.testing.assert_array_equal(made.half(x), half)
    np.testing.assert_array_equal(made.bf16(x), bf16)


def test_fresh_memory_reads_nan_and_four(build):
    kernel = program("fresh.cpp")
    assert np.isnan(build(kernel, floats="torch::Tensor x")(np.ones(5, np.float32))).all()


def test_what_a_program_prints_is_shown(build, capsys):
    run = build(program("prints.cpp"), say="torch::Tensor x").run(np.ones(3, np.float32))
    assert capsys.readouterr().out == "3 elements\n" == run.printed


def test_a_built_library_is_loaded_by_its_file_also_when_it_moved(build, tmp_path):
    build(RELU, **OPERATORS).save(tmp_path / "librelu.so")
    shutil.copytree(tmp_path, tmp_path / "moved")
    (tmp_path / "kernel.cpp").unlink()
    again = gpsimd_cpp.load_library(tmp_path / "moved" / "librelu.so")
    assert again.by_tcm(np.float32([[-1, 2]])).tolist() == [[0, 2]]


def test_an_included_file_that_changed_is_compiled_again(build, tmp_path):
    kernel = program("includes.cpp")
    for constant in (1, 2):
        (tmp_path / "constant.h").write_text(f"#define CONSTANT {constant}\n")
        assert build(kernel, fill="torch::Tensor x")(np.zeros(1, np.float32)) == constant
