"""Who says so: every document that a fact may cite, with the edition we read.

A documentation page changes; a figure belongs to one edition of it.  Pages of the public repository
``aws-neuron/aws-neuron-sdk`` therefore carry the commit at which they were read, and ``url`` leads
to exactly that text.  ``sources.md`` has the rows.
"""

import ast
import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from trainium_edu.specs.fact import Fact, Kind, derive
from trainium_edu.specs.record import Record
from trainium_edu.specs.signatures import checked
from trainium_edu.specs.tables import rows

__all__ = ["SOURCES", "Source", "stated", "successor"]


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


_NAME = re.compile(r"(?<![\w.'])[a-z_][\w.]*")

#: Every source by its key.
SOURCES = {
    key: Source(key, title, publisher, date, url, Kind(kind or "documented"))
    for key, title, publisher, date, url, kind in rows("sources.md")
}


def stated(name: str, /, **given) -> Record:
    """Return the record of the facts that ``facts.md`` states under a name, in its order.

    Parameters
    ----------
    name : str
        The heading of its table.
    **given : Fact or Record
        The members that its rows leave empty, and what formulas name from elsewhere.
    """
    return _table(name, Record("what is given", **given).find)


def _table(heading, find_outside) -> Record:
    """Return the record of one table; ``find_outside(path)`` knows the facts that it lacks."""
    cells = {name: others for name, *others in rows("facts.md", heading)}

    def find(path):
        name, _, rest = path.partition(".")
        if name not in cells:
            return find_outside(path)
        member = member_of(name)
        return member.find(rest) if rest else member

    @functools.cache
    def member_of(name):
        value, unit, source, place, note, kind = cells[name]
        match source:
            case "":
                return find_outside(name)
            case "same":
                return find(value)
            case "table":
                return _table(value, find)
            case "derived":
                names, formula = _formula(value)
                return derive(unit, formula, *map(find, names), locator=place, note=note)
        return _fact(ast.literal_eval(value), unit, source, place, note, kind)

    return Record(heading, **{name: member_of(name) for name in cells})


def _formula(text: str) -> tuple[list[str], Callable]:
    """Return the names in a formula, each once, and the formula as a function of their values."""
    names = [n for n in dict.fromkeys(_NAME.findall(text)) if n not in ("dict", "round", "sum")]
    code = _NAME.sub(lambda n: f"v{names.index(n[0])}" if n[0] in names else n[0], text)
    return names, eval(f"lambda {', '.join(f'v{i}' for i in range(len(names)))}: {code}")


def _fact(value, unit, source, place, note, kind) -> Fact:
    return SOURCES[source].says(value, unit, place, note, kind=Kind(kind) if kind else None)


def successor(before: Record, name: str, heading: str) -> Record:
    """Return a chip's record made of the one before and of a table of what differs.

    Rows have dotted names; what no row names is carried over as *assumed*, and derived facts are
    derived again.

    Parameters
    ----------
    before : Record
    name : str
        Of the new chip.
    heading : str
        Of its table in ``facts.md``; a value may be ``'as before'`` (documented to be the same, of
        a fact or a whole record) or ``'none'`` (the chip lacks it).
    """
    earlier, new_facts, lacking = dict(before.walk()), {}, set()
    for path, value, unit, source, place, note, kind in rows("facts.md", heading):
        if value == "'none'":
            lacking.add(path)
            continue
        same = {one: (old.value, old.unit) for one, old in earlier.items()
                if one == path or one.startswith(f"{path}.")}  # fmt: skip
        facts = same if value == "'as before'" else {path: (ast.literal_eval(value), unit)}
        for one, has in facts.items():
            new_facts[one] = _fact(*has, source, place, note, kind)
    renewed = {id(earlier[path]): fact for path, fact in new_facts.items() if path in earlier}

    def renew(fact):
        if id(fact) not in renewed:
            if fact.formula:
                new = derive(fact.unit, fact.formula, *map(renew, fact.inputs),
                             locator=fact.locator)  # fmt: skip
            else:
                note = "; ".join(filter(None, ("as before", fact.note)))
                new = replace(fact, kind=Kind.ASSUMED, note=note)
            renewed[id(fact)] = new
        return renewed[id(fact)]

    def build(record, path=""):
        members = {
            member: build(value, f"{path}{member}.") if isinstance(value, Record) else renew(value)
            for member, value in record.items()
            if path + member in new_facts or not lacking & {path + member, path[:-1]}
            or isinstance(value, Record)
        }  # fmt: skip
        further = {one.removeprefix(path): fact for one, fact in new_facts.items()
                   if one.startswith(path) and one not in earlier}  # fmt: skip
        members |= {one: fact for one, fact in further.items() if "." not in one}
        return Record(record.name if path else name, **members)

    return build(before)
