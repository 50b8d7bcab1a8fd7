"""Predict first: the answer below stays hidden until the learner commits to a guess.

A :class:`Prediction` asks; it is the last line of its cell.  In a later cell its ``reveal`` shows
a card with the answer, the guess drawn where the answer is, and what a wrong guess left out;
``gate`` shows any picture, widget or text; each only after the commit, under Run All too.  The
questions of our own lessons, their answers and misconceptions are in ``exercises.predict``, so
that no cell gives an answer away.  A committed prediction is written into the notebook's own cell
(MIME type ``MIME``), so that a class can collect it, and into the learner's journal, so that it
survives a new kernel.  With ``TRAINIUM_EDU_COMMITTED=1`` (nbval, CI) everything counts as
committed, nothing is stored, and answers are plain text that nbval compares.

Decisions: the counted prediction is the last one *before* the answer was shown.  A learner may
change it later, and the change is recorded as made after the answer; undoing is not offered.
"""

import base64
import math
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace

import ipywidgets
import traitlets
from IPython.core.formatters import format_display_data
from IPython.display import display

from trainium_edu import settings
from trainium_edu.widgets import card, journal
from trainium_edu.widgets.page_widget import PageWidget

__all__ = ["MIME", "RECOGNISED", "Prediction", "Reveal"]

#: Under this type a committed prediction stands in the notebook's output.
MIME = "application/vnd.trainium-edu.prediction+json"
#: Under this type a recognised misconception stands in the output of its reveal.
RECOGNISED = "application/vnd.trainium-edu.misconception+json"


@dataclass(frozen=True, slots=True)
class Commitment:
    """What a learner committed to, and what was changed after the answer was shown."""

    counted: float | str | tuple = ()  #: the last value before the answer was shown
    present: float | str | tuple = ()  #: the last value of all
    commits: int = 0
    revealed: bool = False
    changes_after_answer: int = 0

    def commit(self, value) -> "Commitment":
        """Return the record after one more commit."""
        counted = self.counted if self.revealed else value
        changes = self.changes_after_answer + self.revealed
        return Commitment(counted, value, self.commits + 1, self.revealed, changes)


