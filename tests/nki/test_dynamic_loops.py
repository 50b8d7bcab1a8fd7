"""Registers and loops whose bounds the chip computes.  Judge: the same loop in plain Python."""

import numpy as np
import pytest

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_rows, raises
from tests.nki.cases import new, stored
from trainium_edu.specs import NkiValidationError


def _count(n):
    """Return a (1, 1) tile with a whole number."""
    return new(nisa.memset, (1, 1), dtype=nl.int32, value=n)


def _copy_by_fori(data, bound):
    total = nl.ndarray((1, data.shape[1]), nl.float32, buffer=nl.shared_hbm)
    nl.store(total, nl.zeros((1, data.shape[1]), nl.float32))
    stop = nisa.register_alloc()
    nisa.register_load(stop, nl.load(bound))

    def body(i):
        one = nl.ndarray((1, 1), nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=one, src=data.ap([[1, 1], [1, 1]], scalar_offset=i, indirect_dim=1))
        nisa.dma_copy(dst=total.ap([[1, 1], [1, 1]], scalar_offset=i, indirect_dim=1), src=one)

    nl.fori_loop(0, stop, body)
    return total


@for_rows("bound", 0, 1, 5, 8)
def test_fori_loop_runs_to_a_bound_from_data(bound):
    data = np.arange(1, 9, dtype=np.float32)[None]
    found = nki.simulate(_copy_by_fori)(data, np.int32([[bound]]))
    assert np.array_equal(found, np.where(np.arange(8) < bound, data, 0))


@for_rows("start, stop, step", (0, 512, 128), (128, 512, 128), (0, 500, 128), (5, 5, 1), (9, 3, 1))
def test_dynamic_range_counts_as_range_does(start, stop, step):
    seen = []

    def kernel():
        bounds = nisa.register_alloc(start), nisa.register_alloc(stop)
        for i in nl.dynamic_range(*bounds, step):
            assert isinstance(i, nisa.VirtualRegister)
            seen.append(int(i))
        for i in nl.dynamic_range(3):
            seen.append(int(i))

    nki.simulate(kernel)()
    assert seen == [*range(start, stop, step), 0, 1, 2]


def _countdown(count, with_while):
    """Add 1 to a total as often as a counter in SBUF says."""
    total = nl.zeros((1, 1), nl.float32)
    counter, one = nl.load(count), _count(1)
    register = nisa.register_alloc()
    nisa.register_load(register, counter)

    def turn(r):
        nisa.tensor_scalar(dst=total, data=total, op0=nl.add, operand0=1.0)
        nisa.tensor_tensor(dst=counter, data1=counter, data2=one, op=nl.subtract)
        nisa.register_load(r, counter)
        return r

    if with_while:
        while register:
            turn(register)
    else:
        nl.while_loop(register, turn)
    return stored(total, nl.float32)


@for_rows("with_while", True, False)
@for_rows("count", 0, 1, 7)
def test_a_while_loop_ends_when_its_register_is_zero(count, with_while):
    assert nki.simulate(_countdown)(np.int32([[count]]), with_while).tolist() == [[count]]


def test_an_endless_while_is_stopped_by_the_stated_limit():
    def empty():
        register = nisa.register_alloc(1)
        while register:
            pass

    def busy():
        made = nl.ndarray((8, 8), nl.float32)
        while True:
            nisa.memset(dst=made, value=0.0)

    def looped():
        nl.while_loop(nisa.register_alloc(1), lambda r: r)

    def huge():
        for _ in nl.dynamic_range(2**31):
            pass

    for kernel in (empty, busy, looped, huge):
        raises(NkiValidationError, "stopped after 1000 ", nki.run, kernel, limit=1000)
    raises(NkiValidationError, "stopped after 1000000 turns", nki.simulate(looped))


@for_rows("limit", 0, -1, 1.5, True, "many")
def test_a_limit_that_is_none_is_refused(limit):
    raises((TypeError, ValueError), "limit", nki.run, lambda: None, limit=limit)


def test_the_variable_of_a_loop_is_frozen():
    def kernel():
        for i in nl.dynamic_range(2):
            nisa.register_move(i, 0)

    raises(NkiValidationError, "frozen", nki.simulate(kernel))


def test_the_variable_of_fori_loop_is_passed_by_value():
    def kernel():
        turns = []

        def body(i):
            turns.append(int(i))
            nisa.register_move(i, 100)

        nl.fori_loop(0, 3, body)
        return turns

    assert nki.simulate(kernel)() == [0, 1, 2]  # as nl.fori_loop's reference says of writing to i


def test_registers_move_store_and_load():
    def kernel(x):
        first = nisa.register_alloc(-5)
        second = nisa.register_alloc()
        nisa.register_move(second, first)
        nisa.register_move(first, 70000)
        out = nl.ndarray((4, 1), nl.int32, buffer=nl.shared_hbm)
        for k, register in enumerate((first, second)):
            tile = nl.ndarray([1], nl.int32, buffer=nl.sbuf)
            nisa.register_store(tile, register)
            nl.store(out[k : k + 1], tile)
        third = nisa.register_alloc()
        nisa.register_load(third, x)  # from HBM
        nisa.register_store(out[2:3], third)
        narrow = nl.zeros((1, 1), nl.uint8)
        nisa.register_store(narrow, first)  # keeps the low bits
        wide = new(nisa.tensor_copy, (1, 1), dtype=nl.int32, src=narrow)
        nl.store(out[3:4], wide)
        return out

    assert nki.simulate(kernel)(np.int32([123]))[:, 0].tolist() == [70000, -5, 123, 70000 % 256]


@for_rows("wrong",
    lambda: nl.fori_loop(0, 3, None), lambda: nl.fori_loop(0, 3, lambda i: 1),
        lambda: nl.fori_loop(0.5, 3, lambda i: None), lambda: nl.while_loop(1, lambda r: r),
        lambda: nl.while_loop(nisa.register_alloc(1), lambda r: 0),
        lambda: nl.affine_range(nisa.register_alloc(3)), lambda: list(nl.dynamic_range("3")),
)  # fmt: skip
def test_what_is_no_loop_is_a_type_error(wrong):
    raises(TypeError, "", nki.simulate(wrong))


@for_rows("step", 0, -1, 1.5)
def test_a_step_is_known_before_the_kernel_runs(step):
    raises(AssertionError, "step", nki.simulate(lambda: list(nl.dynamic_range(0, 4, step))))
    with pytest.raises(AssertionError, match="step"):
        nki.simulate(
            lambda: nl.fori_loop(0, nisa.register_alloc(4), lambda i: None, nisa.register_alloc(1))
        )()


def test_loops_that_depend_on_data_cannot_be_recorded_without_values():
    with pytest.raises(NkiValidationError, match="values=False"):
        nki.run(_countdown, np.int32([[3]]), True, values=False)


@for_rows("loop", nl.affine_range, nl.sequential_range, nl.static_range)
def test_unrolled_loops_are_pythons_range(loop):
    assert (list(loop(4)), list(loop(2, 9, 3))) == ([0, 1, 2, 3], [2, 5, 8])
