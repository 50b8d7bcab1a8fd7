"""Who says a fact: the documents behind it."""

from trainium_edu.specs import SOURCES

__all__ = ["documents", "url_of"]


def documents(fact) -> list:
    """Return the documents behind a fact, or behind those that it is derived from, each once."""
    if not fact.inputs:
        return [SOURCES[fact.source]]
    return list(dict.fromkeys(one for given in fact.inputs for one in documents(given)))


def url_of(fact) -> str:
    """Return the first address among a fact's documents."""
    return next((one.url for one in documents(fact) if one.url), "")
