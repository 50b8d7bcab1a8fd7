"""What an exercise is, and what it says to an answer.

A lesson's module (``exercises/stochastic_rounding.py`` for ``02_stochastic_rounding``) writes each
exercise as one plain function decorated with :func:`exercise`: it takes the learner's answer and
the exercise's numbers, returns when the answer is right, and calls :func:`reject` with the name
of the misconception and the feedback that fits it when it is not.  The same function serves the
learner at once (public numbers, hints) and the grader (hidden numbers, points).

Decisions: a pass says "public checks passed", never "all", because the grader tries other
numbers.  Points are all or nothing per exercise, as nbgrader's test cells are.  Numbers are hashes
of (exercise, student id, name), not draws from a generator, so they are the same in every
version of Python and NumPy.
"""

import _thread
import contextlib
import copy
import hashlib
import re
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from IPython import get_ipython

from trainium_edu import aside, settings
from trainium_edu.exercises import afterwards, learner
from trainium_edu.exercises.answers import Printed, PrintedTooMuch, canonical, line_of
from trainium_edu.exercises.cells import key_of, text_of
from trainium_edu.exercises.judge import Ended, NotAttempted, Rejected, Status, reject, short
from trainium_edu.exercises.lessons import cells_of, number_of
from trainium_edu.files import tables
from trainium_edu.widgets.card import part

__all__ = [
    "SOLUTION_SEEN",
    "Draw",
    "Exercise",
    "Grade",
    "Numbers",
    "Result",
    "Said",
    "Status",
    "exercise",
    "words_of",
]

#: Under this type a check's output says that its solution was seen before it passed.
SOLUTION_SEEN = "application/vnd.trainium-edu.solution+json"

#: What an answer may print in one check, before it is stopped.
PRINT_AT_MOST_BYTES = 100_000
HIDDEN_ROUNDS = 3
#: The slowest honest answer, a kernel of lesson 12, takes 11 where it is slow.
CHECK_AT_MOST_SECONDS = 20
_BEFORE = "before the pass"
_CARD = "trainium_edu.exercises.card"  #: which a grader never needs


class Draw:
    """Numbers that depend on an exercise and a student id alone.

    Parameters
    ----------
    text : str
        What is hashed, besides each number's name.

    Examples
    --------
    >>> draw = Draw("02/spacing|")
    >>> draw.integer("exponent", 1, 5) == Draw("02/spacing|").integer("exponent", 1, 5)
    True
    """

    def __init__(self, text: str):
        self._text = text

    def seed(self, name: str) -> int:
        """Return 64 bits, for a generator of your own."""
        return int.from_bytes(hashlib.sha256(f"{self._text}|{name}".encode()).digest()[:8])

    def integer(self, name: str, low: int, high: int) -> int:
        """Return a whole number from ``low`` to ``high``, both included."""
        return low + self.seed(name) % (high - low + 1)

    def choice(self, name: str, options: Sequence):
        """Return one of the options."""
        return options[self.seed(name) % len(options)]

    def shuffled(self, name: str, items: Sequence) -> list:
        """Return the items in another order."""
        return sorted(items, key=lambda item: self.seed(f"{name}/{list(items).index(item)}"))


class Numbers(dict):
    """The numbers of one exercise for one student: ``numbers.rows`` or ``numbers["rows"]``."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __repr__(self):
        return ", ".join(f"{name} = {value!r}" for name, value in self.items())


@dataclass(frozen=True, slots=True)
class Said:
    """A hint, a solution or a challenge, as the learner asked for it."""

    head: str
    text: str
    code: str = ""

    def __str__(self):
        return "\n".join(text for text in (f"{self.head}: {self.text}", self.code) if text)

    __repr__ = __str__

    def _repr_html_(self):
        return part(self.head, [self.text] if self.text else [], self.code)


def _say(head: str, code: str = "", **values) -> Said:
    return Said(head, words_of(__file__)["said"][head].format(**values), code)


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a check, as the learner reads it."""

    exercise: "Exercise" = field(repr=False, compare=False)
    status: Status
    feedback: str = ""
    hint: str = ""
    misconception: str = ""
    note: str = ""  #: why progress was not kept, if so
    figures: str = ""  #: what was measured of a right answer
    why: str = ""  #: what stands behind a right answer
    picture: Any = ""  #: of what is asked, or of what is wrong

    @property
    def title(self) -> str:
        """The exercise's title."""
        return self.exercise.title

    def _lines(self):
        outcome, *_ = words_of(__file__)["card"]["outcomes"][self.status]
        head = f"{self.title}{'' if self.title.endswith('?') else ':'} {outcome}"
        return head, *filter(None, (self.feedback, self.figures, self.why, self.hint, self.note))

    def __str__(self):
        return "\n".join(filter(None, (*self._lines(), str(self.picture))))

    __repr__ = __str__

    def _repr_html_(self):
        _, mark, colour = words_of(__file__)["card"]["outcomes"][self.status]
        head, *rest = self._lines()
        drawn = self.picture._repr_html_() if self.picture else ""
        return part(f"{mark} {head}", rest, colour=colour) + drawn

    def _repr_mimebundle_(self, **_):
        """Return text and HTML; for a learner the card with its buttons too."""
        data = {"text/plain": str(self), "text/html": self._repr_html_()}
        if settings.lesson().quiet:
            return data
        offers = self.exercise.offers
        card = aside.load(_CARD).Card(data["text/html"], self.title, lambda: offers(self.status))
        data = {**card._repr_mimebundle_(), **data}
        seen = learner.solution_seen(self.exercise.key)
        return {**data, SOLUTION_SEEN: {"key": self.exercise.key}} if seen == _BEFORE else data


