"""Public-domain books that ship with the project, as samples for two tasks.

*Letters*: windows of Alice, in which a decoder guesses each next letter.  *Authors*: passages of
three books, and an encoder says who wrote each; it sees only words that all three books use,
so that no Alice and no Satan gives the author away.  Each book is cut into stretches, every fifth
of which is kept for the test: no test passage overlaps one that was trained on.

Where the books are from: the copies in the tests of the source package ``brotli`` 1.2.1 on PyPI,
which are those of the Canterbury corpus of compression tests.  Taken out of them: titles, chapter
headings and rows of asterisks; of the play, all but what is spoken; of the poem, the introduction
of its release as an electronic text, and all after Book IV.  Authors are dead for over a century
and the books were printed before 1900, so that their copyright has ended wherever it lasts up to a
hundred years after death, and in the United States.
"""

import functools
import re
from collections import Counter
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from trainium_edu.specs.signatures import checked

__all__ = ["BOOKS", "CLS", "UNKNOWN", "Book", "authors", "letters", "read", "vocabulary"]


@dataclass(frozen=True, slots=True)
class Book:
    """A book that ships with the project."""

    name: str  #: name of its file
    title: str
    author: str
    printed: int  #: year
    died: int  #: year of the author's death


BOOKS = (
    Book("alice", "Alice's Adventures in Wonderland", "Lewis Carroll", 1865, 1898),
    Book("as_you_like_it", "As You Like It", "William Shakespeare", 1623, 1616),
    Book("paradise_lost", "Paradise Lost, Books I to IV", "John Milton", 1667, 1674),
)
CLS = 0  #: the word before each passage, from whose place an encoder reads its answer
UNKNOWN = 1  #: the word that stands for all others
LENGTH = 64  #: letters in a window
WORDS = 32  #: words in a passage
_STRETCH = 10  #: windows, or passages, that are kept together
_EVERY = 5  #: the how many-th stretch is kept for the test


@functools.cache
def read(name: str) -> str:
    """Return the text of a book by its file's name.

    Examples
    --------
    >>> read("alice")[:31]
    'Alice was beginning to get very'
    """
    names = [book.name for book in BOOKS]
    if name not in names:
        raise ValueError(f"there is no book {name!r}; use {', '.join(names)}")
    packed = files("trainium_edu.training").joinpath("texts", f"{name}.txt.xz").read_bytes()
    import lzma  # here, because a browser's Python may lack it

    return lzma.decompress(packed).decode("ascii")


def _split(sequence, length: int, step: int, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Cut windows of `length` out of stretches, `step` apart; return those to train and to test."""
    stretch = length * _STRETCH
    parts: tuple[list, list] = [], []
    for i, begin in enumerate(range(0, len(sequence) - length + 1, stretch)):
        held_out = i % _EVERY == _EVERY - 1
        here = sequence[begin : begin + stretch]
        ends = range(length, len(here) + 1, length if held_out else step)
        parts[held_out].extend(here[end - length : end] for end in ends)
    if not parts[1]:
        raise ValueError(
            f"the text has {len(sequence)} {what}, which is too short: {_EVERY} stretches of "
            f"{stretch} are needed to keep one for the test; use a longer text"
        )
    return np.array(parts[0]), np.array(parts[1])


def alphabet(of: str) -> str:
    """Return the letters of a text, in order; a letter's token is its position."""
    return "".join(sorted(set(of)))


@checked
def letters(of: str | None = None) -> tuple[np.ndarray, ...]:
    """Return windows of letters, and the letter that follows each.

    Parameters
    ----------
    of : str, optional
        A text; default Alice.

    Returns
    -------
    inputs, labels, test inputs, test labels : int32[n, 64]
        Tokens of the text's :func:`alphabet`.  Windows to train on begin every 16 letters, those
        to test on lie side by side.

    Raises
    ------
    ValueError
        If the text is too short to keep a part for the test.

    Examples
    --------
    >>> inputs, labels, *_ = letters()
    >>> inputs.shape[1], bool((inputs[0, 1:] == labels[0, :-1]).all())
    (64, True)
    """
    of = read("alice") if of is None else of
    token_by_letter = {letter: i for i, letter in enumerate(alphabet(of))}
    tokens = np.array([token_by_letter[letter] for letter in of], np.int32)
    parts = _split(tokens, LENGTH + 1, 16, "letters")
    return tuple(a for part in parts for a in (part[:, :-1], part[:, 1:]))


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z]+(?:'[a-z]+)?", read(name).lower())


@functools.cache
def vocabulary() -> dict[str, int]:
    """Return the words that all books use → their tokens, the most frequent first."""
    counts = [Counter(_words(book.name)) for book in BOOKS]
    common = set.intersection(*(set(count) for count in counts))
    total = sum(counts, Counter())
    ordered = sorted(common, key=lambda word: (-total[word], word))
    return {"[CLS]": CLS, "[UNK]": UNKNOWN} | {word: i for i, word in enumerate(ordered, 2)}


@functools.cache
def authors() -> tuple[np.ndarray, ...]:
    """Return passages of 32 words, and the index in ``BOOKS`` of the book that each is from.

    Returns
    -------
    inputs, labels, test inputs, test labels : int32[n, 33] and int32[n]
        Tokens of :func:`vocabulary`, ``CLS`` first.  Passages to train on begin every 8 words.
    """
    token_by_word = vocabulary()
    arrays: tuple[list, ...] = [], [], [], []
    for label, book in enumerate(BOOKS):
        tokens = np.array([token_by_word.get(w, UNKNOWN) for w in _words(book.name)], np.int32)
        for i, part in enumerate(_split(tokens, WORDS, 8, "words")):
            arrays[2 * i].append(np.pad(part, ((0, 0), (1, 0)), constant_values=CLS))
            arrays[2 * i + 1].append(np.full(len(part), label, np.int32))
    return tuple(np.concatenate(parts) for parts in arrays)
