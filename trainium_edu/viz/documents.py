"""Who says a fact: the documents behind it."""

from trainium_edu.specs import SOURCES

__all__ = ["documents", "source_of", "url_of"]


def documents(fact) -> list:
    """Return the documents behind a fact, or behind those that it is derived from, each once."""
    if not fact.inputs:
        return [SOURCES[fact.source]]
    return list(dict.fromkeys(one for given in fact.inputs for one in documents(given)))


def source_of(fact) -> str:
    """Return where a fact stands, or how it follows from which documents."""
    titles = ", ".join(document.title for document in documents(fact))
    return f"{fact.locator}, from {titles}" if fact.inputs else f"{titles}: {fact.locator}"


def url_of(fact) -> str:
    """Return the first address among a fact's documents."""
    return next((one.url for one in documents(fact) if one.url), "")
