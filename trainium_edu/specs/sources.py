"""Who says so: every document that a fact may cite, with the edition we read.

A documentation page changes; a figure belongs to one edition of it.  Pages of the public repository
``aws-neuron/aws-neuron-sdk`` therefore carry the commit at which they were read, and ``url`` leads
to exactly that text.  ``sources.md`` has the rows.
"""

import ast
from dataclasses import dataclass
from typing import Any

from trainium_edu.specs.fact import Fact, Kind
from trainium_edu.specs.record import Record
from trainium_edu.specs.signatures import checked
from trainium_edu.specs.tables import rows

__all__ = ["SOURCES", "Source", "stated"]


@dataclass(frozen=True, slots=True)
class Source:
    """One document, in one edition."""

    key: str
    title: str
    publisher: str
    date: str  #: ISO date, month or year of the edition we read
    url: str  #: where the public finds it; "" for our own reasons and for memory
    kind: Kind = Kind.DOCUMENTED  #: what a fact from here is unless it says otherwise

    @property
    def slug(self) -> str:
        """Its cell in the glossary: lessons link ``glossary.ipynb#cell-id=source-SLUG``."""
        return self.key.replace(".", "-")

    @property
    def cited(self) -> str:
        """The kind of evidence, and the key as a link to the document, for prose."""
        return f"{self.kind}: [{self.key}]({self.url})"

    @property
    def markdown(self) -> str:
        """The source as its cell in ``notebooks/glossary.ipynb`` shows it, in two lines."""
        title = f"[{self.title}]({self.url})" if self.url else self.title
        return f"`{self.key}`: {title}<br><small>{self.publisher}, {self.date}</small>"

    @checked
    def says(
        self, value: Any, unit: str, locator: str, note: str = "", *, kind: Kind | None = None
    ) -> Fact:
        """Make a fact that this source states at ``locator``.

        Examples
        --------
        >>> print(SOURCES["nki-trn1-arch"].says(128, "partitions", "NeuronCore-v2 Compute Engines"))
        128 partitions (documented: nki-trn1-arch, NeuronCore-v2 Compute Engines, 2026-07-17)
        """
        return Fact(value, unit, self.key, locator, kind or self.kind, self.date, note)


#: Every source by its key.
SOURCES = {
    key: Source(key, title, publisher, date, url, Kind(kind or "documented"))
    for key, title, publisher, date, url, kind in rows("sources.md")
}


def stated(name: str, /, **computed) -> Record:
    """Return the record of the facts that ``facts.md`` states under a name, in its order.

    Parameters
    ----------
    name : str
        The heading of its table.
    **computed : Fact or Record
        The facts whose rows have no value there, and further ones for the end.
    """
    facts = {}
    for fact, value, unit, source, place, note, kind in rows("facts.md", name):
        if source:
            facts[fact] = SOURCES[source].says(
                ast.literal_eval(value), unit, place, note, kind=Kind(kind) if kind else None
            )
        else:
            facts[fact] = computed.pop(fact)
    return Record(name, **facts, **computed)
