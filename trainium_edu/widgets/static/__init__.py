"""The browser's half of the widgets: plain ES modules and styles, nothing fetched or built.

A player's module is made of several files, shared parts first; only the last one exports.
"""

from pathlib import Path

__all__ = ["load"]


def load(*names: str) -> str:
    """Join files of this folder into one ES module or one style sheet.

    Parameters
    ----------
    names : str
        File names in order, for example ``"playback.js", "systolic_array.js"``.

    Returns
    -------
    text : str
    """
    folder = Path(__file__).parent
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)
