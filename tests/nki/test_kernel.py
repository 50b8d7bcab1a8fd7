"""How kernels are made and called.  Judges: AWS's documented call forms and messages, NumPy."""

import dataclasses
import functools
import signal
import subprocess
import sys
import threading
import typing
from concurrent.futures import ThreadPoolExecutor
from enum import Enum

import ml_dtypes
import numpy as np
import pytest

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_each, for_rows, raises
from tests.nki.cases import stored
from tests.texts import rows_beside
from trainium_edu.nki.running import current, is_running
from trainium_edu.specs import INF2, TRN1, NkiValidationError

TABLES = rows_beside(__file__, "tables.toml")

ONES = np.ones((4, 8), np.float32)


def plus_one(x):
    return stored(nl.add(nl.load(x), 1.0), x.dtype)


@for_each("make", [nki.jit, nki.jit(), lambda f: nki.jit(f), lambda f: nki.jit(nki.jit(f)),
    lambda f: f], ids=["@nki.jit", "@nki.jit()", "nki.jit(f)", "twice",
    "a plain function"])  # fmt: skip
def test_every_call_form_runs(make):
    kernel = make(plus_one)
    assert np.all(nki.simulate(kernel)(ONES) == 2)
    if kernel is not plus_one:
        assert np.all(kernel(ONES) == 2)
        assert kernel.__name__ == "plus_one"


class Scale:
    factor = 3.0

    @nki.jit
    def by_method(self, x):
        return stored(nl.multiply(nl.load(x), self.factor), x.dtype)

    def __call__(self, x):
        return Scale.by_method.function(self, x)


def test_methods_partial_functions_and_callable_objects_are_kernels():
    kernels = [
        Scale().by_method, nki.jit(Scale()), nki.jit(functools.partial(Scale.by_method, Scale())),
        nki.jit(functools.partial(lambda x, shift: plus_one(x), shift=1)),
    ]  # fmt: skip
    for kernel, factor in zip(kernels, (3, 3, 3, 2), strict=True):
        assert np.all(kernel(ONES) == factor)
        assert np.all(nki.simulate(kernel)(ONES) == factor)
        assert str(nki.run(kernel, ONES)).startswith(kernel.__name__)
    assert [k.__name__ for k in kernels[:2]] == ["by_method", "Scale"]


def test_what_does_not_run_when_it_is_called_is_no_kernel():
    def generator(x):
        yield x

    async def coroutine(x):
        return x

    for wrong in (generator, coroutine):
        raises(TypeError, "plain function", nki.jit, wrong)
    for start in (nki.simulate, nki.run):
        raises(TypeError, "got None", start, None)


def test_a_tile_of_another_kernel_is_refused():
    kept = []

    @nki.jit
    def first(x):
        kept.append(nl.load(x))

    @nki.jit
    def second(x):
        nisa.tensor_copy(dst=nl.load(x), src=kept[0])

    first(ONES)
    raises(NkiValidationError, "another program", second, ONES)
    assert np.array_equal(np.array(kept[0]), ONES)  # looking at it is fine


@for_each("options", TABLES["compiler_options"])
def test_options_of_the_compiler_change_nothing(options):
    x = np.ones((2, 2), np.float32)
    np.testing.assert_array_equal(nki.jit(**options)(plus_one)(x), x + 1)
    np.testing.assert_array_equal(nki.jit(plus_one, **options)(x), x + 1)


def test_a_grid_as_an_option_is_a_grid_in_brackets():
    assert nki.jit(grid=[2])(plus_one).grid == nki.jit(plus_one)[2].grid == (2,)
    assert nki.jit(plus_one, grid=(2, 3)).grid == (2, 3)
    raises(TypeError, "integer from 1 to 64", nki.jit, plus_one, grid="two")


