"""Chains of views, drawn at random.  Judge: NumPy, which does the same to the same bytes.

Where NumPy would have to copy, or an index is out of bounds, the language has to refuse.
"""

import math

import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st

import trainium_edu.nki as nki
import trainium_edu.nki.language as nl
from tests.for_each import raises
from trainium_edu.specs import NkiValidationError

DTYPES = ["uint8", "int16", "int32", "float32"]


def _factors(draw, number, count):
    """Split a number into `count` factors."""
    found = []
    for _ in range(count - 1):
        factor = draw(st.sampled_from([n for n in range(1, number + 1) if number % n == 0]))
        found.append(factor)
        number //= factor
    return (*found, number)


def _at_least(array, on_chip):
    """Keep two axes on chip and one in HBM, as the reference says of integer indices."""
    return array.reshape(*array.shape, *(1,) * ((2 if on_chip else 1) - array.ndim))


def _index(draw, array, on_chip):
    ours, numpys = [], []
    for axis, size in enumerate(array.shape[: draw(st.integers(1, array.ndim))]):
        start = draw(st.integers(0, size - 1))
        kind = draw(st.sampled_from(["int", "negative", "slice", "ds", "all"]))
        if kind in ("int", "negative"):
            ours.append(start - size if kind == "negative" else start)
            numpys.append(slice(start, start + 1) if on_chip and axis == 0 else start)
            continue
        end = draw(st.integers(start + 1, size))
        step = draw(st.integers(1, 3)) if axis or not on_chip else 1
        part = {"slice": slice(start, end, step), "ds": slice(start, end), "all": slice(None)}[kind]
        ours.append(nl.ds(start, end - start) if kind == "ds" else part)
        numpys.append(part)
    if draw(st.booleans()) and len(ours) < array.ndim:
        fill = [slice(None)] * (array.ndim - len(ours))
        return (*ours, ...), (*numpys, *fill)
    return tuple(ours), tuple(numpys)


