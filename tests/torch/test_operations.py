"""Rows of PyTorch's operations, run on an emulated device.

Judge: PyTorch on the CPU, the same operation with the same arguments.
"""

import inspect
from itertools import product

import numpy as np
import pytest

from tests.for_each import for_each, for_rows, raises

torch = pytest.importorskip("torch")
from tests.texts import rows_beside  # noqa: E402
from tests.torch.operation_cases import CASES, INVERSES  # noqa: E402
from trainium_edu.torch import operations  # noqa: E402
from trainium_edu.torch.calls import call_of  # noqa: E402
from trainium_edu.torch.operations import INVERSE, ROWS, dtype_of, fits, parts, row_of  # noqa: E402
from trainium_edu.xla.compiler import Compiler  # noqa: E402
from trainium_edu.xla.device import Device  # noqa: E402
from trainium_edu.xla.executor import Setting  # noqa: E402
from trainium_edu.xla.flags import parse  # noqa: E402
from trainium_edu.xla.graph import GraphError  # noqa: E402
from trainium_edu.xla.tensor import Tensor, as_tensor  # noqa: E402

TABLES = rows_beside(__file__, "operation_cases.toml")

pytestmark = pytest.mark.judge
EXACT = {"views", "moves", "factories"}  #: families that compute nothing
ADDS = {"aten::linspace", "aten::unfold_backward"}  #: but these do
RANDOM = {name for name, f in ROWS.items() if f.__module__.endswith(".random")}
MASKS = [list(m) for n in (2, 3) for m in product([True, False], repeat=n)]  #: of results
#: what has no kernel on the CPU, or is not defined: tried elsewhere in this file
ELSEWHERE = set(TABLES["elsewhere"])


def overload(name):
    first, _, second = name.removeprefix("aten::").partition(".")
    return getattr(getattr(torch.ops.aten, first), second or "default")


def device(**setting):
    flags = parse("--auto-cast=none")
    return Device(setting=Setting(**setting), compiler=Compiler(flags=flags))


def moved(x, there):
    """Move tensors, and lists of them, to a device."""
    if isinstance(x, torch.Tensor):
        kind = dtype_of(x.dtype)
        return as_tensor((x.float() if x.is_floating_point() else x).numpy(), there, kind)
    if isinstance(x, list | tuple) and any(isinstance(one, torch.Tensor) for one in x):
        return [moved(one, there) for one in x]
    return x


def tensors(results):
    return list(results) if isinstance(results, list | tuple) else [results]


def assert_same(found, wanted, *, exact=False):
    if wanted is None:
        assert found is None
        return
    assert (found.shape, found.dtype) == (tuple(wanted.shape), dtype_of(wanted.dtype))
    got = found.numpy()
    if not wanted.is_floating_point():
        np.testing.assert_array_equal(got, wanted.numpy())
        return
    right = wanted.float().numpy()
    if exact:
        np.testing.assert_array_equal(got, right)
        return
    finite = np.isfinite(right)
    np.testing.assert_array_equal(got[~finite], right[~finite])
    size = np.abs(right[finite]).max(initial=1e-30)
    allowed = {torch.bfloat16: 3e-2, torch.float16: 4e-3}.get(wanted.dtype, 1e-5)
    np.testing.assert_allclose(got[finite], right[finite], rtol=0, atol=allowed * size)


def run(name, arguments, options, there):
    """Return what a row makes of PyTorch's arguments on a device."""
    here = [moved(x, there) for x in arguments]
    given = {k: moved(v, there) for k, v in options.items()}
    if not any(isinstance(x, Tensor | list) for x in here):
        given["device"] = there
    return tensors(row_of(name)(*here, **given))


