"""Operators that are not functions of the language: only instructions know them."""

from trainium_edu.nki.refusals import misuse

__all__ = ["average", "bypass", "prelu"]


class _Operator:
    __slots__ = ("__name__", "op")

    def __init__(self, name):
        self.op = self.__name__ = name

    def __repr__(self):
        return f"nl.{self.op}"

    def __call__(self, *_, **__):
        raise misuse("language.operator", operator=self)


average = _Operator("average")
bypass = _Operator("bypass")
prelu = _Operator("prelu")
