"""What a file of settings may say: a JSON Schema, and a sentence that names what is wrong.

Schemas are TOML files beside the modules that read such files.  A kind of value has a description
that says what it must be; kinds that JSON Schema has no words for are formats of the reader.
"""

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from trainium_edu.names import near
from trainium_edu.specs import signatures

__all__ = ["checked"]


def _is(*kinds: type) -> Callable:
    return lambda _, value: isinstance(value, kinds) and not isinstance(value, bool)


_KINDS = {
    "array": _is(list, tuple),
    "object": _is(Mapping),
    "integer": _is(int),
    "number": lambda _, value: _is(int, float)(_, value) and abs(value) < math.inf,
}


@cache
def _validator() -> Callable:
    """Load what only a file of settings needs: it takes longer than all the rest of a grader."""
    from jsonschema import Draft202012Validator, validators

    types = Draft202012Validator.TYPE_CHECKER.redefine_many(_KINDS)
    return validators.extend(Draft202012Validator, type_checker=types)


@signatures.checked
def checked(value: Any, schema: Mapping, formats: Mapping[str, Callable] | None = None) -> Any:
    """Return what a file says, with the schema's keys, each with its default if it is left out.

    Parameters
    ----------
    value : object
        As TOML, JSON or Python gives it.
    schema : dict
    formats : dict of str to callable, optional
        Name -> whether a value has that format.

    Raises
    ------
    ValueError
        One sentence that names the key that is wrong.

    Examples
    --------
    >>> checked({"n": 3}, {"properties": {"n": {"type": "integer"}, "m": {"default": 1}}})
    {'n': 3, 'm': 1}
    """
    from jsonschema import FormatChecker

    checker = FormatChecker(["regex"])
    for name, has_format in (formats or {}).items():
        checker.checks(name, raises=(TypeError, ValueError))(has_format)
    problems = list(_validator()(schema, format_checker=checker).iter_errors(value))
    if not problems:
        return _completed(value, schema)
    problem = min(problems, key=lambda one: one.validator != "additionalProperties")
    place = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in problem.absolute_path)
    within, known = f"{place}.".lstrip("."), problem.schema.get("properties", {})
    if problem.validator == "additionalProperties":
        key = next(key for key in problem.instance if key not in known)
        hint = near(str(key), known) or f"; there are {', '.join(known)}"
        raise ValueError(f"{within}{key} is not a key{hint}")
    if problem.validator == "required":
        key = next(key for key in problem.validator_value if key not in problem.instance)
        raise ValueError(f"{within}{key} is missing")
    words = problem.schema.get("description", problem.validator_value)
    subject = place.lstrip(".") or "the file"
    raise ValueError(f"{subject} is {problem.instance!r:.60}; it must be {words}")


def _completed(value, schema):
    """Return tables with all keys of their schema."""
    if isinstance(value, Mapping):
        parts = schema.get("properties", {})
        filled = {key: part.get("default") for key, part in parts.items()} | dict(value)
        return {key: _completed(one, parts.get(key, {})) for key, one in filled.items()}
    if isinstance(value, list | tuple) and "properties" in schema.get("items", {}):
        return [_completed(one, schema["items"]) for one in value]
    return value
