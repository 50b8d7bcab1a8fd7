"""Bars on a scene: in rows, in parts against a limit, a tornado."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, log10

from trainium_edu.viz.chart import powers_of_ten, round_steps
from trainium_edu.viz.colours import COLOURS, MEMORY, STEP
from trainium_edu.viz.scene import LETTER, Scene, linear

__all__ = ["Stack", "colours_of", "draw_rows", "draw_stacks", "draw_tornado"]

_ORDER = ("blue", "orange", "green", "pink", "sky", "yellow", "grey", "red")
_TALL, _ROW = 38.0, 30.0  # a bar of a stack, and of a tornado
_OVER, _FITS = COLOURS["red"], COLOURS["green"]
_ENDS = (("low", "sky"), ("high", "blue"))


@dataclass(frozen=True, slots=True)
class Stack:
    """A bar in parts.

    Attributes
    ----------
    title, unit : str
    parts : dict of str to float
        In `unit`, from the left.
    limit : float
        A line across the bar; what goes beyond is marked.
    limit_words : str
    unsure : tuple of str
        Parts drawn pale, behind a dashed outline.
    before : float
        The bar's length before the last move: an outline around it.
    kept : str
        What is said of a bar within its limit.
    """

    title: str
    unit: str
    parts: dict[str, float]
    limit: float = 0.0
    limit_words: str = ""
    unsure: tuple[str, ...] = ()
    before: float = 0.0
    kept: str = "✓ fits"

    @property
    def total(self) -> float:
        """The bar's length."""
        return sum(self.parts.values())


def colours_of(names) -> dict[str, str]:
    """Return a colour for each part: its own where it has one, else the next of the palette.

    Examples
    --------
    >>> colours_of(["weights", "power"]) == {"weights": "#0072B2", "power": "#E69F00"}
    True
    """
    own = MEMORY | STEP
    left = [COLOURS[name] for name in _ORDER if COLOURS[name] not in map(own.get, names)]
    return {name: own.get(name) or left.pop(0) for name in names}


