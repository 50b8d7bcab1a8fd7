"""Our pages, and texts for the screen, written by Jinja from the templates in ``pages/``."""

import functools
import unicodedata
from pathlib import Path

__all__ = ["rendered"]


def rendered(template: str, **values) -> str:
    """Return a page; text in its values stands there as it is, whatever marks it holds.

    Parameters
    ----------
    template : str
        Its name in ``pages/``.
    **values
        What the template names; one that it lacks is an error.
    """
    return _templates().get_template(template).render(**values)


@functools.cache
def _templates():
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).with_name("pages")),
        autoescape=jinja2.select_autoescape(),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        extensions=["jinja2.ext.do"],
        finalize=_printable,
    )


def _printable(value):
    """Return a text, which a submission may have chosen, without letters that only control."""
    if type(value) is not str:
        return value
    return "".join(" " if unicodedata.category(letter)[0] == "C" else letter for letter in value)
