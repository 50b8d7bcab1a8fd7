"""Drag a number between its two neighbours and throw the dice: stochastic rounding by hand."""

import traitlets

from trainium_edu.numerics import get_format
from trainium_edu.numerics.gaps import MAX_TRIALS, N_RANDOM_BITS, gap, round_repeatedly
from trainium_edu.numerics.grid import number_text
from trainium_edu.specs.arguments import choice, whole
from trainium_edu.widgets.page_widget import PageWidget

__all__ = ["RoundingExplorer", "rounding_explorer"]

_FORMATS = {"bf16": "BF16", "fp16": "FP16", "fp8_e4m3": "FP8 E4M3"}
_NO_TRIALS = {"n": 0, "up": 0, "random_bits": [], "went_up": []}


def rounding_explorer(x=1.0029296875, fmt: str = "bf16", *, trials: int = 10, seed: int = 0):
    """Show a number between two neighbours; drag it, and throw the dice.

    Parameters
    ----------
    x : float, or str as one types it
        A positive number within the format's normal numbers.
    fmt : {"bf16", "fp16", "fp8_e4m3"}
    trials : int, optional
        How often x is rounded at the beginning; 0 leaves the first trial to the learner.
    seed : int, optional
        Of the random bits; every click is the generator's next step.

    Returns
    -------
    RoundingExplorer

    Raises
    ------
    TypeError, ValueError
        If `x`, `fmt`, `trials` or `seed` is impossible.

    Examples
    --------
    >>> explorer = rounding_explorer(1.001953125)
    >>> explorer.round(10_000)
    >>> explorer.between.p_up
    Fraction(1, 4)
    """
    return RoundingExplorer(x, fmt, trials, seed)


class RoundingExplorer(PageWidget, page="rounding_explorer"):
    """State: the gap, the place of x in it, and the trials; see :func:`rounding_explorer`."""

    formats = traitlets.List().tag(sync=True)
    format = traitlets.Unicode().tag(sync=True)
    gap = traitlets.Dict().tag(sync=True)  # what the page needs to draw the gap
    place = traitlets.Int().tag(sync=True)  # x = lower + place * spacing / ticks
    tally = traitlets.Dict().tag(sync=True)
    message = traitlets.Unicode().tag(sync=True)

    def __init__(self, x, fmt, trials, seed):
        trials = whole(trials, "trials", 0, MAX_TRIALS)
        choice(fmt, "fmt", _FORMATS)
        self._seed, self._step = seed, 0
        super().__init__(formats=[[name, label] for name, label in _FORMATS.items()])
        self._go_to(gap(x, fmt))
        if trials:
            self.round(trials)
        self.on_msg(self._receive)

    @property
    def x(self) -> float:
        """The number that is rounded."""
        return self.between.x

    def round(self, n: int):
        """Round x stochastically n more times."""
        trials = round_repeatedly(self.between, n, seed=self._seed, step=self._step)
        self._step += 1
        last = {"random_bits": list(trials.random_bits), "went_up": list(trials.went_up)}
        self.tally = {"n": self.tally["n"] + trials.n, "up": self.tally["up"] + trials.up, **last}

    def _go_to(self, between):
        """Show another gap, without trials."""
        self.between = between
        ticks, width = 2 ** min(between.dropped_bits, N_RANDOM_BITS), 32 - between.dropped_bits
        kept = between.word >> between.dropped_bits
        shown = {name: getattr(between, name) for name in ("lower", "upper", "dropped_bits")}
        shown |= {f"{e}_text": number_text(shown[e], between.fmt) for e in ("lower", "upper")}
        shown |= {"kept": f"{kept:0{width}b}", "kept_up": f"{kept + 1:0{width}b}", "ticks": ticks}
        shown["tie_goes_up"] = _at(between, 1, 2).nearest == between.upper
        with self.hold_sync():
            self.format, self.gap = between.fmt.name, shown
            self.place = int((between.x - between.lower) / between.spacing * ticks)
            self.between = _at(between, self.place, ticks)
            self.tally = dict(_NO_TRIALS)
            self.message = ""

    @traitlets.validate("place")
    def _inside(self, proposal):
        ticks = self.gap.get("ticks", proposal["value"] + 1)
        return min(max(proposal["value"], 0), ticks - 1)

    @traitlets.observe("place")
    def _dragged(self, _change):
        """Take x to where the learner dragged it; its trials begin anew."""
        self.between = _at(self.between, self.place, self.gap["ticks"])
        self.tally = dict(_NO_TRIALS)

    @traitlets.observe("format")
    def _other_format(self, _change):
        if self.format != self.between.fmt.name:
            self._type(self.x, self.format)

    def _receive(self, _widget, content, _buffers):
        """Answer the page's buttons."""
        match content:
            case {"do": "round", "n": 1 | 10 | 10_000 as n}:
                self.round(n)
            case {"do": "forget"}:
                self.tally = dict(_NO_TRIALS)
            case {"do": "type", "text": text}:
                self._type(str(text).strip().replace("−", "-")[:40], self.format)

    def _type(self, x, fmt):
        """Go to a number, or say why not."""
        try:
            self._go_to(gap(x, fmt))
        except (TypeError, ValueError) as error:
            self.format = self.between.fmt.name
            self.message = str(error)

    def summary(self) -> str:
        """Say the picture's numbers in a sentence."""
        between, n, up = self.between, self.tally["n"], self.tally["up"]
        head = (
            f"{number_text(between.x)} in {_FORMATS[between.fmt.name]}: up to "
            f"{self.gap['upper_text']} with probability {float(between.p_up):.4f}, "
            f"else down to {self.gap['lower_text']}"
        )
        return f"{head}; {up} of {n} throws went up" if n else head

    def __repr__(self):
        return f"RoundingExplorer({self.summary()})"


def _at(between, place, ticks):
    """Return the same gap with x at lower + place/ticks of the spacing; exact, a power of two."""
    return gap(between.lower + between.spacing * (place / ticks), get_format(between.fmt))
