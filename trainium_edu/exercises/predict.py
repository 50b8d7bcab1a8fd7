"""The questions of the lessons: what is asked, what is true, and how people go wrong.

A lesson asks with ``predict.ask("07/detour")`` and answers, in a later cell, with
``predict.reveal("07/detour", machine=trn1)``.  The values are bound, and the answer is computed,
when that cell runs; nothing that a later cell does to a name changes it.  No cell spells an answer.

A wrong guess is recognised because the question's function also computes what each wrong model
answers (:class:`Misconception`); the learner reads what that model leaves out.

The questions of each lesson are two files of ``exercises/questions``, named like its notebook: a
module computes the numbers, a TOML file holds the words.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from typing import Any

from trainium_edu.exercises import catalogue
from trainium_edu.exercises.exercise import words_of
from trainium_edu.exercises.lessons import number_of
from trainium_edu.exercises.refusals import sentence
from trainium_edu.specs import SOURCES, TRN1
from trainium_edu.widgets import prediction
from trainium_edu.widgets.card import Prose

__all__ = ["Answer", "Question", "ask", "gate", "of_lesson", "question", "reveal", "words_of"]

#: The questions of this kernel, by key.
ASKED: dict[str, prediction.Prediction] = {}


@dataclass(frozen=True, slots=True)
class Misconception:
    """A wrong model that people have, and the sentence for them; a lesson's data file holds it."""

    name: str  #: a few words, for the class's table: "row for partition"
    says: str  #: one or two sentences on what the model leaves out
    option: str | float = ""  #: the option or number it leads to, where no values are needed for it


@dataclass(frozen=True, slots=True)
class Answer:
    """The numbers of a question: what its function returns for the lesson's values."""

    value: Any  #: a number, one of the options or its place among them, or all items in order
    wrong: Mapping[str, Any] = field(default_factory=dict)
    """What each wrong model answers, by misconception; those that need no values have their option
    or number in the data file."""
    terms: Mapping[str, Any] = field(default_factory=dict)  #: values that `explain` names
    show: Callable[[Any], Any] | None = None
    """Takes the guess (None where the lesson is read along); returns what is shown below."""


@dataclass(frozen=True, slots=True, repr=False)
class Question:
    """One question of a lesson; its fields are the keys of the data file, and two more."""

    key: str
    function: Callable[..., Answer]
    ask: str
    explain: str = ""  #: the reason, in one to three sentences; ``{name}`` stands for a term
    unit: str = ""
    options: tuple[str, ...] = ()
    ordered: bool = False  #: the options are to be put in order
    above: float = 0.0  #: a number that is not above it is no answer
    most: float = math.inf  #: a number beyond it is no answer
    whole: bool = False
    again: str = ""  #: for a guess that no wrong model makes: which step to go through again
    axis: float = 0.0  #: where a number may be dragged to, from 0; 0 where it is only typed
    below: tuple = ()  #: paragraphs below the answer, and numbers: how much is shown there
    wrong: tuple[Misconception, ...] = ()

    @property
    def kind(self) -> str:
        """What is asked for: "number", "choice" or "order"."""
        if self.ordered:
            return "order"
        return "choice" if self.options else "number"

    def check(self, value: float) -> None:
        """Raise ValueError, with a sentence, for a number that cannot be an answer."""
        if self.whole and value != round(value):
            unit = f" ({self.unit})" if self.unit else ""
            raise ValueError(f"A whole number is asked for{unit}.")
        if not value > self.above:
            what = "not negative" if self.above < 0 else f"above {self.above:g}"
            raise ValueError(f"{value:g} is not a possible answer: the number is {what}.")
        if value > self.most:
            raise ValueError(f"{value:g} is not a possible answer: there are only {self.most:g}.")

    def bind(self, **values) -> "Bound":
        """Return the question with a lesson's values: the answer and what wrong models answer.

        Raises
        ------
        KeyError
            If a wrong model of the data file has no value, or a value has no sentence there.
        """
        answer = self.function(**values)
        if self.kind == "choice":
            models = {name: self._option(said) for name, said in answer.wrong.items()}
            answer = replace(answer, value=self._option(answer.value), wrong=models)
        fixed = {m.name: m.option for m in self.wrong if m.option != ""}
        if {m.name for m in self.wrong} - set(fixed) != set(answer.wrong):
            named = {"models": [m.name for m in self.wrong], "values": list(answer.wrong)}
            raise KeyError(sentence("predict.wrong_models", key=self.key, **named))
        names = {"SOURCES": SOURCES, "TRN1": TRN1, **values, **answer.terms}
        says = {"": self.again, **{m.name: m.says for m in self.wrong}}
        told = {name: words.format(**names) for name, words in says.items()}
        return Bound(self, answer, fixed | dict(answer.wrong), told, names)

    def _option(self, said):
        return self.options[said] if isinstance(said, int) else said

    def __repr__(self):
        return f"Question({self.key!r})"


