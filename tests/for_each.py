"""Many cases in few lines.

``for_each`` is `parametrize` without an id, a setup and a report for each value; ``raises`` is a
refusal in a line: ``raises(ValueError, "from 1 to 64", plan, 65)``.
"""

import inspect

import pytest


def _label(value, ids, place):
    if isinstance(value, type(pytest.param())) and value.id:
        return value.id
    if callable(ids):
        return ids(value)
    return ids[place] if ids else repr(value)


def for_each(names, values, ids=None):
    """Run a test for each value, all of them, and fail with every value that failed.

    Takes what ``pytest.mark.parametrize`` takes.  Fixtures are shared by all values, so a test that
    changes them keeps ``parametrize``, and so does one whose values are better shared by processes.
    """
    names = [n.strip() for n in names.split(",")] if isinstance(names, str) else list(names)

    def decorate(test):
        signature = inspect.signature(test)

        def looped(**fixtures):
            failed, count = [], 0
            for value in values:
                label = _label(value, ids, count)
                if isinstance(value, type(pytest.param())):
                    assert not value.marks, "a value with marks needs parametrize"
                    value = value.values if len(names) > 1 else value.values[0]
                arguments = zip(names, value if len(names) > 1 else [value], strict=True)
                try:
                    test(**fixtures, **dict(arguments))
                except (Exception, pytest.fail.Exception) as error:
                    failed.append(f"[{label}] {type(error).__name__}: {error}")
                count += 1
            assert count, "no values"
            if failed:
                pytest.fail("\n".join([f"{len(failed)} of {count} values failed", *failed]))

        for name in ("__name__", "__doc__", "__module__", "__qualname__"):
            setattr(looped, name, getattr(test, name))
        looped.pytestmark = list(getattr(test, "pytestmark", ()))
        looped.__signature__ = signature.replace(
            parameters=[p for n, p in signature.parameters.items() if n not in names]
        )
        return looped

    return decorate


def for_rows(names, *rows):
    """Run a test as `for_each` does: ``for_rows("size, words", (0, "below 1"), ...)``."""
    return for_each(names, rows)


def raises(error, words, call, *args, **kwargs):
    """Assert that a call raises an error whose message holds `words`, a pattern; return it."""
    __tracebackhide__ = True
    with pytest.raises(error, match=words or None) as caught:
        call(*args, **kwargs)
    return caught.value