def test_platform_target_is_an_error_with_the_way_out():
    raises(TypeError, "NEURON_PLATFORM_TARGET_OVERRIDE", nki.jit, plus_one, platform_target="trn2")
    raises(TypeError, "no option debug", nki.jit, debug=True)
    raises(TypeError, "takes a function", nki.jit, 3)


@for_rows("args, kwargs", ((), {}), ((ONES, ONES), {}), ((ONES,), {"y": 1}))
def test_arguments_that_do_not_fit_are_a_type_error(args, kwargs):
    raises(TypeError, "plus_one", nki.jit(plus_one), *args, **kwargs)
    raises(TypeError, "", nki.run, plus_one, *args, **kwargs)


def test_a_kernel_called_by_a_kernel_is_a_part_of_it():
    inner = nki.jit(plus_one)

    @nki.jit
    def outer(x):
        return inner(inner(x))

    run = nki.run(outer, ONES)
    assert np.all(run.outputs == 3)
    assert len(run.programs) == 1


def test_a_kernel_runs_in_no_kernel_and_instructions_in_one():
    @nki.jit
    def outer(x):
        nki.simulate(plus_one)(ONES)

    raises(RuntimeError, "inside a running kernel", outer, ONES)
    raises(RuntimeError, "no kernel is running", nl.ndarray, (1, 1), nl.float32)
    raises(RuntimeError, "no kernel is running", nl.program_id, 0)


# -- arguments and results --------------------------------------------------------------------


def test_arguments_are_updated_in_place():
    @nki.jit
    def kernel(x):
        nl.store(x, nl.multiply(nl.load(x), 2.0))

    for array in (
        ONES.copy(), np.ones((8, 4), np.float32).T, np.ones((4, 16), np.float32)[:, ::2],
        np.ones((4, 8), np.float64),
    ):  # fmt: skip
        kernel(array)
        assert np.all(array == 2)


def test_a_read_only_argument_is_read_and_not_written():
    @nki.jit
    def kernel(x):
        nl.store(x, nl.ones((4, 8), nl.float32))

    array = ONES.copy()
    array.flags.writeable = False
    for fixed in (array, np.broadcast_to(np.ones(8, np.float32), (4, 8))):
        raises(NkiValidationError, r"read-only.* pass x\.copy\(\)", kernel, fixed)
        assert np.all(nki.jit(plus_one)(fixed) == 2)


@for_each("given", [
        np.zeros((4, 8), np.float32), np.zeros((4, 8)), np.zeros((4, 16), np.float32)[:, ::2],
        np.zeros((8, 4), np.float32).T,
    ], ids=["in place", "float64", "every other", "columns first"])  # fmt: skip
def test_two_names_of_one_array_are_one_tensor(given):
    @nki.jit
    def kernel(a, b):
        nl.store(a, nl.ones((4, 8), nl.float32))
        return plus_one(b)

    for first, second in ((given, given), (given[:], given[:])):
        given[...] = 0
        assert np.all(kernel(first, second) == 2)
        assert np.all(given == 1)


@for_each("given", [
        np.arange(32, dtype=np.float32).reshape(4, 8)[::-1, ::-2],
        np.arange(32, dtype=">i2").reshape(4, 8), np.array(5.0, np.float32),
        np.arange(7, dtype=np.uint8), np.frombuffer(b"\0" * 33, np.uint8)[1:].view(np.float32),
        np.ma.masked_array(np.ones((2, 2), np.float32)), np.zeros((1, 2, 1, 2, 1, 2), np.int8),
    ], ids=["backwards", "big endian", "0-d", "1-d", "unaligned", "masked", "6-d"])  # fmt: skip
def test_arrays_of_any_layout_are_copied_as_they_read(given):
    @nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out, src=x)
        return out

    assert np.array_equal(kernel(given).reshape(given.shape), given)


DTYPES = [
    np.float32, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3,
    np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32,
]  # fmt: skip