def check(name, arguments, options):
    """Run a row and PyTorch's operation."""
    there = device()
    assert fits(name, *arguments, **options)
    found = run(name, arguments, options, there)
    copies = [x.clone() if isinstance(x, torch.Tensor) else x for x in arguments]
    wanted = tensors(overload(name)(*copies, **options))
    if name in operations.WRITES:
        names = [a.name for a in overload(name)._schema.arguments]
        wanted += [copies[names.index(one)] for one in operations.WRITES[name]]
    if name.endswith("_backward") and isinstance(arguments[-1], list) and arguments[-1] in MASKS:
        wanted = [one if kept else None for one, kept in zip(wanted, arguments[-1], strict=True)]
    there.mark_step()
    assert len(found) == len(wanted)
    exact = name in ROWS and ROWS[name].__module__.rpartition(".")[2] in EXACT
    for got, right in zip(found, wanted, strict=True):
        assert_same(got, right, exact=exact and name not in ADDS)


@for_each("name", sorted(CASES))
def test_a_row_computes_what_pytorch_does(name):
    for number, (arguments, options) in enumerate(CASES[name]):
        try:
            check(f"aten::{name}", arguments, options)
        except AssertionError as error:
            raise AssertionError(f"{name}, case {number}: {error}") from error


def test_every_row_inverse_and_drawing_row_has_a_case():
    cases = {f"aten::{name}" for name in CASES} | ELSEWHERE | RANDOM | set(operations.ON_CPU)
    ours = {name for name in cases | set(ROWS) if not name.startswith("aten::")}  # tested elsewhere
    assert set(ROWS) - ours <= cases
    assert all(operations.decomposes(overload(name)) for name in cases - ours - set(ROWS))
    assert set(operations.supported()) == set(ROWS)
    assert {f"aten::{name}" for name in INVERSES} == set(INVERSE)


#: of which the table has never had a row
NEVER = {
    "deg2rad": (torch.randn(4),), "heaviside": (torch.randn(5), torch.rand(5)),
    "logit": (torch.linspace(0.1, 0.9, 5),), "sinc": (torch.randn(4),),
    "trace": (torch.rand(4, 4),),
    "reflection_pad2d": (torch.randn(1, 2, 5, 5), [1, 2, 2, 1]),
    "grid_sampler_2d": (torch.randn(1, 2, 5, 5), torch.rand(1, 3, 3, 2), 0, 0, False),
    "col2im": (torch.randn(1, 18, 9), [5, 5], [3, 3], [1, 1], [0, 0], [1, 1]),
    "_foreach_sinh": ([torch.randn(3), torch.randn(2, 2)],),
}  # fmt: skip


@for_each("name", NEVER)
def test_an_operation_that_pytorch_decomposes_needs_no_row(name):
    assert f"aten::{name}" not in ROWS
    check(f"aten::{name}", NEVER[name], {})
    assert call_of(overload(f"aten::{name}")).row == f"aten::{name}"


def test_a_decomposition_runs_once_per_signature():
    before = parts._parts.cache_info()
    for shape in [(3, 7), (3, 7), (4, 7), (3, 7)]:
        assert fits("aten::heaviside", torch.randn(shape), torch.rand(7))
    after = parts._parts.cache_info()
    assert (after.misses - before.misses, after.hits - before.hits) == (2, 2)


def test_numbers_of_the_call_are_inputs_and_those_of_the_formula_constants():
    there = device(values=False)
    row_of("aten::leaky_relu_backward")(*(moved(torch.randn(4), there) for _ in "gx"), 0.3, False)
    out = row_of("aten::hardsigmoid")(moved(torch.randn(4), there))
    numbers = [float(feed[0]) for feed in there.pending.feeds if feed.shape == (1,)]
    assert numbers == [pytest.approx(0.3)]
    assert out.shape == (4,)


