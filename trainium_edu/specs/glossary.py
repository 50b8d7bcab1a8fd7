"""The words of the lessons, and what else the sources name; the data: glossary.toml, named.toml.

Each word has one sentence and a source.  Each name has the sources that name it, a sentence on what
it is, and one on its counterpart here, so that a reader of the sources misses nothing.
"""

import functools
from dataclasses import dataclass

from trainium_edu.files import tables
from trainium_edu.specs.sources import SOURCES

__all__ = ["Named", "Term", "glossary", "named"]


@dataclass(frozen=True, slots=True)
class Term:
    """One word of the glossary."""

    slug: str  #: "ulp"; lessons link ``glossary.ipynb#cell-id=term-ulp``
    name: str
    sentence: str
    source: str  #: a key of :data:`trainium_edu.specs.SOURCES`
    group: str

    def __str__(self):
        return f"{self.name}: {self.sentence}"

    @property
    def markdown(self) -> str:
        """The term as its cell in ``notebooks/glossary.ipynb`` shows it.

        Two lines, as high as JupyterLab expects a cell of one source line to be: so that a link
        from another notebook still shows the term after the cells above it have been laid out.
        """
        source = SOURCES[self.source]
        title = f"[{source.title}]({source.url})" if source.url else "this emulator"
        return f"**{self.name}**: {self.sentence}<br><small>{title}</small>"


@dataclass(frozen=True, slots=True)
class Named:
    """Something that the sources name: a service, a framework, a machine, a way to pay."""

    slug: str
    name: str
    sources: list[str]  #: keys of :data:`trainium_edu.specs.SOURCES`
    what: str
    here: str  #: what this project does about it
    group: str

    @property
    def markdown(self) -> str:
        """The row of the table at the end of ``notebooks/glossary.ipynb``."""
        cited = ", ".join(f"[{k}](#cell-id=source-{SOURCES[k].slug})" for k in self.sources)
        return f"| {self.name} | {self.what} | {self.here} | {cited} |"


@functools.cache
def glossary() -> dict[str, Term]:
    """Read all terms.

    Returns
    -------
    terms : dict of str to Term, in reading order

    Examples
    --------
    >>> print(glossary()["ulp"])
    ulp: Unit in the last place: the distance from a number to the next one its format has.
    """
    return _read("glossary.toml", Term)


@functools.cache
def named() -> dict[str, Named]:
    """Read what the sources name.

    Returns
    -------
    names : dict of str to Named, in reading order

    Examples
    --------
    >>> named()["g5"].here
    'Not modelled: no figure of the sources is about it.'
    """
    return _read("named.toml", Named)


def _read(name, kind):
    groups = tables(__file__, name)
    return {
        slug: kind(slug, group=group, **entry)
        for group, entries in groups.items()
        for slug, entry in entries.items()
    }