@for_each("dtype", DTYPES)
def test_a_copy_keeps_dtype_and_bits(dtype):
    @nki.jit
    def kernel(x):
        assert x.dtype == np.dtype(dtype).name
        return stored(nl.load(x), x.dtype)

    data = np.arange(64, dtype=np.uint8).reshape(4, 16).repeat(np.dtype(dtype).itemsize, axis=1)
    data = data.view(dtype)
    found = kernel(data)
    assert (found.dtype, found.tobytes()) == (data.dtype, data.tobytes())


def test_wide_and_boolean_arguments_become_what_the_chip_has():
    seen = []

    @nki.jit
    def kernel(a, b, c):
        seen.extend([a.dtype, b.dtype, c.dtype])
        return c

    flags = np.array([[True, False]])
    assert np.array_equal(kernel(np.ones((1, 2)), np.ones((1, 2), np.int64), flags), flags)
    assert seen == [nl.float32, nl.int32, nl.bool_]


def test_arguments_that_are_no_data_of_the_chip_are_refused():
    raises(NkiValidationError, "no elements", nki.jit(plus_one), np.ones((0, 3), np.float32))
    for strange in (
        np.array([[1, None]]), np.zeros((2, 2), [("a", "f4")]), np.ones((2, 2), np.longdouble),
        np.zeros((2, 2), "M8[s]"), np.ones((2, 2), ml_dtypes.int4),
    ):  # fmt: skip
        raises(TypeError, "not a dtype of NKI", nki.jit(plus_one), strange)
    ring = Bare(ONES)
    ring.extra = [ring]
    raises(TypeError, "contains itself", nki.jit(lambda x: plus_one(x.data)), ring)
    hidden = type("Plain", (), {"data": ONES})()  # a class of Python's own: not looked into
    raises(TypeError, "NKIObject", nki.jit(lambda x: plus_one(x.data)), hidden)


@dataclasses.dataclass
class Plain(nl.NKIObject):
    data: object
    factor: float = 2.0


class Bare(nl.NKIObject):
    data: object
    factor: float = 2.0
    extra = 5

    def __post_init__(self):
        self.after = True


class Given(nl.NKIObject):
    def __init__(self, data, factor):
        self.data = data
        self.factor = factor


@dataclasses.dataclass(frozen=True)
class Frozen(nl.NKIObject):
    data: object
    factor: float = 2.0


@dataclasses.dataclass(slots=True)
class Slotted(nl.NKIObject):
    data: object
    factor: float = 2.0


class Inherited(Bare):
    more: int = 1


class Choice(Enum):
    double = 2


@for_rows("kind", Plain, Bare, Given, Frozen, Slotted, Inherited)
def test_objects_hand_their_arrays_to_the_kernel(kind):
    @nki.jit
    def kernel(options, choice, lists, table):
        assert type(options) is kind
        assert choice == Choice.double
        assert isinstance(options.data, nl.NkiTensor)
        assert isinstance(lists[1][0], nl.NkiTensor)
        assert isinstance(table["x"], nl.NkiTensor)
        return stored(nl.multiply(nl.load(options.data), options.factor), nl.float32)

    options = kind(ONES, 3.0)
    assert np.all(kernel(options, Choice.double, [1, (ONES,)], {"x": ONES}) == 3)
    assert options.data is ONES


def test_an_initialiser_is_generated_where_none_is_given():
    made = Bare(1)
    assert (made.data, made.factor, made.extra, made.after) == (1, 2.0, 5, True)
    assert Bare(extra=7, data=0).extra == 7
    for wrong in (lambda: Bare(1, 2, 3, 4), lambda: Bare(wrong=1), lambda: Bare(1, data=2)):
        raises(TypeError, "", wrong)


