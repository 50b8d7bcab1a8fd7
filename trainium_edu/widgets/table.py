"""A table of plain text that keeps its columns wherever it is shown."""

import html

import ipywidgets

__all__ = ["TextTable"]


class TextTable(ipywidgets.HTML):
    """Show text in a fixed-width face.

    Parameters
    ----------
    text : str
        Lines of a table; also its ``repr``, which the stored notebook keeps.

    Examples
    --------
    >>> TextTable("a  1")
    a  1
    """

    def __init__(self, text: str):
        self._text = text
        super().__init__(
            "<pre style='margin:2px 0;line-height:1.35;color:inherit;background:none;"
            f"font-size:var(--jp-code-font-size,13px)'>{html.escape(text)}</pre>"
        )

    def __repr__(self):
        return self._text