def test_what_has_no_row_or_shape_on_the_chip_does_not_fit():
    """In place, without end, or of what has no row."""
    assert not fits("aten::erfinv", torch.rand(3))
    assert not fits("aten::cummax", torch.rand(3), 0)
    assert not fits("aten::rrelu_with_noise", torch.rand(3), torch.rand(3))
    with pytest.raises(GraphError, match="erfinv of such arguments has no row"):
        row_of("aten::erfinv")(moved(torch.rand(3), device()))
    x, mask = torch.randn(3, 4), torch.rand(3, 4) > 0.5
    assert not fits("aten::nonzero", x)
    assert not fits("aten::index.Tensor", x, [mask])
    assert not fits("aten::bitwise_and.Tensor", x.int(), x.int())
    assert not fits("aten::convolution", torch.randn(1, 2, 4, 4, 4), None)
    assert not fits("aten::topk", torch.randn(999), 500)
    assert not fits("aten::mm", x.int(), x.int().T)
    image, how = torch.randn(1, 2, 4, 4), ([1, 1], [1, 1], [2, 2], True, [1, 1], 1)
    assert not fits("aten::convolution", image, image, None, *how)
    assert not fits("aten::convolution_backward", image, image, image, [2], *how, [True] * 3)
    assert fits("aten::index_put", x, [mask], torch.tensor(0.0))
    raises(GraphError, "complex64; the device holds", dtype_of, torch.complex64)


@for_each("name", sorted(name for name in ROWS if name.startswith("aten::")))
def test_a_row_takes_the_arguments_of_its_schema(name):
    """Judge: the schemas."""
    schema = overload(name)._schema
    assert operations.name_of(overload(name)) == name
    required = [a for a in schema.arguments if not a.kwarg_only]
    by_name = {a.name: a for a in schema.arguments if a.kwarg_only}
    inspect.signature(ROWS[name]).bind(*required, **by_name)


@for_each("name", sorted(INVERSES))
def test_a_write_into_a_view_reaches_its_base(name):
    for shape, arguments in INVERSES[name]:
        base = torch.randn(shape)
        wanted, there = base.clone(), device()
        view = overload(f"aten::{name}")(wanted, *arguments)
        new = torch.randn_like(view)
        view.copy_(new)
        found = INVERSE[f"aten::{name}"](moved(base, there), moved(new, there), *arguments)
        there.mark_step()
        assert_same(found, wanted, exact=True)


@pytest.mark.soak
@pytest.mark.parametrize("name", sorted(CASES))
def test_instructions_are_made_of_a_row(name):
    """What a row records can be timed; tensors without elements take no part."""
    for arguments, options in CASES[name]:
        there = device(values=False)
        found = run(f"aten::{name}", arguments, options, there)
        if any(x is not None and not x.size for x in found):
            continue
        there.mark_step()
        assert there.executable is None or there.executable.makespan_ns >= 0


@for_each("name", sorted(CASES))
def test_under_xla_use_bf16_no_result_is_wider(name):
    for arguments, options in CASES[name]:
        there = device(values=False)
        there.narrowed = {"float32": "bfloat16"}
        found = run(f"aten::{name}", arguments, options, there)
        assert not any(x is not None and x.dtype == "float32" for x in found)


# -- what has no case of its own ------------------------------------------------------------------


def test_an_empty_tensor_has_a_shape_and_a_dtype():
    there, x = device(), torch.randn(2, 3)
    here, one = moved(x, there), {"dtype": torch.bfloat16}
    for name, found in {
        "empty": row_of("aten::empty.memory_format")([2, 3], **one, device=there),
        "empty_strided": row_of("aten::empty_strided")([2, 3], [3, 1], **one, device=there),
        "empty_like": row_of("aten::empty_like")(here, **one),
        "new_empty": row_of("aten::new_empty")(here, [2, 3], **one),
        "new_empty_strided": row_of("aten::new_empty_strided")(here, [2, 3], [3, 1], **one),
    }.items():
        assert (found.shape, found.dtype) == ((2, 3), "bfloat16"), name


def gradients_of(out, given):
    """Return a gradient of the result, and those that autograd finds for what was given."""
    grad = torch.randn(out.shape)
    return grad, torch.autograd.grad(out, given, grad)


