"""The words of the lessons, one sentence each, with a source; the data stand in glossary.toml."""

import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path

from trainium_edu.specs.sources import SOURCES

__all__ = ["Term", "glossary"]


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
    groups = tomllib.loads(Path(__file__).with_name("glossary.toml").read_text(encoding="utf-8"))
    return {
        slug: Term(slug, group=group, **entry)
        for group, entries in groups.items()
        for slug, entry in entries.items()
    }
