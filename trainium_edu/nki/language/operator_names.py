"""Operators that are not functions of the language: only instructions know them."""

__all__ = ["average", "bypass", "prelu"]


class _Operator:
    __slots__ = ("__name__", "op")

    def __init__(self, name):
        self.op = self.__name__ = name

    def __repr__(self):
        return f"nl.{self.op}"

    def __call__(self, *_, **__):
        raise TypeError(
            f"nl.{self.op} is an operator of instructions (op=nl.{self.op}), not a function"
        )


average = _Operator("average")
bypass = _Operator("bypass")
prelu = _Operator("prelu")