def _step(draw, array, base, on_chip):
    """Return (name, the language's change, NumPy's change) for the array as it is now."""
    axis = draw(st.integers(0, array.ndim - 1))
    free = draw(st.integers(1 if on_chip else 0, max(array.ndim - 1, 1 if on_chip else 0)))
    kinds = ["index", "slice", "select", "permute", "reshape", "split", "merge", "repeat",
             "expand", "squeeze", "view", "rearrange"]  # fmt: skip
    name = draw(st.sampled_from(kinds))
    shape = array.shape
    if name == "index":
        ours, numpys = _index(draw, array, on_chip)
        return name, lambda t: t[ours], lambda a: _at_least(a[(*numpys, ...)], on_chip)
    if name == "slice":
        start = draw(st.integers(0, shape[axis] - 1))
        end = draw(st.integers(start + 1, shape[axis]))
        step = 1 if on_chip and axis == 0 else draw(st.integers(1, 3))
        part = (slice(None),) * axis + (slice(start, end, step),)
        return name, lambda t: t.slice(axis, start, end, step), lambda a: a[part]
    if name == "select":
        at = draw(st.integers(0, shape[axis] - 1))
        keep = on_chip and axis == 0
        part = (slice(None),) * axis + (slice(at, at + 1) if keep else at,)
        return name, lambda t: t.select(axis, at), lambda a: _at_least(a[(*part, ...)], on_chip)
    if name == "permute":
        first = [0] if on_chip else []
        order = (*first, *draw(st.permutations(range(len(first), array.ndim))))
        return name, lambda t: t.permute(order), lambda a: a.transpose(order)
    if name == "reshape":
        keep = shape[:1] if on_chip else ()
        count = draw(st.integers(1, 3))
        sizes = (*keep, *_factors(draw, math.prod(shape[len(keep) :]), count))
        asked = list(sizes)
        if draw(st.booleans()):
            asked[draw(st.integers(0, len(asked) - 1))] = -1
        return name, lambda t: t.reshape(asked), lambda a: np.reshape(a, sizes, copy=False)
    if name == "split" and free < array.ndim:
        sizes = _factors(draw, shape[free], draw(st.integers(1, 3)))
        whole = (*shape[:free], *sizes, *shape[free + 1 :])
        return (name, lambda t: t.reshape_dim(free, sizes),
                lambda a: np.reshape(a, whole, copy=False))  # fmt: skip
    if name == "merge" and free < array.ndim:
        end = draw(st.integers(free, array.ndim - 1))
        whole = (*shape[:free], math.prod(shape[free : end + 1]), *shape[end + 1 :])
        return (name, lambda t: t.flatten_dims(free, end),
                lambda a: np.reshape(a, whole, copy=False))  # fmt: skip
    if name == "repeat" and free < array.ndim and shape[free] == 1:
        whole = (*shape[:free], 3, *shape[free + 1 :])
        return name, lambda t: t.broadcast(free, 3), lambda a: np.broadcast_to(a, whole)
    if name == "expand":
        return name, lambda t: t.expand_dim(free), lambda a: np.expand_dims(a, free)
    if name == "squeeze" and free < array.ndim and shape[free] == 1:
        return (name, lambda t: t.squeeze_dim(free), lambda a: _at_least(a.squeeze(free), on_chip))
    if name == "view":
        dtype = draw(st.sampled_from(DTYPES))

        def numpys(a):
            width = np.dtype(dtype).itemsize
            rows = list(zip(a.shape, a.strides, strict=True))[on_chip:-1]
            start = a.__array_interface__["data"][0] - base.__array_interface__["data"][0]
            start %= base.strides[0] if on_chip else 2**30
            if any(place % width for place in (start, *(s for n, s in rows if n > 1))):
                raise ValueError("NumPy allows it, and offsets and strides would be fractions")
            return a.view(dtype)

        return name, lambda t: t.view(getattr(nl, dtype)), numpys
    if name == "rearrange":
        names = [f"d{k}" for k in range(array.ndim)]
        order = [0, *draw(st.permutations(range(1, array.ndim)))] if on_chip else draw(
            st.permutations(range(array.ndim)))  # fmt: skip
        source = tuple(("high", "low") if k == free else n for k, n in enumerate(names))
        target = []
        for k in order:
            target += ["low", "high"] if k == free else [names[k]]
        if free >= array.ndim:
            return name, lambda t: t.rearrange(names, [names[k] for k in order]), lambda a: (
                a.transpose(order))  # fmt: skip
        high = _factors(draw, shape[free], 2)[0]

        def numpys(a):
            split = np.reshape(
                a, (*shape[:free], high, shape[free] // high, *shape[free + 1 :]), copy=False
            )
            at = {n: i for i, n in enumerate([*names[:free], "high", "low", *names[free + 1 :]])}
            return split.transpose([at[n] for n in target])

        return name, lambda t: t.rearrange(source, tuple(target), {"high": high}), numpys
    return "nothing", lambda t: t[...], lambda a: a


def _is_dense(array, on_chip):
    """Whether a view covers its bytes row by row, by the reference's definition."""
    expected = array.itemsize
    for size, stride in list(zip(array.shape, array.strides, strict=True))[on_chip:][::-1]:
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def _compare(tensor, array, base, on_chip):
    assert (tensor.shape, tensor.dtype) == (array.shape, array.dtype.name)
    assert (tensor.size, np.array(tensor).tobytes()) == (array.size, array.tobytes())
    first = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    assert tensor.offset * array.itemsize == first
    for size, ours, numpys in zip(array.shape, tensor.strides, array.strides, strict=True):
        assert size == 1 or ours * array.itemsize == numpys
    assert tensor.is_contiguous() == _is_dense(array, on_chip)
    assert tensor.get_pattern() == [list(p) for p in zip(tensor.strides, array.shape, strict=True)]
    if array.ndim <= 5:
        again = tensor.ap(tensor.get_pattern(), offset=tensor.offset, dtype=tensor.dtype)
        assert np.array(again).tobytes() == array.tobytes()


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.data())
def test_a_chain_of_views_shows_and_writes_what_numpys_does(data):
    draw = data.draw
    on_chip = draw(st.booleans())
    shape = tuple(draw(st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=2, max_size=4)))
    dtype = draw(st.sampled_from(DTYPES))
    bits = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    length = draw(st.integers(1, 5))

    def kernel(x):
        base = bits.copy()
        array = base
        tensor = whole = nl.load(x) if on_chip else x
        for _ in range(length):
            name, ours, numpys = _step(draw, array, base, on_chip)
            event(name)
            try:
                after = numpys(array)
            except ValueError:  # NumPy would have to copy, or the bytes do not divide
                event(f"{name} refused")
                raises(NkiValidationError, "", ours, tensor)
                continue
            array, tensor = after, ours(tensor)
            _compare(tensor, array, base, on_chip)
        if not any(n > 1 and s == 0 for n, s in zip(array.shape, array.strides, strict=True)):
            new = np.arange(array.size).reshape(array.shape).astype(array.dtype)
            array.flags.writeable = True
            array[...] = new
            tensor[...] = nl.shared_constant(new)
            assert np.array(whole).tobytes() == base.tobytes()

    nki.simulate(kernel)(bits.copy())


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.data())
def test_an_access_pattern_walks_the_storage_as_strides_do(data):
    draw = data.draw
    on_chip = draw(st.booleans())
    rows, columns = draw(st.integers(1, 8)), draw(st.integers(1, 30))
    stored = np.random.default_rng(1).integers(0, 100, (rows, columns)).astype(np.int16)
    pairs, last = [], 0  # last: how far the farthest element is from the first
    if on_chip:
        row = draw(st.integers(0, rows - 1))
        pairs.append([columns, draw(st.integers(1, rows - row))])
        room, first = columns - 1, row * columns
    else:
        room, first = rows * columns - 1, 0
    for _ in range(draw(st.integers(1, 5 - len(pairs)))):
        count = draw(st.integers(1, 4))
        step = draw(st.integers(0, (room - last) // max(count - 1, 1)))
        pairs.append([step, count])
        last += step * (count - 1)
    first += draw(st.integers(0, room - last))

    def kernel(x):
        tensor = nl.load(x) if on_chip else x
        expected = np.lib.stride_tricks.as_strided(
            stored.reshape(-1)[first:], [n for _, n in pairs], [2 * step for step, _ in pairs]
        )
        for view in (tensor, tensor[0:1], tensor.reshape((rows, columns, 1))):
            found = view.ap(pairs, offset=first)
            assert found.shape == expected.shape
            assert np.array_equal(np.array(found), expected)
            assert found.offset == first

    nki.simulate(kernel)(stored)