def test_fields_are_found_as_the_guide_generates_them():
    class Base(nl.NKIObject):
        a: object
        b: float = 2.0

    @dataclasses.dataclass
    class Both(Base):
        c: float = 3.0

    class Made(nl.NKIObject):
        size: typing.ClassVar[int] = 3
        items: list = dataclasses.field(default_factory=list)
        x: int = 1

        @property
        def twice(self):
            return 2 * self.x

        @staticmethod
        def four():
            return 4

    both = Both(1)
    assert (both.a, both.b, both.c, Both(1, 2, 5).c, Both().a) == (1, 2.0, 3.0, 5, None)
    assert Made().items == []
    assert Made().items is not Made().items
    assert (Made([1], 4).twice, Made.size, Made.four()) == (8, 3, 4)
    raises(TypeError, "", Made, [1], 4, 5)


def test_results_keep_their_structure():
    @nki.jit
    def kernel(x):
        out = plus_one(x)
        return [out, (out, 5)], {"name": out}, None, Bare(out)

    (first, (second, five)), table, nothing, made = kernel(ONES)
    assert np.all(made.data == 2)
    assert np.all(first == 2)
    assert np.all(second == 2)
    assert np.all(table["name"] == 2)
    assert (five, nothing) == (5, None)


@for_rows("buffer", nl.shared_hbm, nl.hbm, nl.private_hbm)
def test_outputs_come_from_any_hbm(buffer):
    @nki.jit
    def kernel():
        out = nl.ndarray((2, 2), nl.float32, buffer=buffer)
        nl.store(out, nl.ones((2, 2), nl.float32))
        return out

    assert np.all(kernel() == 1)


def test_returning_an_on_chip_tile_is_refused_with_the_way_out():
    raises(NkiValidationError, "shared_hbm", nki.jit(lambda x: nl.load(x)), ONES)


def test_torch_tensors_come_back_as_torch_tensors():
    torch = pytest.importorskip("torch")
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.int32, torch.uint8):
        given = torch.ones((4, 8), dtype=dtype)
        found = nki.jit(plus_one)(given)
        assert isinstance(found, torch.Tensor)
        assert found.dtype == dtype
        assert bool((found == 2).all())

    @nki.jit
    def twice(x):
        nl.store(x, nl.add(nl.load(x), nl.load(x)))

    for given in (torch.ones(4, 8), torch.ones(8, 4).T, torch.ones(4, 8, dtype=torch.bfloat16)):
        twice(given)
        assert bool((given == 2).all())


# -- grids ------------------------------------------------------------------------------------


@for_rows("grid", 1, 2, (2,), [4], (2, 3))
def test_programs_of_a_grid_share_their_output(grid):
    sizes = (grid,) if isinstance(grid, int) else tuple(grid)
    total = int(np.prod(sizes))

    @nki.jit
    def kernel(x):
        assert (nl.program_ndim(), nl.num_programs()) == (len(sizes), total)
        assert nl.num_programs(0) == sizes[0]
        place = nl.program_id(0)
        if len(sizes) == 2:
            place = place * nl.num_programs(1) + nl.program_id(1)
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        rows = nl.ds(place * 2, 2)
        nl.store(out[rows], nl.add(nl.load(x[rows]), float(place)))
        return out

    run = nki.run(kernel[grid], np.zeros((2 * total, 4), np.float32))
    assert np.array_equal(run.outputs, np.arange(total).repeat(2)[:, None] * np.ones((1, 4)))
    assert len(run.programs) == len(run.timelines) == total


def test_without_a_grid_there_is_one_program():
    @nki.jit
    def kernel():
        assert (nl.program_id(0), nl.num_programs(), nl.program_ndim()) == (0, 1, 0)

    kernel()


@for_rows("grid", 0, -1, 2.0, True, "2", (2, 0), 100)
def test_a_grid_that_is_none_is_refused(grid):
    raises((TypeError, ValueError), "plus_one", lambda: nki.jit(plus_one)[grid])