class Prediction(PageWidget, page="prediction"):
    """A question and its input.

    Parameters
    ----------
    key : str
        Lesson and question, for example ``"02/where-it-stops"``: its name in a class's histogram.
    kind : str
        What is asked for: "number"; "choice", one of the options; or "order", all of them.
    question : str
    unit : str
        Written behind a number.
    options : sequence of str
        Two to nine, as first shown; shuffle those to be put in order yourself, so that they stand
        the same for everyone.
    domain : callable, optional
        Takes a number and raises ValueError, with a sentence, if it cannot be an answer.
    axis : dict, optional
        ``most`` and ``known``: a number may also be dragged along an axis from 0 to `most`, below
        bars of known numbers by their names.

    Examples
    --------
    >>> Prediction("02/where", "number", "At which sum does adding 1 in BF16 change nothing?")
    Prediction('02/where')
    >>> Prediction("08/winner", "choice", "For 1 GiB?", options=["Mesh", "RDH", "KangaRing"])
    Prediction('08/winner')
    """

    key = traitlets.Unicode().tag(sync=True)
    kind = traitlets.Unicode().tag(sync=True)
    question = traitlets.Unicode().tag(sync=True)
    unit = traitlets.Unicode().tag(sync=True)
    options = traitlets.List(traitlets.Unicode()).tag(sync=True)
    committed = traitlets.Bool(False).tag(sync=True)
    locked = traitlets.Bool(False).tag(sync=True)  # read along: shown, not asked
    commits = traitlets.Int(0).tag(sync=True)
    axis = traitlets.Dict().tag(sync=True)  # of a number to drag: its end, bars that are known
    status = traitlets.Unicode().tag(sync=True)  # the line below the input

    def __init__(self, key, kind, question, *, unit="", options=(), domain=None, axis=None):
        self._display_id = uuid.uuid4().hex
        self._domain = domain  # takes a number; raises ValueError with a sentence
        self.first = lambda: ""  # what the learner has to do before an answer is taken
        self._followers: list[Callable[[], None]] = []
        asked = {"key": _checked_key(key), "kind": kind, "question": str(question)}
        asked |= {"unit": str(unit), "options": _checked_options(kind, options), "axis": axis or {}}
        super().__init__(**asked, locked=settings.lesson().predictions_committed)
        self.commitment = Commitment() if self.locked else self._remembered()
        self._show_status()
        self.on_msg(self._receive)

    # -- committing -------------------------------------------------------------------------

    def commit(self, value):
        """Commit to a value, as the widget's button does.

        Parameters
        ----------
        value : str, float or list of str
            A number or its text; one of the options; or all items, in order.

        Raises
        ------
        ValueError
            If the value is no answer to the question.
        """
        if self.locked:
            raise ValueError(
                "TRAINIUM_EDU_COMMITTED=1: every prediction counts as committed, nothing is stored"
            )
        value = self._checked(value)
        self.commitment = self.commitment.commit(value)
        complaint = journal.append("predictions", {**self._identity(), "value": value})
        self._show_status(complaint)
        display(self.bundle(), raw=True, display_id=self._display_id, update=True)
        for follower in self._followers:
            follower()

    def _receive(self, _widget, content, _buffers):
        """Take a message from the browser; a wrong value becomes a sentence under the input."""
        if not isinstance(content, dict) or content.get("type") != "commit":
            return
        try:
            if to_do := self.first():
                raise ValueError(to_do)
            self.commit(content.get("value"))
        except ValueError as error:
            self.status = str(error)

    def _checked(self, value):
        if self.kind == "number":
            value = _finite_number(value)
            if self._domain is not None:
                self._domain(value)
            return value
        if self.kind == "choice":
            if value not in self.options:
                raise ValueError(f"Choose one of: {', '.join(self.options)}.")
            return value
        items = value if isinstance(value, list | tuple) else ()
        if not all(isinstance(v, str) for v in items) or sorted(items) != sorted(self.options):
            raise ValueError(f"Put all {len(self.options)} items in order, each once.")
        return tuple(items)

    # -- remembering ------------------------------------------------------------------------

    def _identity(self):
        return {"key": self.key, "kind": self.kind}

    def _remembered(self):
        """Replay the learner's journal; events that no longer fit the question are skipped."""
        commitment = Commitment()
        for event in journal.read("predictions"):
            if {k: event.get(k) for k in ("key", "kind")} != self._identity():
                continue
            if event.get("revealed") is True:
                commitment = replace(commitment, revealed=commitment.commits > 0)
                continue
            try:
                commitment = commitment.commit(self._checked(event.get("value")))
            except ValueError:
                continue
        return commitment

    def _mark_revealed(self, answer):
        if not self.locked and not self.commitment.revealed:
            self.commitment = replace(self.commitment, revealed=True)
            guess = self.commitment.counted
            close = self.kind == "number" and (card.error_factor(guess, answer) or math.inf) <= 1.1
            told = self._identity() | {"revealed": True, "right": guess == answer or close}
            journal.append("predictions", told)

    # -- showing ----------------------------------------------------------------------------

    def _show_status(self, complaint=""):
        self.committed = self.locked or self.commitment.commits > 0
        self.commits = self.commitment.commits
        if self.locked:
            self.status = "Read along: the answer is shown below."
        elif self.committed:
            parts = [f"You predicted {self.spell(self.commitment.counted)}."]
            if self.commitment.changes_after_answer:
                present = self.spell(self.commitment.present)
                changed = f"After the answer was shown you changed it to {present}"
                parts.append(f"{changed}; the first one counts.")
            self.status = " ".join([*parts, complaint]).strip()

    def spell(self, value) -> str:
        """Return a value as a reader would write it, with its unit."""
        if self.kind == "order":
            return " → ".join(value)
        text = _spell_number(value) if self.kind == "number" else str(value)
        return f"{text} {_singular(self.unit) if text == '1' else self.unit}".strip()

    def _text(self):
        lines = [f"Predict: {self.question}"]
        if self.options:
            lines.append("Options: " + ", ".join(self.options))
        if self.unit:
            lines.append(f"Unit: {self.unit}")
        if self.committed and not self.locked:
            lines.append(self.status)
        return "\n".join(lines)

    def bundle(self) -> dict:
        """Return what the notebook stores of the question, by MIME type."""
        data = _stored(self._repr_mimebundle_(), self._text())
        if self.commitment.commits:
            asked = {"question": self.question, "unit": self.unit, "options": list(self.options)}
            made, changes = self.commitment, self.commitment.changes_after_answer
            told = {"value": made.counted, "present": made.present, "changes_after_answer": changes}
            data[MIME] = self._identity() | asked | told
        return data

    def _ipython_display_(self, **_kwargs):
        display(self.bundle(), raw=True, display_id=self._display_id)

    def __repr__(self):
        return f"Prediction({self.key!r})"

    # -- answering --------------------------------------------------------------------------

    def reveal(self, answer, explain: str = "", *, show=None, recognise=None) -> "Reveal":
        """Show the answer beside the prediction, once there is one.

        Parameters
        ----------
        answer : float, str or list of str
            In the form of the question: a number, one of the options, or all items in order.
        explain : str
            One or two sentences, shown with the answer.
        show : widget, picture, text, list of these, or callable returning one, optional
            Shown below the answer.  A callable is called only after the commit.
        recognise : callable, optional
            Takes the guess and returns (name of a misconception, a sentence on what it leaves
            out), or ("", what to go through again).

        Returns
        -------
        Reveal
            The last line of its cell.

        Raises
        ------
        ValueError
            If the answer does not answer the question.
        """
        answer = self._checked(answer)
        return Reveal(self, lambda: self._verdict(answer, explain, recognise), show)

    def gate(self, show) -> "Reveal":
        """Keep a picture, a widget or a text hidden until the commit; it gives no answer.

        Parameters
        ----------
        show : widget, picture, text, list of these, or callable returning one

        Returns
        -------
        Reveal
        """
        return Reveal(self, None, show)

    def _verdict(self, answer, explain, recognise):
        self._mark_revealed(answer)
        head, why = f"Answer: {self.spell(answer)}", repr(card.Prose(explain))
        if self.locked:
            return Verdict([head, why], card.answer(head, explain))
        counted = self.commitment.counted
        mine = f"Your prediction: {self.spell(counted)}"
        if self.commitment.changes_after_answer:
            mine += f" (changed after the answer: {self.spell(self.commitment.present)})"
        name, said = recognise(counted) if recognise and counted != answer else ("", "")
        said = said if name else self._compared(counted, answer, said)
        drawn = self._drawn(counted, answer)
        shown = card.answer(head, explain, mine, said, drawn, counted == answer)
        return Verdict([mine, head, said, why], shown, name)

    def _compared(self, guess, answer, again):
        """Return how far a guess is from the answer, and what to go through again."""
        if guess == answer:
            return "Exactly right."
        if self.kind == "choice":
            return "Not this one."
        if self.kind == "order":
            right = sum(a == b for a, b in zip(guess, answer, strict=True))
            return f"{right} of {len(answer)} in the right place. {again}".strip()
        factor, off = card.error_factor(guess, answer) or math.inf, abs(guess - answer)
        side = "above the answer" if guess > answer else "below the answer"
        if self.unit == "%":
            told = f"{round(off, 1):g} point{'s' * (off != 1)} {side}."
        elif off == 1 and self.unit != "times":
            return f"Off by one. {again}".strip()
        elif factor < 2 and max(guess, answer) <= 20 and float(off).is_integer():
            told = f"{off:g} {side}."  # of a few things, a share says less than their number
        elif factor < 2:
            told = f"{round(100 * off / abs(answer)) or 'less than 1'} % {side}."
        elif math.isinf(factor):
            told = f"Off by {self.spell(off)}."
        else:
            told = f"{float(f'{factor:.2g}'):g} times "
            told += "the answer." if guess > answer else "too small."
        return f"Close: {told}" if factor <= 1.1 else f"{told} {again}".strip()

    def _drawn(self, guess, answer):
        """Return the guess drawn where the answer is: HTML."""
        if self.kind == "number":
            return card.number_strip(guess, answer, self.spell)
        rows = [(each, each == answer, each == guess) for each in self.options]
        if self.kind == "order":
            rows = [
                (item if item == mine else f"{item}, where you put {mine}", item == mine, False)
                for item, mine in zip(answer, guess, strict=True)
            ]
        return card.options(rows)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a reveal says: as lines of text, as HTML, and the misconception's name, if any."""

    lines: list
    html: str
    misconception: str = ""


