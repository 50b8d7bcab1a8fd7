"""A named group of facts, nested as the hardware is nested: ``TRN1.tensor_engine.clock_hz``."""

from collections.abc import Iterator

from trainium_edu.specs.fact import Fact
from trainium_edu.specs.signatures import checked

__all__ = ["Record"]


class Record:
    """Facts, texts and further records under names; read with a dot, never written to.

    Parameters
    ----------
    name : str
        What the group describes: "Tensor Engine".
    members : Fact or Record

    Examples
    --------
    >>> from trainium_edu.specs import TRN1
    >>> print(TRN1.sbuf.capacity_bytes.value)
    25165824
    """

    @checked
    def __init__(self, name: str, /, **members):
        self.__dict__.update(members, _name=name)

    def __setattr__(self, name, value):
        raise AttributeError(f"{self._name}: facts do not change; use .replace({name}=...)")

    def __delattr__(self, name):
        raise AttributeError(f"{self._name}: facts do not change")

    def __getattr__(self, name):  # only reached when the name is missing
        if name.startswith("_"):
            raise AttributeError(name)
        known = ", ".join(n for n, _ in self.items())
        raise AttributeError(f"{self._name} has no fact {name!r}; it has {known}")

    def __eq__(self, other):
        return isinstance(other, Record) and self.__dict__ == other.__dict__

    def __hash__(self):
        return hash((Record, self._name, tuple(self.items())))

    def __deepcopy__(self, memo):
        return self

    def __repr__(self):
        return f"Record({self._name!r}, {sum(1 for _ in self.walk())} facts)"

    def __str__(self):
        return "\n".join([self._name, *(f"  {path}: {fact}" for path, fact in self.walk())])

    @property
    def name(self) -> str:
        """The name of what the group describes."""
        return self._name

    def items(self) -> tuple:
        """Return (name, fact or record) pairs in the order they were written."""
        return tuple((n, m) for n, m in self.__dict__.items() if n != "_name")

    def walk(self) -> Iterator[tuple[str, Fact]]:
        """Yield (dotted name, fact) for every fact of this record and of those inside it."""
        for name, member in self.items():
            if isinstance(member, Record):
                yield from ((f"{name}.{rest}", fact) for rest, fact in member.walk())
            else:
                yield name, member

    @checked
    def find(self, path: str):
        """Return the fact or record at a dotted name such as ``"psum.banks"``."""
        found = self
        for part in path.split("."):
            found = getattr(found, part)
        return found

    def replace(self, **changes) -> "Record":
        """Return a copy with some members changed or added; what-if questions use it."""
        return Record(self._name, **{**dict(self.items()), **changes})
