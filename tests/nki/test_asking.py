"""What Python may ask while a kernel runs.  Judge: the reference of ``VirtualRegister``.

It says that under the tracer a register in Python's control flow, or converted by int(), raises
TypeError; the examples of ``nki.language`` end with ``assert nl.equal(c, expected)``, which stays.
Every answer is the same with numbers and without (``values=False``).
"""

from textwrap import indent

import numpy as np
import pytest

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_rows, raises
from tests.nki.cases import from_source, stored
from tests.texts import table_beside

X = np.full((4, 8), 2.0, np.float32)
WITH_AND_WITHOUT = pytest.mark.parametrize("values", [True, False], ids=["values", "without"])


def run(body, values):
    def kernel(x):
        tile = nl.load(x)
        body(tile, x)
        return stored(tile, x.dtype)

    return nki.run(kernel, X, values=values)


@WITH_AND_WITHOUT
@pytest.mark.parametrize("lines", table_beside(__file__, "asking.toml")["branches"])
def test_no_path_depends_on_what_the_chip_computes(lines, values):
    source = f"def kernel(t, x):\n{indent(lines, '    ')}\n"
    body = from_source(source, nl=nl, nisa=nisa, np=np)
    caught = raises(TypeError, r"nl\.where|nl\.equal", run, body, values)
    assert len(str(caught).splitlines()) == 1


@WITH_AND_WITHOUT
@pytest.mark.parametrize(
    "ask", [float, int, max, list, tuple, sum, iter, round, np.max, range, lambda t: 2.0 in t,
            lambda t: t > 0, lambda t: t.item(), lambda t: t.any(), lambda t: t.tolist(),
            lambda t: f"{t:.2f}", lambda t: t[0, 0] >= 1, lambda t: sorted([t, t])],
)  # fmt: skip
def test_no_number_leaves_a_tile_by_another_way(ask, values):
    raises((TypeError, AttributeError), "", run, lambda t, x: ask(t), values)


@WITH_AND_WITHOUT
def test_shapes_arguments_and_whether_something_is_given_may_be_asked(values):
    def body(t, x, bias=None):
        assert not bias
        assert x if x.shape[0] > 1 else None
        assert t.dtype == nl.float32
        assert [t == none for none in (None, "a text")] == [False, False]
        assert [t != none for none in (None, "a text")] == [True, True]
        assert [a == b for a, b in ((t, t), (x, x), (x, x[0:2]))] == [True, True, False]
        assert x in [None, x]
        assert (t.shape, len({t: 1, x: 2}), len(t)) == ((4, 8), 2, 4)

    assert not [w for w in run(body, values).advice if w.kind == "looks"]


@WITH_AND_WITHOUT
def test_an_assert_and_a_while_over_a_register_stay(values):
    def body(t, x):
        assert nl.equal(nl.add(t, 1.0), 3.0)
        register = nisa.register_alloc(3)
        turns = 0
        while register > 0:
            nisa.register_move(register, register - 1)
            turns += 1
        assert (turns, register) == (3, 0)

    run(body, values)


def test_code_without_source_may_assert_and_takes_no_other_path():
    names = {"nl": nl}
    code = (
        "def holds(t, x):\n  assert nl.equal(t, 2.0)\ndef asks(t, x):\n  if nl.equal(t, 3.0): 1\n"
    )
    exec(code, names)
    for values in (True, False):
        run(names["holds"], values)
        raises(TypeError, r"nl\.where", run, names["asks"], values)


@for_rows(
    "look, says",
    (lambda t: np.array(t).max(), "np.array copies"),
    (lambda t: np.array_equal(t, t), "np.array copies"),
    (lambda t: int(nisa.register_alloc(2)), "reads a register"),
    (lambda t: list(range(nisa.register_alloc(2))), "reads a register"),
    (lambda t: 1 if t else 2, "exists, not what it holds"),
)
def test_looking_is_said_with_its_line(look, says):
    [warning] = [w for w in run(lambda t, x: look(t), values=True).advice if w.kind == "looks"]
    assert says in str(warning)
    assert f"test_asking.py:{look.__code__.co_firstlineno}" in str(warning)


def test_the_package_itself_does_not_look():
    def body(t, x):
        register = nisa.register_alloc(2)
        nl.copy(t[:, nl.ds(register, 2)])
        nl.fori_loop(0, register, lambda i: nl.store(x[i], t[i]) if x.ndim > 2 else None)
        nl.device_print("t", t)

    assert not [w for w in run(body, values=True).advice if w.kind == "looks"]