class Reveal(ipywidgets.VBox):
    """What stays hidden until a prediction is committed; made by ``reveal`` and ``gate``."""

    def __init__(self, prediction, lines, show):
        self._prediction, self._lines, self._show = prediction, lines, show
        self._shown: list | None = None
        self._name = ""  # of the misconception that was recognised
        self._display_id = uuid.uuid4().hex
        self._displayed = False
        super().__init__()
        self._fill()
        prediction._followers.append(self._follow)

    def _fill(self):
        self.children = self._contents()
        self._page = ipywidgets.VBox(self.children)

    def _follow(self):
        """Put a new box in the place of the one that is shown.

        The page draws an output's views again when the output changes.  A box that is on the page
        would be filled while it is taken away; a new one is drawn once, whole, and a click on it
        counts.
        """
        self._fill()
        if self._displayed:
            display(self.bundle(), raw=True, display_id=self._display_id, update=True)

    def _contents(self):
        if not self._prediction.committed:
            self._text = "Commit your prediction above; the answer appears here."
            if not self._lines:
                self._text = "(Shown after your prediction.)"
            return [ipywidgets.HTML(card.paragraph(self._text))]
        verdict = self._lines() if self._lines else Verdict([], "")
        self._text = "\n".join(filter(None, verdict.lines))
        self._name = verdict.misconception
        if self._shown is None:
            self._shown = _materials(self._show)
        head = [ipywidgets.HTML(value=verdict.html)] if verdict.html else []
        return [*head, *(_as_widget(thing) for thing in self._shown)]

    def bundle(self) -> dict:
        """Return what the notebook stores of this output, by MIME type."""
        parts = list(map(_data_of, self._shown or ()))
        texts = [self._text, *(part.get("text/plain", "") for part in parts)]
        data = _stored(self._page._repr_mimebundle_(), "\n".join(filter(None, texts)))
        data.pop("text/html", None)
        if png := next((part["image/png"] for part in parts if "image/png" in part), None):
            data.setdefault("image/png", png)
        if self._name:
            data[RECOGNISED] = {"key": self._prediction.key, "misconception": self._name}
        return data

    def _ipython_display_(self, **_kwargs):
        self._displayed = True
        display(self.bundle(), raw=True, display_id=self._display_id)

    def __repr__(self):
        return f"Reveal({self._prediction.key!r})"