def test_programs_wait_for_each_other_and_a_deadlock_is_named():
    @nki.jit
    def ring(x):
        me = nl.program_id(0)
        assert current().meet("here", me * 10) == {0: 0, 1: 10, 2: 20}
        assert current().meet("pair", me, members=(0, 2)) if me != 1 else True
        assert current().meet("here", -me) == {0: 0, 1: -1, 2: -2}

    ring[3](ONES)

    @nki.jit
    def stuck(x):
        if nl.program_id(0) == 0:
            current().meet("barrier", None)

    raises(NkiValidationError, "wait for each other", stuck[2], ONES)


# -- switches ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "chip"), [("trn1", TRN1), ("gen2", TRN1), ("inf2", INF2)])
def test_the_platform_is_read_at_call_time(monkeypatch, name, chip):
    kernel = nki.jit(plus_one)
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", name)
    assert nki.run(kernel, ONES).programs[0].spec is chip


def test_a_kernel_called_as_on_the_chip_runs_here_whatever_nki_simulator_says(monkeypatch):
    """AWS's simulator guide: NKI_SIMULATOR=1 runs scripts with "zero code changes"."""
    kernel = nki.jit(plus_one)
    for value in ("1", "0"):
        monkeypatch.setenv("NKI_SIMULATOR", value)
        np.testing.assert_array_equal(kernel(ONES), nki.simulate(kernel)(ONES))
    monkeypatch.setenv("NKI_SIMULATOR", "maybe")
    raises(ValueError, "NKI_SIMULATOR is 'maybe'; it must be 0 or 1", kernel, ONES)


@pytest.fixture
def sigint():
    """Return what sends Ctrl-C now; a job that runs the tests may ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield functools.partial(signal.raise_signal, signal.SIGINT)
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("stage", ["at once", "allocated", "met", "while the other waits", "pass"])
@pytest.mark.parametrize("grid", [(), (2,)])
def test_ctrl_c_stops_every_program_and_leaves_the_session_usable(sigint, grid, stage):
    """Sent from inside the kernel, so it comes where it is meant to; judge: Python's own."""
    ended = []

    @nki.jit
    def endless(x):
        me = nl.program_id(0) if grid else 0
        try:
            if stage == "at once":
                sigint()
            tile = nl.load(x)
            if stage == "allocated":
                sigint()
            current().meet("here", None)
            if stage == "met":
                sigint()
            if me == 0 and grid:
                current().meet("never", None)
            sigint()
            while True:
                if stage != "pass":
                    nl.add(tile, tile)
        finally:
            ended.append(me)

    threads = threading.active_count()
    with pytest.raises(KeyboardInterrupt) as caught:
        endless[grid](ONES)
    assert caught.traceback[-1].name == "endless"  # the line of the kernel, none of ours
    assert sorted(ended) in ([0], [0, 1])  # a program that had not begun does not begin
    assert threading.active_count() <= threads
    assert not is_running()
    assert np.all(nki.jit(plus_one)[2](ONES) == 2)


def test_programs_that_wait_end_through_their_finally_and_hide_no_error():
    ended = []

    @nki.jit
    def kernel(x):
        if nl.program_id(0) == 2:
            raise KeyError("the first problem")
        try:
            current().meet("never", None)
        finally:
            ended.append(nl.program_id(0))
            nl.load(x)  # stopped, and that is not the error to show

    raises(KeyError, "the first problem", kernel[4], ONES)
    assert ended == [0, 1]


def test_a_program_that_refuses_to_end_is_left_behind(capfd):
    @nki.jit
    def kernel(x):
        if nl.program_id(0) == 1:
            raise KeyError("second")
        while True:
            try:
                current().meet("never", None)
            except BaseException:
                continue

    raises(KeyError, "second", kernel[2], ONES)
    assert np.all(nki.jit(plus_one)[2](ONES) == 2)


def test_programs_see_the_callers_settings_and_keep_their_own():
    """Judge: NumPy's errstate, which is a context variable."""

    @nki.jit
    def kernel(x):
        assert np.geterr()["over"] == "raise"
        current().meet("here", None)
        np.seterr(over="ignore")

    for grid in ((), (3,)):
        with np.errstate(over="raise"):
            kernel[grid](ONES)
            assert np.geterr()["over"] == "raise"