@dataclass(frozen=True, slots=True)
class Grade:
    """The points of one exercise, and why."""

    points: int
    of: int
    status: str  #: "full", "wrong", "not attempted", "not checked", or what stopped it
    reason: str = ""
    misconception: str = ""
    entry: Mapping = field(default_factory=dict)  #: a leaderboard's row of it, but for whose it is


@dataclass(frozen=True, slots=True, repr=False)
class Exercise:
    """One exercise: call it with an answer to check it, or let the grader :meth:`grade` it."""

    key: str  #: lesson and name, "02/spacing": the same in notebook, grader and nbgrader
    title: str
    answer: str  #: the name to which the learner's cell binds the answer
    points: int
    tests: str  #: what it tests, in half a sentence, for instructors
    hints: Sequence[str]  #: from a nudge to just short of the solution
    draw: Callable[[Draw], Mapping]
    function: Callable  #: function(answer, numbers), the check itself
    picture: Callable  #: of what is asked, from its numbers, with a text and as HTML
    literal: bool = False  #: a value for one student's numbers is asked for, not a function
    wrong: Mapping[str, str] = field(default_factory=dict)  #: feedback by misconception

    def __post_init__(self):
        if not re.fullmatch(r"\d\d[a-z]?/[a-z0-9]+(-[a-z0-9]+)*", self.key):
            said = "is not an exercise key; a key looks like '02/spacing'"
            raise ValueError(f"{self.key!r} {said}")
        if self.points < 1 or len(self.hints) < 2 or not self.answer.isidentifier():
            said = "needs points, two or more hints, and a name for its answer"
            raise ValueError(f"{self.key} {said}")

    def numbers(self, student: str = "") -> Numbers:
        """Return this student's numbers.

        Parameters
        ----------
        student : str
            A student id; empty for the public example.

        Returns
        -------
        Numbers
        """
        return Numbers(self.draw(Draw(f"{self.key}|{_student(student)}")))

    def __call__(self, answer, student: str = "") -> Result:
        """Check an answer on public numbers; say what is wrong and give the next hint.

        Parameters
        ----------
        answer : object
        student : str

        Returns
        -------
        Result
        """
        student = _student(student)
        numbers = self.numbers(student)
        ended, measured = _examine(self, answer, numbers, CHECK_AT_MOST_SECONDS)
        if ended is None:
            note = learner.record(self.key, Status.PASSED)
            shown, why = getattr(measured, "picture", ""), afterwards.of(self).why
            more = "The grader tries other numbers." if not self.literal else ""
            if self.literal and not student:
                more = "These are the example numbers; with your student id you get your own."
            figures = measured() if measured else ""
            return Result(self, Status.PASSED, more, "", "", note, figures, why, shown)
        note = hint = ""
        if ended.status is Status.WRONG:
            note = learner.record(self.key, Status.WRONG, _fingerprint(answer))
            hint = str(self._hint(self._hints_seen()))
        shown = ended.picture or self.picture(numbers)
        told = ended.feedback, hint, ended.misconception, note
        return Result(self, ended.status, *told, picture=shown)

    def _hint(self, step):
        return Said(f"Hint {step} of {len(self.hints)}", self.hints[step - 1])

    def _hints_seen(self) -> int:
        """Return the place on the ladder: one step per wrong answer, or as many as asked for."""
        wrong = len(learner.since_pass(self.key, Status.WRONG))
        asked = [int(step) for step in learner.since_pass(self.key, "hint") if step.isdecimal()]
        return min(max([wrong, *asked]), len(self.hints))

    def hint(self) -> Said:
        """Return the next hint, one step at a time, before the first attempt too."""
        step = min(self._hints_seen() + 1, len(self.hints))
        learner.record(self.key, "hint", str(step))
        return self._hint(step)

    def solution(self) -> Said:
        """Return a solution, after a pass, or when an answer was tried and all hints are read.

        The learner's progress keeps that it was seen.
        """
        told = afterwards.of(self).solution
        if not told:
            return _say("No solution")
        if not self._may_see_solution():
            return _say("Not yet", count=len(self.hints))
        seen = "after the pass" if learner.has_passed(self.key) else _BEFORE
        learner.record(self.key, "solution", seen)
        return _say("A solution", told)

    def _may_see_solution(self):
        tried = learner.since_pass(self.key, Status.WRONG)
        return learner.has_passed(self.key) or (tried and self._hints_seen() == len(self.hints))

    def starter(self) -> Said:
        """Return what its cell held at first, to begin again from."""
        try:
            cells = cells_of(number_of(self.key))
            starter, check = (
                text_of(c) for c in cells if self.key in (key_of(c), key_of(c, "check"))
            )
        except (OSError, ValueError):
            return _say("No starter")
        return _say("The starter", starter, check=check.partition("(")[0])

    def reset(self):
        """Put the starter back into the cell in which this runs; outside a notebook, show it."""
        shown, shell = self.starter(), get_ipython()
        if not (shown.code and shell):
            return shown
        return shell.set_next_input(shown.code, replace=True)

    def challenge(self) -> Said:
        """Return what to try after a pass."""
        return Said("Next challenge", afterwards.of(self).challenge or "none is installed here.")

    def offers(self, status: Status):
        """Return what a check's card offers now: pairs (text of a button or "", its function)."""
        told, passed = afterwards.of(self), status is Status.PASSED
        seen, count = self._hints_seen(), len(self.hints)
        solution = told.solution and self._may_see_solution()
        return (
            ("" if passed or seen == count else f"Hint {seen + 1} of {count}", self.hint),
            ("Show a solution" if solution else "", self.solution),
            ("Show the starter" if status is Status.WRONG else "", self.starter),
            ("Next challenge" if told.challenge and passed else "", self.challenge),
        )

    def grade(self, answer, student: str = "", salt: str = "") -> Grade:
        """Give points: public numbers first, then hidden ones.

        Parameters
        ----------
        answer : object
            A value, or a callable; calls may go to another process.
        student : str
            The id that the submission states.
        salt : str
            The instructor's own word; it changes all hidden numbers.

        Returns
        -------
        Grade
        """
        student = _student(student)
        rounds = [self.numbers(student)]
        if not self.literal:
            draws = (Draw(f"{self.key}|hidden|{salt}|{i}") for i in range(HIDDEN_ROUNDS))
            rounds += [Numbers(self.draw(draw)) for draw in draws]
        for i, numbers in enumerate(rounds):
            ended, measured = _examine(self, answer, numbers)
            if ended is not None:
                where = "hidden check: " if i and ended.status is Status.WRONG else ""
                told = where + ended.feedback, ended.misconception
                return Grade(0, self.points, ended.status.value, *told)
        shared = self.literal and not student  # a course without ids
        reason = "no student id, so these numbers are everyone's" if shared else ""
        entry = measured.entry() if hasattr(measured, "entry") else {}
        return Grade(self.points, self.points, "full", reason, entry=entry)

    def __repr__(self):
        return f"Exercise({self.key!r})"