@dataclass(frozen=True, slots=True)
class Bound:
    """A question with its values: the answer, and what each wrong model would say."""

    question: Question
    answer: Answer
    wrong: Mapping[str, Any]  #: misconception's name → what its model answers
    says: Mapping[str, str]  #: its name → the sentence; under "" what to go through again
    names: Mapping[str, Any]  #: what a text's ``{name}`` stands for

    @property
    def explain(self) -> str:
        """The reason, with its numbers."""
        return self.question.explain.format(**self.names)

    def recognise(self, guess) -> tuple[str, str]:
        """Return name and sentence of the nearest misconception; else "", and what to check."""
        near = [name for name, value in self.wrong.items() if self._same(guess, value)]
        if len(near) > 1:
            near.sort(key=lambda name: abs(self.wrong[name] - guess))
        name = near[0] if near else ""
        return name, self.says[name]

    def show(self, guess) -> list:
        """Return what is shown below the answer: what the function shows, among paragraphs."""
        shown = self.answer.show(guess) if self.answer.show else []
        shown, below = shown if isinstance(shown, list) else [shown], self.question.below
        rest, placed = iter(shown), []
        if all(isinstance(part, str) for part in below):
            below = (len(shown), *below)
        for is_prose, parts in groupby(below, lambda part: isinstance(part, str)):
            if is_prose:
                placed.append(Prose(*(text.format(**self.names) for text in parts)))
            else:
                placed += islice(rest, sum(parts))
        return [*placed, *rest]

    def _same(self, guess, value) -> bool:
        if self.question.whole or self.question.kind != "number":
            return guess == value
        return math.isclose(guess, value, rel_tol=0.03)


def question(key: str, words: Mapping[str, Any] | None = None):
    """Turn a function of a lesson's values into a :class:`Question`.

    Parameters
    ----------
    key : str
        ``"07/detour"``: the lesson, and a name that never changes.
    words : mapping, optional
        Its words; the table of that name in the TOML file beside the function's module unless
        given.  ``ask``: the question.  ``explain``: the reason.  ``wrong``: tables of ``name``,
        ``says`` and, where the function computes no value for it, ``option``.  ``again``: what to
        go through after another guess.  ``below``: paragraphs below the answer and below all that
        is shown; with numbers among them, each is how much of it stands there.  In all but
        ``ask``, ``{name}`` or ``{name:.1f}`` stands for a term of the answer or one of the lesson's
        values, and
        ``{SOURCES[name].cited}`` and ``{TRN1...}`` for facts.  For a number:
        ``unit``, ``whole`` (no fractions), ``above`` (0 unless given; -1 lets zero pass) and
        ``most``, and ``axis``, the end of an axis on which it may be dragged.  For a choice:
        ``options``, ``ordered`` if they are to be put in order.

    Returns
    -------
    decorator

    Raises
    ------
    KeyError, TypeError
        If the file has no such table, or the table lacks ``ask`` or has a key that is not listed.

    Examples
    --------
    >>> @question("99/sides", {"ask": "Sides of a square?", "whole": True, "explain": "{n} edges.",
    ...           "wrong": [{"name": "a cube's", "says": "A cube has faces."}]})
    ... def sides(n):
    ...     return Answer(n, wrong={"a cube's": 2 * n}, terms={"n": n})
    >>> sides.kind, sides.function(4).value
    ('number', 4)
    """

    def decorate(function):
        table = words or words_of(function.__code__.co_filename)[key.partition("/")[2]]
        models = tuple(Misconception(**row) for row in table.get("wrong", ()))
        return Question(
            key, function, **{**table, "options": tuple(table.get("options", ())), "wrong": models}
        )

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
    return catalogue.listed(lesson, Question, f"{__package__}.questions")


def _find(key: str) -> Question:
    mine = of_lesson(number_of(str(key)))
    found = next((q for q in mine if q.key == key), None)
    if found is None:
        known = ", ".join(q.key for q in mine) or "none"
        raise ValueError(f"no question {key!r}; questions of this lesson: {known}")
    return found


def ask(key: str, known: Mapping | None = None) -> prediction.Prediction:
    """Ask a question; the last line of its cell.

    Parameters
    ----------
    key : str
        ``"07/detour"``.
    known : dict of str to float, optional
        Bars above a number that may be dragged.
    """
    it = _find(key)
    axis = {"most": it.axis, "known": known or {}} if it.axis else None
    about = {"unit": it.unit, "options": it.options, "domain": it.check, "axis": axis}
    ASKED[key] = prediction.Prediction(key, it.kind, it.ask, **about)
    return ASKED[key]


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
    bound, asked = _find(key).bind(**values), _of(key)

    def show():
        return bound.show(asked.commitment.counted or None)

    answer, recognise = bound.answer.value, bound.recognise
    return asked.reveal(answer, bound.explain, recognise=recognise, show=show)


def gate(key: str, show) -> prediction.Reveal:
    """Keep a picture, a widget or a text hidden until a question's prediction is committed.

    Parameters
    ----------
    key : str
    show : widget, picture, text, list of these, or callable returning one
    """
    return _of(key).gate(show)
