"""Checked signatures: :func:`checked` holds the callers of a function to its annotations.

Public functions annotate what they take.  With ``@checked`` above it, a value of
another kind is refused in one sentence before the function runs, and the function needs no checks
of kind; ranges it checks itself, with the functions of ``arguments.py``.

===============================  ===================================================================
annotation                       takes
===============================  ===================================================================
int, float, bool, str            an integer; a number (not NaN); True or False; a string
an Enum                          a member, or its value
np.ndarray                       an array of numbers, none of them masked
Numbers                          that, or what NumPy makes one of
list[...], Sequence, Iterable    a list, tuple, range or array (Iterable: also a generator)
Callable                         what can be called
Literal["a", "b"]                one of these words
any other class                  an instance
X | Y, X | None                  one of them
nothing, Any                     anything
===============================  ===================================================================
"""

import collections.abc as abc
import functools
import inspect
import types
import typing
from enum import Enum
from math import isnan

from trainium_edu.names import refuse_unknown
from trainium_edu.specs.arguments import _is_no_number, short

__all__ = ["Numbers", "checked", "checked_after"]

#: What NumPy makes an array of real numbers of: an array, a nested list, one number.
Numbers = typing.Annotated[typing.Any, "numbers"]
F = typing.TypeVar("F", bound=abc.Callable[..., typing.Any])


def checked(function: F) -> F:
    """Refuse arguments that do not match the annotations of a function.

    Parameters
    ----------
    function : callable

    Returns
    -------
    callable
        The same function to those who call it rightly.

    Raises
    ------
    TypeError, ValueError
        When called: for a value of another kind; for a word that is none of those listed; for an
        argument that the function does not have.

    Examples
    --------
    >>> @checked
    ... def half(n: int) -> float:
    ...     return n / 2
    >>> half("8")
    Traceback (most recent call last):
    TypeError: n is '8'; it must be an integer
    """
    state: dict = {}

    @functools.wraps(function)
    def held(*args, **kwargs):
        __tracebackhide__ = True  # IPython and pytest show the caller's line
        if not state:  # annotations may name what is imported later
            state.update(_rules_of(function))
        rules, variadic, keyword_rule = state["rules"], state["rest"], state["others"]
        for (name, rule), value in zip(state["order"], args, strict=False):
            if rule is not None:
                rule(name, value)
        if variadic is not None:
            for value in args[len(state["order"]) :]:
                variadic[1](variadic[0], value)
        refuse_unknown(function, kwargs)
        for name, value in kwargs.items():
            rule = rules.get(name, keyword_rule)
            if rule is not None:
                rule(name, value)
        return function(*args, **kwargs)

    return typing.cast(F, held)


def checked_after(function: F) -> F:
    """Refuse wrong arguments as :func:`checked` does, but only once the function has failed.

    For functions that are called so often that looking at each argument would be felt.

    Examples
    --------
    >>> @checked_after
    ... def half(n: int) -> float:
    ...     return n / 2
    >>> half("8")
    Traceback (most recent call last):
    TypeError: n is '8'; it must be an integer
    """
    judge = checked(functools.wraps(function)(lambda *args, **kwargs: None))

    @functools.wraps(function)
    def held(*args, **kwargs):
        __tracebackhide__ = True
        try:
            return function(*args, **kwargs)
        except (AttributeError, IndexError, OverflowError, TypeError, ValueError):
            try:
                judge(*args, **kwargs)
            except (TypeError, ValueError) as wrong:
                raise wrong from None
            raise

    return typing.cast(F, held)


def _rules_of(function) -> dict:
    """Return the rule of each parameter; in order, those that may come without their name."""
    hints = typing.get_type_hints(function, include_extras=True)
    rules, order, variadic, keyword_rule = {}, [], None, None
    for name, parameter in inspect.signature(function).parameters.items():
        rule = _rule(hints[name], parameter.default) if name in hints else None
        if parameter.kind is parameter.VAR_POSITIONAL:
            variadic = (name, rule) if rule else None
        elif parameter.kind is parameter.VAR_KEYWORD:
            keyword_rule = rule
        else:
            rules[name] = rule
            if parameter.kind is not parameter.KEYWORD_ONLY:
                order.append((name, rule))
    return {"rules": rules, "order": order, "rest": variadic, "others": keyword_rule}


def _rule(hint, default):
    """Return a function (name, value) that raises where a value does not match a hint."""
    hints = typing.get_args(hint) if _is_union(hint) else (hint,)
    kinds = [_kind(each) for each in hints]
    if any(kind is None for kind in kinds):
        return None
    takes = " or ".join(dict.fromkeys(words for _, words in kinds))
    plain = tuple(h for h in hints if inspect.isclass(h) and h not in (int, float))
    by_word = any(h is not str and (_is_enum(h) or typing.get_origin(h) is typing.Literal)
                  for h in hints)  # fmt: skip

    def rule(name, value):
        __tracebackhide__ = True
        if value is default or type(value) in plain:
            return
        if not any(accepts(value) for accepts, _ in kinds):
            is_nan = isinstance(value, float) and isnan(value)
            error = ValueError if is_nan or (by_word and isinstance(value, str)) else TypeError
            raise error(f"{name} is {short(value)}; it must be {takes}")

    return rule