def exercise(
    key: str,
    *,
    numbers: Callable[[Draw], Mapping] | Mapping | None = None,
    picture: Callable[[Numbers], Any] = lambda numbers: "",
    **words: Any,
):
    """Turn a check function into an :class:`Exercise`.

    Parameters
    ----------
    key : str
        ``"02/spacing"``: the lesson's number, and a name that never changes.
    numbers : callable or mapping, optional
        Takes a :class:`Draw`, returns a mapping; by default one ``seed``.  Or, as well among the
        exercise's words, what each number is chosen from by its name: a list (or a table with it
        as ``of``), or a table of ``low``, ``high`` and ``step``; of a text, a seed of 32 bits by
        that name.  A table may have another ``name``.  A table of ``rows`` gives a list of tuples,
        so many ``times``, where "{}" in a name is the tuple's place, and then those that are
        ``also`` there; any other table, a dict.
    picture : callable, optional
        Takes the numbers, returns what shows the task, with a text and as HTML.
    **words
        The exercise's words; the table of that name in the TOML file beside the function's module
        unless given.  ``title``; ``answer``: the name that the learner's cell binds; ``points``;
        ``tests``: what it tests, in half a sentence, for the instructor's table; ``hints``: at
        least two, the last of which stops short of the solution; ``wrong``: the feedback of each
        misconception that :func:`reject`, :func:`compare` or :func:`recognise` names without one,
        where ``{name}`` stands for one of the numbers, or of the values given to :func:`reject`;
        ``literal``: true where the answer is a value for the student's own numbers instead of a
        function.

    Returns
    -------
    decorator

    Raises
    ------
    ValueError
        If the key, the points, the hints or the answer's name are not valid.

    Examples
    --------
    >>> @exercise("99/double", title="Double it", answer="double", points=1, tests="doubling",
    ...           hints=("What is x + x?", "Multiply by two."),
    ...           wrong={"squares": "That is the square; the double of 3 is 6."},
    ...           numbers=lambda draw: {"x": draw.integer("x", 2, 9)})
    ... def double(answer, numbers):
    ...     if answer(numbers.x) == numbers.x**2:
    ...         reject("squares")
    ...     if answer(numbers.x) != 2 * numbers.x:
    ...         reject("other", "Not the double.")
    >>> double(lambda x: x + x).status
    <Status.PASSED: 'passed'>
    """

    def decorate(function):
        table = dict(words or words_of(function.__code__.co_filename)[key.partition("/")[2]])
        drawn = numbers or table.pop("numbers", _one_seed)
        if isinstance(drawn, Mapping):
            drawn = partial(_drawn, drawn)
        made = Exercise(key=key, function=function, draw=drawn, picture=picture, **table)
        _ANSWERS.add(made.answer)
        if (shell := get_ipython()) and not settings.lesson().quiet:
            shell.set_custom_exc((NameError,), _say_what_to_run)
        return made

    return decorate