def test_kernels_of_two_python_threads_run_at_once_and_meet_their_own():
    both = threading.Barrier(2)

    @nki.jit
    def kernel(x):
        if nl.program_id(0) == 0:
            both.wait(60)  # now the other thread's kernel runs too
        assert len(current().meet("here", None)) == 2
        both.wait(60) if nl.program_id(0) == 1 else None
        return stored(nl.add(nl.load(x), 1.0), x.dtype)

    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(kernel[2], (ONES, 2 * ONES))
    assert np.all(one == 2)
    assert np.all(two == 3)


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [("trn3", NkiValidationError, "trn3 asks for NeuronCore-v4"),
     ("gen4", NkiValidationError, "gen4 asks for NeuronCore-v4"), ("trn9", ValueError, "trn9")],
)  # fmt: skip
def test_a_later_or_unknown_platform_raises_naming_it(monkeypatch, name, error, words):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", name)
    raises(error, words, nki.jit(plus_one), ONES)
    assert np.all(nki.run(plus_one, ONES, spec=TRN1).outputs == 2)


@for_each("wrong, words", TABLES["senseless_options"])
def test_options_that_make_no_sense_are_refused(wrong, words):
    raises((TypeError, ValueError), words, nki.run, plus_one, ONES, **wrong)


def test_precise_fp_off_keeps_low_precision_as_float32(monkeypatch):
    @nki.jit
    def kernel(x):
        tile = nl.load(x)
        assert tile.dtype == nl.bfloat16
        small = nl.multiply(tile, 1.0 + 2.0**-10)
        return stored(nl.multiply(nl.subtract(small, tile), 2.0**10), x.dtype)

    data = np.ones((2, 2), ml_dtypes.bfloat16)
    assert np.all(kernel(data) == 0)  # 1 + 2**-10 rounds to 1 in BF16
    monkeypatch.setenv("NKI_PRECISE_FP", "0")
    found = kernel(data)
    assert found.dtype == ml_dtypes.bfloat16
    assert np.all(found == 1)


def test_precise_fp_off_changes_no_limit_and_no_place(monkeypatch):
    @nki.jit
    def kernel(x):
        # the second right behind the first
        tiles = [nl.ndarray((4, 8), nl.bfloat16, address=(32, at)) for at in (0, 16)]
        for value, tile in enumerate(tiles):
            nisa.memset(tile, float(value))
        assert nl.ndarray((128, 98304), nl.bfloat16).strides == (98304, 1)  # a whole partition
        assert nl.ndarray((8, 8192), nl.bfloat16, nl.psum).size == 65536
        raises(NkiValidationError, "196608", nl.ndarray, (128, 98305), nl.bfloat16)
        return [stored(tile, nl.float32) for tile in tiles]

    for precise in "10":
        monkeypatch.setenv("NKI_PRECISE_FP", precise)
        zeros, ones = kernel(ONES)
        assert np.all(zeros == 0)
        assert np.all(ones == 1)


def test_precise_fp_off_has_no_bits_to_look_at(monkeypatch):
    @nki.jit
    def kernel(x):
        tile = nl.load(x)
        assert tile.view(nl.bfloat16).shape == tile.ap([[8, 4], [1, 8]], dtype=nl.bfloat16).shape
        for look in (lambda: x.view(nl.uint16), lambda: tile.ap([[8, 4], [1, 8]], dtype=nl.int16)):
            raises(NkiValidationError, "NKI_PRECISE_FP=1", look)

    monkeypatch.setenv("NKI_PRECISE_FP", "0")
    kernel(ONES.astype(ml_dtypes.bfloat16))