def _stored(bundle, text) -> dict:
    """Return a widget's MIME bundle with another text."""
    data = bundle[0] if isinstance(bundle, tuple) else bundle or {}
    return {**data, "text/plain": text}


def _singular(unit: str) -> str:
    """Return the unit of one: of "hops" a hop; "ns" and "GB/s" stay."""
    if len(unit) < 4 or not unit.isalpha():
        return unit
    return unit.removesuffix("es" if unit.endswith("sses") else "s")


def _checked_key(key):
    lesson, _, name = key.partition("/") if isinstance(key, str) else ("", "", "")
    if not lesson.isalnum() or not name or not name.replace("-", "").isalnum() or len(key) > 80:
        raise ValueError(
            f"{key!r} is not a key; a key is the lesson and a name, for example '02/where-it-stops'"
        )
    return key


def _checked_options(kind, options):
    options = [str(option) for option in options]
    if kind != "number" and not 2 <= len(set(options)) == len(options) <= 9:
        raise ValueError(f"a question takes two to nine different options; these are {options}")
    return options


def _finite_number(value):
    """Read a number from what people type: 1024, 1 024, 1,024, 1e3, 2^20, 0.5."""
    if isinstance(value, bool) or value is None:
        raise ValueError("Type a number first.")
    text = re.sub(r"[\s_]", "", str(value))  # spaces of any width
    if not text:
        raise ValueError("Type a number first.")
    whole, comma, rest = text.partition(",")
    if comma and all(len(group) == 3 for group in rest.split(".")[0].split(",")):
        text = whole + rest.replace(",", "")
    base, power, exponent = text.partition("^")
    try:
        result = float(base) ** float(exponent) if power else float(text)
    except (ValueError, OverflowError, ZeroDivisionError):
        result = math.nan
    if isinstance(result, complex) or not math.isfinite(result):
        raise ValueError(f"{str(value)[:40]!r} is not a number; try 1024, 2^10 or 1.5e3.")
    return result


def _spell_number(value):
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}" if abs(value) >= 10_000 else str(int(value))
    return f"{value:.6g}"


def _materials(show):
    """Call what is callable, and return a list of things to show; a failure is shown as text."""
    if callable(show) and not isinstance(show, ipywidgets.Widget):
        try:
            show = show()
        except Exception as error:
            # A message handler has no cell to raise in: the reader sees the sentence instead.
            show = f"{type(error).__name__}: {error}"
    if show is None:
        return []
    return list(show) if isinstance(show, list | tuple) else [show]


def _data_of(thing) -> dict:
    """Return what a notebook stores of a thing, by MIME type."""
    return {"text/plain": thing} if isinstance(thing, str) else format_display_data(thing)[0]


def _as_widget(thing):
    if isinstance(thing, ipywidgets.Widget):
        return thing
    data = _data_of(thing)
    if png := data.get("image/png"):
        return ipywidgets.Image(value=png if isinstance(png, bytes) else base64.b64decode(png))
    page = data.get("text/html") or card.paragraph(data.get("text/plain", ""))
    return ipywidgets.HTML(value=page)