def _one_seed(draw: Draw) -> dict:
    return {"seed": draw.seed("seed")}


def _drawn(table: Mapping, draw: Draw) -> dict:
    """Return the numbers that a table of an exercise's words describes, by name."""
    return {name: _number(some, draw, name) for name, some in table.items()}


def _number(some, draw: Draw, name: str = "", turn: int = 0):
    if isinstance(some, str):
        return draw.seed(some) % 2**32
    if not isinstance(some, Mapping):
        return draw.choice(name, some)
    name = some.get("name", name).format(turn)
    if "of" in some:
        return draw.choice(name, some["of"])
    if "low" in some:
        return draw.choice(name, range(some["low"], some["high"] + 1, some.get("step", 1)))
    if "rows" in some:
        turns = enumerate(some["rows"] * some.get("times", 1))
        rows = [tuple(_number(part, draw, turn=i) for part in row) for i, row in turns]
        return rows + [tuple(row) for row in some.get("also", ())]
    return _drawn(some, draw)


_ANSWERS = {"student", "check"}  #: names that a check's cell needs


def _say_what_to_run(shell, kind, error, trace, tb_offset=None):
    """Print that a check's cell ran before the cell that it checks."""
    if error.name in _ANSWERS:
        print(f"There is no `{error.name}` yet: run the cells above this one first.")
    else:
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)


@cache
def words_of(module: str) -> dict:
    """Return the tables of the TOML file beside a lesson's module, named by its path."""
    return tables(module)


@cache
def _shared_words() -> dict[str, str]:
    """Return the sentences of checks that exercises share, by misconception."""
    files = (Path(__file__).with_stem(stem) for stem in ("exercise", "judge", "asked", "cpp"))
    parts = (words_of(str(file)) for file in files)
    return {name: says for words in parts for name, says in words["shared"]["wrong"].items()}


def _examine(exercise, answer, numbers, seconds: float | None = None):
    """Run a check, for `seconds` at most; return how it ended, None for a pass, and figures."""
    ended: Ended
    try:
        with _at_most(seconds):
            return None, _checked(exercise, answer, numbers)
    except Ended as error:
        ended = error
    except _TakesTooLong:
        ended = Rejected("does not end", values={"seconds": seconds})
    except Exception as error:
        # The check met a type or a shape that its author did not foresee.
        said = f"{type(error).__name__}: {short(error, 200)}"
        ended = Rejected("unusable answer", values={"error": said})
    if isinstance(ended, Rejected) and not ended.feedback:
        words = (_shared_words() | exercise.wrong)[ended.misconception]
        ended.feedback = words.format_map({**numbers, **ended.values})
    return ended, None