def short(value: float) -> str:
    """Write a number in three digits or as a whole number.

    Examples
    --------
    >>> short(2612.4), short(21.8), short(0.00512)
    ('2,612', '21.8', '0.00512')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def draw_rows(title, rows: Mapping, *, spell=short, width=740.0, log=False, under=None) -> Scene:
    """Draw a bar for each row, its parts from the left, and its length in words behind it.

    Parameters
    ----------
    title : str
    rows : dict of str to dict of str to float
        Row → part → length.
    spell : callable
        A length in words.
    width : float, CSS pixels
    log : bool
        Dots on a logarithmic axis: a bar there has no length.
    under : str, optional
        A part that adds nothing: a thin line that ends where the part before it does.

    Returns
    -------
    Scene
    """
    lengths = {n: sum(v for part, v in row.items() if part != under) for n, row in rows.items()}
    said = "; ".join(f"{name} {spell(length)}" for name, length in lengths.items())
    scene = Scene(width, 1, f"{title}: {said}")
    scene.text(4, 16, title, bold=True, size=13)
    colours = colours_of(dict.fromkeys(part for row in rows.values() for part in row))
    top = (scene.key(4, 38, colours.items()) if len(colours) > 1 else 18) + 12
    left, right = 14 + LETTER * max(map(len, rows)), width - 84
    low, most = 0.0, max(lengths.values()) or 1.0
    if log:
        low = 10.0 ** floor(log10(min(lengths.values())))
        ticks = [(log10(v), short(v)) for v in powers_of_ten(low, most)]
        low, most = log10(low), log10(most)
        scene.axis(linear(low, most, left, right), ticks, top + _ROW * len(rows), grid_top=top)
    to_x = linear(low, most, left, right)
    for y, (name, row) in zip(range(round(top), 99999, round(_ROW)), rows.items(), strict=False):
        scene.text(left - 8, y + 16, name, anchor="end")
        end = left
        for part, length in ({} if log else row).items():
            wide = to_x(length) - left
            thin = part == under
            scene.rect(end - wide * thin, y + 21 * thin, wide, 4 if thin else 20, colours[part])
            end += 0 if thin else wide
        if log:
            end = to_x(log10(lengths[name])) + 5
            scene.rect(end - 10, y + 6, 10, 10, *colours.values())
        scene.text(end + 6, y + 15, spell(lengths[name]), bold=True)
    scene.height = top + _ROW * len(rows) + 24 * log
    return scene


def draw_stacks(stacks: Sequence[Stack], *, width: float = 960.0) -> Scene:
    """Draw bars in parts, one below the other, each with its own axis.

    Parameters
    ----------
    stacks : sequence of Stack
    width : float, CSS pixels

    Returns
    -------
    Scene
    """
    scene, y = Scene(width, 1), 20.0
    for stack in stacks:
        y = _draw_stack(scene, stack, y) + 56
    scene.height = y - 26
    return scene


def _draw_stack(scene, stack, y) -> float:
    """Draw title, key, bar and axis from y downwards; return where the axis stands."""
    left, right = 12.0, scene.width - 24
    end = max(1.04 * stack.total, 1.04 * stack.before, 1.12 * stack.limit) or 1.0
    to_x, colours = linear(0, end, left, right), colours_of(stack.parts)
    scene.text(left, y, f"{stack.title}, {stack.unit}", bold=True, size=13)
    entries = [
        (f"{name} {short(v)}".ljust(len(name) + 7), colours[name], name in stack.unsure)
        for name, v in stack.parts.items()
    ]  # places do not move with the numbers
    top = scene.key(left, y + 22, entries, right) + (32 if stack.limit else 14)
    start = 0.0
    for name, value in stack.parts.items():
        x0, x1 = to_x(start), to_x(start + value)
        pale = name in stack.unsure
        scene.rect(x0, top, x1 - x0 - 0.6, _TALL, colours[name], opacity=0.35 if pale else 1.0)
        start += value
    scene.axis(to_x, [(v, short(v)) for v in round_steps(0, end)], top + _TALL + 4)
    scene.line(left, top + _TALL + 4, right, top + _TALL + 4)
    if stack.before > stack.total:
        scene.rect(left, top, to_x(stack.before) - left, _TALL, "muted", outline=True)
        words = f"before: {short(stack.before)}"
        scene.text(to_x(stack.before) - 6, top + 24, words, anchor="end", colour="muted")
    if 0 < stack.total <= stack.limit:
        wide = 17 + 7.5 * len(stack.kept)
        scene.rect(right - wide, y - 16, wide, 22, _FITS)
        scene.text(
            right - wide / 2, y, stack.kept, anchor="middle", colour="paper", size=13, bold=True
        )
    if stack.limit:
        x = to_x(stack.limit)
        scene.line(x, top - 10, x, top + _TALL + 4, "ink", width=2.4)
        after = x + LETTER * len(stack.limit_words) < right
        scene.beside(x, top - 6, stack.limit_words, after, off=4, bold=True)
        if stack.total > stack.limit:
            scene.rect(x, top + _TALL - 4, to_x(stack.total) - x, 5, _OVER)
    return top + _TALL + 4


def draw_tornado(scene, title, rows, middle, unit) -> None:
    """Draw how far each input moves a result, the widest first, below what a scene shows.

    Parameters
    ----------
    scene : Scene
    title, unit : str
    rows : sequence of (str, float, float)
        An input in words, and the result at its two ends.
    middle : float
        The result with all inputs as stated.
    """
    rows = sorted(rows, key=lambda row: -abs(row[2] - row[1]))
    head, width = scene.height, scene.width
    names, top = min(12 + LETTER * max(len(name) for name, *_ in rows), 0.45 * width), head + 52
    bottom = top + _ROW * len(rows)
    scene.height = bottom + 28
    values = [middle, *(v for _, *ends in rows for v in ends)]
    low, high = min(values), max(values)
    room = 0.12 * (high - low) or 1.0
    to_x = linear(low - room, high + room, names + 6, width - 24)
    scene.text(12, head + 18, f"{title}, {unit}", bold=True, size=13)
    key = [(f"input at its {end} end", COLOURS[colour]) for end, colour in _ENDS]
    scene.key(12, head + 40, key)
    ticks = [(v, short(v)) for v in round_steps(low - room, high + room)]
    scene.axis(to_x, ticks, bottom, grid_top=top)
    for k, (name, *ends) in enumerate(rows):
        y = top + _ROW * k
        scene.text(names, y + 16, name, anchor="end")
        for value, (_, colour) in zip(ends, _ENDS, strict=True):
            x0, x1 = sorted((to_x(value), to_x(middle)))
            scene.rect(x0, y + 2, x1 - x0, _ROW - 10, COLOURS[colour])
    scene.line(to_x(middle), top, to_x(middle), bottom, "ink", width=1.6)
