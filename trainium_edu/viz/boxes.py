"""Arrays as boxes with their numbers: the first few rows and columns of each, and its shape."""

from collections.abc import Mapping

import numpy as np

from trainium_edu.viz.colours import COLOURS
from trainium_edu.viz.numbers import HTML
from trainium_edu.viz.scene import Scene
from trainium_edu.viz.svg import to_svg

__all__ = ["Boxes"]

_ROWS, _COLUMNS, _WIDE, _TALL, _GAP, _MOST = 4, 5, 40.0, 22.0, 44.0, 600.0


class Boxes:
    """Arrays side by side, each with numbers in boxes.

    Parameters
    ----------
    arrays : dict of str to ndarray
        By name, with two axes; the first numbers of each are shown.
    wrong : ndarray of bool, optional
        Numbers of the last array to cross out.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray], wrong: np.ndarray | None = None):
        self._arrays, self._wrong = dict(arrays), wrong

    def __str__(self):
        return "\n".join(map(_line, self._arrays, self._arrays.values()))

    __repr__ = __str__

    def _repr_html_(self):
        scene = self.scene()
        return HTML["boxes"].format(to_svg(scene), scene.width)

    def scene(self) -> Scene:
        """Return the picture."""
        x, y, right, bottom, last = 4.0, 0.0, 0.0, 0.0, list(self._arrays)[-1]
        scene = Scene(1, 1, "; ".join(map(_line, self._arrays, self._arrays.values())))
        for name, array in self._arrays.items():
            words = _words(array, self._wrong if name == last else None)
            cell = max(_WIDE, 7.6 * max(map(len, words.ravel())))
            wide = max(words.shape[1] * cell + 14, 7.0 * len(_head(name, array)))
            if x > 4 and x + wide > _MOST:
                x, y = 4.0, bottom + 14
            _draw(scene, x, y, name, words, array.shape, cell)
            right, bottom = max(right, x + wide), max(bottom, y + 26 + len(words) * _TALL + 14)
            x += wide + _GAP
        scene.width, scene.height = right + 4, bottom
        return scene


def _head(name, array) -> str:
    return f"{name}  {list(array.shape)}"


def _number(value) -> str:
    """Return a number in at most five letters."""
    value = float(value) + 0.0  # no -0
    if np.isnan(value):
        return "?"
    if 0 < abs(value) < 1e-3:
        return f"{value:.0e}".replace("e-0", "e-")
    return f"{value:.0f}" if value == round(value) else f"{value:.3f}"[:5]


def _line(name, array) -> str:
    """Return an array's first row as text."""
    first = " ".join(map(_number, array[0, :_COLUMNS]))
    return f"{_head(name, array)}  {first}{' ...' if array.size > array[0, :_COLUMNS].size else ''}"


def _words(array, wrong):
    """Return what the boxes of an array's corner say."""
    words = np.vectorize(_number, otypes=[object])(array[:_ROWS, :_COLUMNS])
    return words if wrong is None else words + np.where(wrong[:_ROWS, :_COLUMNS], " ✗", "")


def _draw(scene, x, y, name, words, shape, cell):
    rows, columns = words.shape
    scene.text(x, y + 16, name, bold=True)
    scene.text(x + 8 * len(name) + 8, y + 16, list(shape), colour="muted")
    top = y + 26
    for (i, j), said in np.ndenumerate(words):
        left, high = x + j * cell, top + i * _TALL
        if said.endswith("✗"):
            scene.rect(left, high, cell, _TALL, COLOURS["red"], opacity=0.25)
        scene.rect(left, high, cell, _TALL, "muted", outline=True)
        scene.text(left + cell / 2, high + 15, said, anchor="middle")
    if shape[1] > columns:
        scene.text(x + columns * cell + 4, top + 14, "…", colour="muted")
    if shape[0] > rows:
        scene.text(x + 2, top + rows * _TALL + 12, "⋮", colour="muted")