def _checked(exercise, answer, numbers):
    if not callable(answer):
        answer = copy.deepcopy(canonical(answer))
    if _is_blank(answer):
        raise NotAttempted
    if callable(answer) and exercise.literal:
        reject("a function", name=exercise.answer)
    if not callable(answer) and not exercise.literal:
        reject("not a function", name=exercise.answer, answer=short(answer))
    return exercise.function(_Watched(answer) if callable(answer) else answer, numbers)


class _Watched:
    """The learner's function, with its prints counted and its failures turned into feedback."""

    def __init__(self, function):
        self._function = function
        self._calls_answered = 0

    def __call__(self, *args, **kwargs):
        given = ", ".join([short(a) for a in args] + [f"{k}={short(v)}" for k, v in kwargs.items()])
        name = getattr(self._function, "__name__", "the function")
        call = f"{name}({given})"
        args, kwargs = copy.deepcopy(args), copy.deepcopy(kwargs)
        try:
            with contextlib.redirect_stdout(Printed(sys.stdout, PRINT_AT_MOST_BYTES)):
                result = canonical(self._function(*args, **kwargs))
        except PrintedTooMuch:
            reject("prints too much", call=call, most=PRINT_AT_MOST_BYTES // 1000)
        except NotImplementedError:
            raise NotAttempted from None
        except Ended:
            raise
        except SystemExit:
            reject("exits", call=call)
        except RecursionError:
            reject("endless recursion", call=call)
        except Exception as error:
            where = f' in the line "{line}"' if (line := line_of(error)) else ""
            said = f"{type(error).__name__}: {short(error, 200)}{where}"
            reject("raises", call=call, error=said)
        if result is None:
            if not self._calls_answered:
                raise NotAttempted(f"{name} returns nothing. If it is written, return its result.")
            reject("returns nothing", call=call)
        self._calls_answered += 1
        return result


class _TakesTooLong(BaseException):
    """Raised inside an answer that does not end."""


@contextlib.contextmanager
def _at_most(seconds):
    """Raise _TakesTooLong in the body after `seconds`, wherever in Python it is.

    Seconds of this process's work, so that a busy machine stops nobody; one that sleeps is stopped
    after three times as long.  With None, in another thread than the main one, which no signal
    reaches, and in a browser there is no limit.
    """
    has_limit = seconds is not None and aside.HAS_THREADS
    if not has_limit or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_):
        raise _TakesTooLong

    with contextlib.ExitStack() as undo:
        if hasattr(signal, "setitimer"):
            worked = signal.ITIMER_PROF, signal.SIGPROF, seconds
            passed = signal.ITIMER_REAL, signal.SIGALRM, 3 * seconds
            for timer, number, most in (worked, passed):
                undo.callback(signal.signal, number, signal.signal(number, stop))
                undo.callback(signal.setitimer, timer, 0)
                signal.setitimer(timer, most)
        else:  # Windows
            undo.callback(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, stop))
            alarm = threading.Timer(3 * seconds, _thread.interrupt_main)
            undo.callback(alarm.cancel)
            alarm.start()
        yield


def _is_blank(answer) -> bool:
    """Return whether an answer is still a starter's: None, empty, or a container of only those."""
    if isinstance(answer, Mapping):
        answer = list(answer.values())
    if isinstance(answer, list | tuple | set | frozenset):
        return all(map(_is_blank, answer))
    return answer is None or (isinstance(answer, str) and not answer.strip())


def _student(student) -> str:
    """Return an id in one spelling: ' AB12 ' and 'ab12' are the same student."""
    if student is None or student is Ellipsis:
        return ""
    if not isinstance(student, str | int) or isinstance(student, bool) or len(str(student)) > 200:
        raise TypeError("a student id is a short text, for example 'ab123'")
    return str(student).strip().casefold()


def _fingerprint(answer) -> str:
    """Return a hash of an answer, so that re-running a cell uses up no hint."""
    code = getattr(getattr(answer, "__wrapped__", answer), "__code__", None)  # also a kernel's
    text = f"{code.co_code}{code.co_consts}{code.co_names}" if code else short(answer, 2000)
    # Nested functions are among the constants, with their address.
    return hashlib.sha256(
        re.sub(r"0x[0-9a-f]+", "", text).encode(errors="backslashreplace")
    ).hexdigest()[:16]