@for_rows("on_device", True, False)
def test_attention_by_one_call_is_pytorchs_with_its_gradients(on_device):
    """Judge: ``scaled_dot_product_attention`` and autograd on it, on the CPU."""
    given = [torch.randn(2, 3, *s, requires_grad=True) for s in ((5, 4), (7, 4), (7, 6))]
    wanted = torch.nn.functional.scaled_dot_product_attention(*given, scale=0.3)
    grad, gradients = gradients_of(wanted, given)
    there, name = device(), "aten::_scaled_dot_product_efficient_attention"
    move = (lambda t: moved(t.detach(), there)) if on_device else (lambda t: t.detach())
    table, given = ROWS if on_device else operations.ON_CPU, [*map(move, given)]
    out, *kept = table[name](*given, None, True, scale=0.3)
    held, wanted_of = (None, out, *kept), [True, True, True, False]
    back = table[f"{name}_backward"](move(grad), *given, *held, 0.0, wanted_of, scale=0.3)
    there.mark_step()
    assert back[3] is None
    for got, right in zip((out, *back), (wanted, *gradients), strict=False):
        if on_device:
            assert_same(got, right.detach())
        else:
            torch.testing.assert_close(got, right.detach())


# -- random numbers -------------------------------------------------------------------------------

SIZE = 20_000
#: name -> arguments after the tensor, mean, standard deviation
DRAWN = TABLES["drawn"]
MADE = {
    "rand": (([SIZE],), 0.5, 0.2887), "randn": (([SIZE],), 0.0, 1.0),
    "randint": ((10, [SIZE]), 4.5, 2.8723), "randint.low": ((-2, 3, [SIZE]), 0.0, 1.4142),
}  # fmt: skip


def assert_drawn(found, mean, deviation):
    values = found.numpy().astype(np.float64)
    assert abs(values.mean() - mean) < 5 * deviation / SIZE**0.5
    assert abs(values.std() - deviation) < 0.03 * deviation


@for_rows("name", *DRAWN, *MADE)
def test_random_numbers_have_their_mean_and_deviation(name):
    """Judge: the closed forms."""
    there = device()
    if name in MADE:
        arguments, mean, deviation = MADE[name]
        found = row_of(f"aten::{name}")(*arguments, device=there)
    else:
        arguments, mean, deviation = DRAWN[name]
        found = row_of(f"aten::{name}")(moved(torch.zeros(SIZE), there), *arguments)
    there.mark_step()
    assert_drawn(found, mean, deviation)


@for_rows("name", "bernoulli", "bernoulli.Tensor", "bernoulli_.Tensor")
def test_a_tensor_of_probabilities_says_how_often_each_is_one(name):
    there = device()
    share = moved(torch.linspace(0, 1, SIZE), there)
    both = (share,) if name == "bernoulli" else (moved(torch.zeros(SIZE), there), share)
    found = row_of(f"aten::{name}")(*both)
    there.mark_step()
    values = found.numpy()
    assert set(np.unique(values)) == {0, 1}
    assert abs(values[: SIZE // 2].mean() - 0.25) < 0.02 > abs(values[SIZE // 2 :].mean() - 0.75)


def test_dropout_scales_what_it_keeps_and_its_gradient_by_the_same_mask():
    there = device()
    x, g = torch.randn(SIZE), torch.randn(SIZE)
    out, mask = row_of("aten::native_dropout")(moved(x, there), 0.25, True)
    back = row_of("aten::native_dropout_backward")(moved(g, there), mask, 1 / 0.75)
    same, all_kept = row_of("aten::native_dropout")(moved(x, there), 0.25, False)
    there.mark_step()
    kept = torch.from_numpy(mask.numpy())
    assert abs(kept.float().mean() - 0.75) < 0.02
    assert_same(out, x * kept / 0.75)
    assert_same(back, torch.ops.aten.native_dropout_backward(g, kept, 1 / 0.75))
    assert_same(same, x)
    assert all_kept.numpy().all()


def test_each_operation_and_each_step_draws_other_numbers_and_compiles_nothing_anew():
    there, drawn = device(), []
    for _ in range(3):
        pair = [row_of("aten::rand")([50], device=there) for _ in "ab"]
        there.mark_step()
        drawn += [one.numpy() for one in pair]
    assert len({one.tobytes() for one in drawn}) == 6
    assert [event.kind for event in there.compiler.history] == ["compiled", "memory", "memory"]


def test_every_drawing_row_is_tried():
    more = {"bernoulli.Tensor", "bernoulli_.Tensor", "native_dropout"}
    assert {f"aten::{name}" for name in {*DRAWN, *MADE, *more}} == RANDOM