def _is_union(hint) -> bool:
    return isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union


def _is_enum(hint) -> bool:
    return inspect.isclass(hint) and issubclass(hint, Enum)


def _kind(hint):
    """Return (does it take this value, what it takes in words), or None for anything."""
    if hint == Numbers:
        return _makes_numbers, "an array of numbers"
    origin = typing.get_origin(hint) or hint
    if origin in (typing.Any, object) or isinstance(origin, typing.TypeVar):
        return None
    if origin is typing.Literal:
        words = typing.get_args(hint)
        return (lambda value: isinstance(value, str) and value in words), (
            f"one of {', '.join(map(str, words))}"
        )
    if _is_enum(origin):
        values = [member.value for member in origin]
        return (lambda value: isinstance(value, str | int | origin) and value in values), (
            f"one of {', '.join(map(str, values))}"
        )
    if origin in _PLAIN:
        return _PLAIN[origin]
    if origin.__module__ == "collections.abc" or origin in (list, tuple, set):
        return _collection(origin, typing.get_args(hint))
    if origin.__name__ == "ndarray":
        return _is_numbers, "an array of numbers"
    article = "an" if origin.__name__[0] in "AEIO" else "a"
    return (lambda value: isinstance(value, origin)), f"{article} {origin.__name__}"


def _collection(origin, hints):
    """Return the rule of a list, a mapping, a callable."""
    if origin is abc.Callable:
        return callable, "a function"
    if issubclass(origin, abc.Mapping):
        return (lambda value: isinstance(value, abc.Mapping)), "a dict"
    lazy = origin in (abc.Iterable, abc.Iterator, abc.Collection)
    items = [_item(hint) for hint in hints if hint is not ...]
    fixed = origin is tuple and items and ... not in hints
    words = " and ".join(words for _, words in items) if fixed else items[0][1] if items else ""

    def accepts(value):
        if isinstance(value, str | bytes) or hasattr(value, "mask"):
            return False
        if isinstance(value, abc.Sequence | abc.Set) or getattr(value, "ndim", 0) > 0:
            if fixed:
                return len(value) == len(items) and all(
                    takes(each) for (takes, _), each in zip(items, value, strict=True)
                )
            return not items or all(map(items[0][0], value))
        return lazy and isinstance(value, abc.Iterable)

    if fixed:
        return accepts, f"({words})"
    return accepts, f"a list of {_plural(words)}" if words else "a list"


def _plural(words) -> str:
    """Write "an integer" as "integers", for a list of them."""
    article, _, noun = words.partition(" ")
    return f"{noun}{'es' if noun.endswith('s') else 's'}" if article in ("a", "an") else words


def _item(hint):
    """Return (does it take this item, what it takes in words) for an item of a list."""
    kinds = [_kind(each) for each in (typing.get_args(hint) if _is_union(hint) else (hint,))]
    if any(kind is None for kind in kinds):
        return (lambda value: True), "anything"
    words = " or ".join(words for _, words in kinds)
    return (lambda value: any(accepts(value) for accepts, _ in kinds)), words


def _is_real(value) -> bool:
    if type(value) in (int, float):
        return value == value
    try:
        return not _is_no_number(value) and not isnan(float(value))
    except OverflowError:
        return True  # an int beyond float: the function checks its range
    except (TypeError, ValueError):
        return False


def _is_whole(value) -> bool:
    if type(value) is int:
        return True
    try:
        return not _is_no_number(value) and value.__index__() is not None
    except (AttributeError, TypeError):
        return False


def _is_numbers(value) -> bool:
    kind = getattr(getattr(value, "dtype", None), "kind", "O")
    return kind in "biufV" and hasattr(value, "shape") and not hasattr(value, "mask")


def _makes_numbers(value) -> bool:
    if hasattr(value, "dtype") or hasattr(value, "mask"):
        return _is_numbers(value)
    import numpy as np

    try:
        return not isinstance(value, str | bytes) and _is_numbers(np.asarray(value))
    except (TypeError, ValueError, OverflowError):
        return False


_PLAIN = {
    type(None): (lambda value: value is None, "None"),
    int: (_is_whole, "an integer"),
    float: (_is_real, "a number"),
    bool: (lambda value: type(value).__name__ in ("bool", "bool_"), "True or False"),
    str: (lambda value: isinstance(value, str), "a string"),
}
