"""Our pages, written by Jinja from the templates in ``pages/``."""

import functools
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
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(Path(__file__).with_name("pages")), autoescape=True,
        undefined=StrictUndefined, keep_trailing_newline=True, extensions=["jinja2.ext.do"],
    )  # fmt: skip