def test_stochastic_rounding_is_the_runtimes_switch(monkeypatch):
    @nki.jit
    def kernel(x):
        return stored(nl.add(nl.load(x), 0.0, dtype=nl.bfloat16), nl.bfloat16)

    between = np.full((128, 64), 1 + 2.0**-9, np.float32)  # a quarter of a BF16 step above 1
    assert np.all(kernel(between) == 1)
    monkeypatch.setenv("NEURON_RT_STOCHASTIC_ROUNDING_EN", "1")
    assert set(np.unique(kernel(between).astype(np.float32))) == {1.0, 1 + 2.0**-7}


# -- order, printing, debugging ---------------------------------------------------------------


def scheduled_kernel(x):
    tile = nl.load(x)
    a, b = (nl.ndarray(x.shape, x.dtype) for _ in range(2))
    nisa.activation(dst=a, op=nl.exp, data=tile, name="slow")
    nisa.tensor_copy(dst=b, src=tile, name="free")
    out = nl.ndarray((2, *x.shape), x.dtype, buffer=nl.shared_hbm)
    nl.store(out[0], a)
    nl.store(out[1], b)
    return out


def _spans(run):
    return {s.label: s for s in run.timeline.timeline.spans if s.label in ("slow", "free")}


def test_with_schedule_lets_one_instruction_wait_for_another():
    kernel = nki.jit(scheduled_kernel)
    data = np.ones((128, 2048), np.float32)
    spans = _spans(nki.run(kernel, data))
    assert spans["free"].start_ns < spans["slow"].end_ns  # they overlap
    for pairs in ([("free", "slow")], [("free", ["slow"])]):
        spans = _spans(nki.run(kernel.with_schedule(pairs), data))
        assert spans["free"].start_ns >= spans["slow"].end_ns


def test_no_reorder_and_depends_on_keep_the_order_too():
    @nki.jit
    def ordered(x):
        with nl.no_reorder():
            return scheduled_kernel(x)

    @nki.jit
    def linked(x):
        tile = nl.load(x)
        a, b = (nl.ndarray(x.shape, x.dtype) for _ in range(2))
        slow = nisa.activation(dst=a, op=nl.exp, data=tile, name="slow")
        nisa.tensor_copy(dst=b, src=tile, name="free").depends_on(slow)
        return stored(nl.add(a, b), x.dtype)

    for kernel in (ordered, linked):
        spans = _spans(nki.run(kernel, np.ones((128, 2048), np.float32)))
        assert spans["free"].start_ns >= spans["slow"].end_ns


def test_an_order_that_cannot_be_is_refused():
    kernel = nki.jit(scheduled_kernel)
    with pytest.raises(NkiValidationError, match="no instruction has that name"):
        kernel.with_schedule([("free", "nothing")])(ONES)
    raises(NkiValidationError, "issued after", kernel.with_schedule([("slow", "free")]), ONES)
    for wrong in ([("free",)], ["free"], [(1, 2)]):
        raises(TypeError, "with_schedule", kernel.with_schedule, wrong)


def test_print_and_device_print_work_inside_a_kernel(capsys):
    @nki.jit
    def kernel(x):
        tile = nl.load(x)
        print("shape", tile.shape)
        nl.device_print("my tile", tile[0:1, 0:2])

    kernel(ONES)
    assert capsys.readouterr().out == "shape (4, 8)\nmy tile\nfloat32[1, 2]\n[[1. 1.]]\n"


def test_breakpoint_stops_inside_a_kernel(monkeypatch):
    stops = []
    monkeypatch.setattr(sys, "breakpointhook", lambda *a, **k: stops.append(sys._getframe(1)))

    @nki.jit
    def kernel(x):
        tile = nl.load(x)
        breakpoint()
        return plus_one(x) if tile.shape else None

    kernel(ONES)
    assert stops[0].f_code.co_name == "kernel"


def test_importing_nki_is_light_and_compiles_nothing():
    heavy = "{'numba', 'matplotlib', 'torch', 'IPython'}"
    code = f"import sys, trainium_edu.nki; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
