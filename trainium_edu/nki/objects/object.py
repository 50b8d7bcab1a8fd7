"""``NKIObject``: classes that kernels take as arguments get an initialiser if they have none."""

import dataclasses
import inspect

from trainium_edu.nki.mistakes import shortened

__all__ = ["NKIObject"]


class NKIObject:
    """Base of classes that kernels use; works with and without ``@dataclass``.

    A subclass without ``__init__`` gets one from its class body, in order: annotated names (None
    where nothing is assigned) and plain assigned names.  ``__post_init__`` runs after it.

    Examples
    --------
    >>> class Tiling(NKIObject):
    ...     rows: int
    ...     columns: int = 512
    >>> Tiling(128).columns
    512
    """

    def __init_subclass__(cls, **kwargs):
        """Show ``@dataclass`` NKI's fields: also those without annotation, None without value."""
        super().__init_subclass__(**kwargs)
        body = vars(cls)
        annotated = inspect.get_annotations(cls)
        fields = {}
        for base in reversed(cls.__mro__[1:-2]):  # @dataclass looks into dataclasses only
            if "__dataclass_fields__" not in vars(base):
                fields |= inspect.get_annotations(base)
        fields |= {name: kind for name, kind in annotated.items() if name not in body}
        for name, value in body.items():
            if name in annotated:
                fields[name] = annotated[name]
            elif not name.startswith("_") and not _is_method(value) and _may_be_default(value):
                fields[name] = type(value) if value is not None else object
        if fields.keys() != annotated.keys():
            cls.__annotations__ = fields
        for name, kind in annotated.items():
            if name not in body and not _is_of_class(kind):
                setattr(cls, name, None)

    def __init__(self, *args, **kwargs):
        names = _fields(type(self))
        fields = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
                  for name in names]  # fmt: skip
        try:
            values = inspect.Signature(fields).bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(
                f"{type(self).__name__}: {error}; its fields are {', '.join(names)}"
            ) from None
        for name, default in names.items():
            if name not in values and isinstance(default, dataclasses.Field):
                factory = default.default_factory
                default = default.default if factory is dataclasses.MISSING else factory()
            setattr(self, name, values.get(name, default))
        self.__post_init__()

    def __post_init__(self):
        """Run after the generated initialiser; override it."""

    def _described(self) -> str:
        """Return the object as messages show it (``mistakes.describe``)."""
        return shortened(repr(self))


def _fields(cls) -> dict:
    """Return the fields of a class and their defaults, base classes first."""
    fields = {}
    for base in reversed(cls.__mro__[:-1]):
        if base is NKIObject:
            continue
        body = vars(base)
        kinds = inspect.get_annotations(base)
        for name, kind in kinds.items():
            if not _is_of_class(kind) and (name in body or name not in fields):
                fields[name] = body.get(name)
        for name, value in body.items():
            if not (name.startswith("_") or _is_method(value) or _is_of_class(kinds.get(name))):
                fields[name] = value
    return fields


def _is_of_class(kind):
    return "ClassVar" in str(kind)


def _may_be_default(value):
    return type(value).__hash__ is not None  # a dataclass refuses lists and dicts


def _is_method(value):
    return callable(value) or isinstance(value, property | staticmethod | classmethod)
