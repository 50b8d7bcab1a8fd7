"""Where the sources disagree: every reading is kept, one is the default, and the reason is said."""

import textwrap
from dataclasses import dataclass

from trainium_edu.specs.claims import RECORDS
from trainium_edu.specs.fact import Fact
from trainium_edu.specs.signatures import checked
from trainium_edu.specs.tables import rows

__all__ = ["Conflict", "Conflicts", "conflicts"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """One quantity with more than one published or computed value."""

    subject: str
    facts: tuple[Fact, ...]
    default: Fact  #: one of ``facts``: the value that the package uses
    why: str

    def __str__(self):
        rows = [self.subject]
        for fact in self.facts:
            mark = "→" if fact is self.default else " "
            rows.append(f"  {mark} {fact.pretty:<28} {fact.source}, {fact.as_of}: {fact.locator}")
        return "\n".join(
            [*rows, *textwrap.wrap(self.why, 92, initial_indent="    ", subsequent_indent="    ")]
        )


class Conflicts(tuple):
    """All conflicts, in reading order; ``print`` shows them as text, a notebook as a table."""

    __slots__ = ()

    @checked
    def about(self, word: str) -> "Conflicts":
        """Return those whose subject contains a word, in any case."""
        return Conflicts(c for c in self if word.lower() in c.subject.lower())

    def __str__(self):
        return "\n\n".join(str(c) for c in self)

    def __repr__(self):
        return f"Conflicts({len(self)} subjects)"

    def _repr_html_(self):
        left = 'style="text-align:left"'
        rows = []
        for c in self:
            rows.append(f"<tr><th {left} colspan=4>{c.subject}</th></tr>")
            for f in c.facts:
                mark = "✓" if f is c.default else ""
                cells = (mark, f"<b>{f.pretty}</b>" if mark else f.pretty, f.source, f.as_of)
                rows.append(f"<tr>{''.join(f'<td {left}>{cell}</td>' for cell in cells)}</tr>")
            rows.append(f"<tr><td></td><td {left} colspan=3>{c.why}</td></tr>")
        return f"<table>{''.join(rows)}</table>"


def conflicts() -> Conflicts:
    """List what the sources disagree on.

    Returns
    -------
    Conflicts
        A tuple of :class:`Conflict`; ``conflicts().about("peak")`` picks some.

    Examples
    --------
    >>> len(conflicts().about("chips in an UltraCluster"))
    1
    """
    return Conflicts(
        Conflict(subject, facts, facts[0], why)
        for subject, paths, why in rows("conflicts.md")
        for facts in [tuple(map(RECORDS.find, paths.split()))]
    )
