"""The questions of the lessons: what is asked, what is true, and how people go wrong.

A lesson asks with ``predict.ask("07/detour")`` and answers, in a later cell, with
``predict.reveal("07/detour", machine=trn1)``.  The values are bound, and the answer is computed,
when that cell runs; nothing that a later cell does to a name changes it.  No cell spells an answer.

A wrong guess is recognised by running the wrong model that leads to it on the question's own
numbers (:class:`Misconception`), and is told what that model leaves out.

The questions of each lesson are in a module of ``exercises/questions``, named like its notebook.
"""

import importlib
import importlib.util
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainium_edu.exercises import catalogue
from trainium_edu.exercises.lessons import number_of
from trainium_edu.widgets import prediction

__all__ = ["Answer", "Misconception", "Question", "ask", "bound", "gate", "of_lesson", "question",
           "reveal"]  # fmt: skip

#: The questions of this kernel, by key.
ASKED: dict[str, prediction.Prediction] = {}
_bound: dict[str, "Bound"] = {}


@dataclass(frozen=True, slots=True)
class Misconception:
    """A wrong model that people have, and what to say to them."""

    name: str  #: a few words, for the class's table: "row for partition"
    model: Callable[..., Any]  #: takes the question's values; returns what it would answer
    says: str  #: one or two sentences on what the model leaves out


@dataclass(frozen=True, slots=True)
class Answer:
    """What a question's function returns for its values."""

    value: Any  #: a number, one of the options, or all items in order
    explain: str = ""  #: the reason, in one to three sentences
    show: Callable[[Any], Any] | None = None
    """Takes the guess (None where the lesson is read along); returns what is shown below."""


@dataclass(frozen=True, slots=True, repr=False)
class Question:
    """One question of a lesson."""

    key: str
    text: str
    kind: str  #: "number", "choice" or "order"
    unit: str
    options: tuple[str, ...]
    above: float  #: a number that is not above it is no answer
    most: float  #: a number beyond it is no answer
    whole: bool
    wrong: tuple[Misconception, ...]
    function: Callable[..., Answer]

    def check(self, value: float) -> None:
        """Raise ValueError, with a sentence, for a number that cannot be an answer."""
        if self.whole and value != round(value):
            raise ValueError(f"A whole number is asked for{self._of_what}.")
        if not value > self.above:
            what = "not negative" if self.above < 0 else f"above {self.above:g}"
            raise ValueError(f"{value:g} is not a possible answer: the number is {what}.")
        if value > self.most:
            raise ValueError(f"{value:g} is not a possible answer: there are only {self.most:g}.")

    @property
    def _of_what(self):
        return f" ({self.unit})" if self.unit else ""

    def __repr__(self):
        return f"Question({self.key!r})"


@dataclass(frozen=True, slots=True)
class Bound:
    """A question with its values: the answer, and what each wrong model would say."""

    question: Question
    answer: Answer
    wrong: Mapping[str, Any]  #: misconception's name → what its model answers

    def recognise(self, guess):
        """Return (name, sentence) of the misconception that leads to a guess, or None."""
        for misconception in self.question.wrong:
            if _same(guess, self.wrong[misconception.name], self.question.whole):
                return misconception.name, misconception.says
        return None


def _same(guess, value, whole) -> bool:
    if isinstance(value, str) or isinstance(guess, str):
        return guess == value
    if isinstance(value, Sequence):
        return tuple(guess) == tuple(value)
    return guess == value if whole else math.isclose(guess, value, rel_tol=0.03)


def question(key: str, text: str, *, unit: str = "", options: Sequence[str] = (),
             ordered: bool = False, above: float = 0.0, most: float = math.inf,
             whole: bool = False, wrong: Sequence[Misconception] = ()):  # fmt: skip
    """Turn a function of a question's values into a :class:`Question`.

    Parameters
    ----------
    key : str
        ``"07/detour"``: the lesson, and a name that never changes.
    text : str
    unit : str
        Of a number.
    options : sequence of str
        Of a choice, or the items to put in order.
    ordered : bool
        The options are to be put in order.
    above : float
        A number has to be above it; -1 lets zero pass.
    most : float
        How many there are, where a number counts some of them.
    whole : bool
        Only whole numbers are answers.
    wrong : sequence of Misconception
        For a choice, one for each wrong option.

    Returns
    -------
    decorator

    Examples
    --------
    >>> @question("99/sides", "Sides of a square?", whole=True,
    ...           wrong=[Misconception("a cube's", lambda n: 2 * n, "A cube has faces.")])
    ... def sides(n):
    ...     return Answer(n, "One for each direction.")
    >>> sides.kind, sides.function(4).value
    ('number', 4)
    """
    kind = "order" if ordered else "choice" if options else "number"

    def decorate(function):
        return Question(key, text, kind, unit, tuple(options), above, most, whole,
                        tuple(wrong), function)  # fmt: skip

    return decorate


def of_lesson(lesson: str) -> tuple:
    """Return a lesson's questions in the order of its module.

    Parameters
    ----------
    lesson : str
        Its number, ``"07"``.

    Returns
    -------
    tuple of Question
        Empty for a lesson without.
    """
    books = {"00": "00_start_here", **catalogue.LESSONS}
    names = {number: stem.partition("_")[2] for number, stem in books.items()}
    number = number_of(lesson)
    name = f"{__package__}.questions.{names.get(number, '')}"
    if number not in names or importlib.util.find_spec(name) is None:
        return ()
    return tuple(v for v in vars(importlib.import_module(name)).values() if isinstance(v, Question))


def _find(key: str) -> Question:
    mine = of_lesson(number_of(str(key)))
    found = next((q for q in mine if q.key == key), None)
    if found is None:
        known = ", ".join(q.key for q in mine) or "none"
        raise ValueError(f"no question {key!r}; questions of this lesson: {known}")
    return found


def ask(key: str) -> prediction.Prediction:
    """Ask a question; the last line of its cell.

    Parameters
    ----------
    key : str
        ``"07/detour"``.
    """
    it = _find(key)
    if it.kind == "number":
        asked = prediction.number(key, it.text, unit=it.unit, domain=it.check)
    elif it.kind == "order":
        asked = prediction.order(key, it.text, it.options)
    else:
        asked = prediction.choice(key, it.text, it.options)
    ASKED[key] = asked
    return asked


def _of(key):
    return ASKED[key] if key in ASKED else ask(key)


def reveal(key: str, /, **values) -> prediction.Reveal:
    """Show the answer, once there is a prediction; the last line of its cell.

    Parameters
    ----------
    key : str
    **values
        What the question's function takes; bound now, whatever their names mean later.

    Returns
    -------
    Reveal
    """
    it = _find(key)
    answer = it.function(**values)
    here = Bound(it, answer, {m.name: m.model(**values) for m in it.wrong})
    _bound[key] = here
    asked, show = _of(key), answer.show
    return asked.reveal(
        answer.value, answer.explain, recognise=here.recognise,
        show=None if show is None else lambda: show(asked.commitment.counted or None),
    )  # fmt: skip


def bound(key: str) -> Bound:
    """Return a question as its reveal's cell bound it."""
    return _bound[key]


def gate(key: str, show) -> prediction.Reveal:
    """Keep a picture, a widget or a text hidden until a question's prediction is committed.

    Parameters
    ----------
    key : str
    show : widget, figure, text, list of these, or callable returning one
    """
    return _of(key).gate(show)
