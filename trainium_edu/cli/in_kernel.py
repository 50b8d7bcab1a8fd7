"""The grader's end inside a submission's kernel: hands out answers and calls them.

Imported before any of the submission's cells runs, so that it holds its own references to what it
needs.  It knows no expected result; the checks are in the grader's process.
"""

import base64
import io
import sys

from trainium_edu.exercises import plain_data
from trainium_edu.exercises.answers import canonical

__all__ = ["install"]


class _PrintedTooMuch(BaseException):
    pass


class _Counted(io.TextIOBase):
    """Pass prints on until there are too many."""

    def __init__(self, stream, limit):
        self._stream, self._left = stream, limit

    def write(self, text):
        self._left -= len(text)
        if self._left < 0:
            raise _PrintedTooMuch("printed too much")
        return self._stream.write(text)

    def flush(self):
        self._stream.flush()


class Answers:
    """Answers of one submission, by name; what comes and leaves is base64 of ``plain_data``."""

    def __init__(self, shell, print_at_most_bytes):
        self._shell, self._stdout, self._limit = shell, sys.stdout, print_at_most_bytes
        self._dumps, self._loads = plain_data.dumps, plain_data.loads
        self._encode, self._decode = base64.b64encode, base64.b64decode

    def begin(self):
        """Forget all names, and count prints from nought."""
        self._shell.reset(new_session=False)
        sys.stdout = _Counted(self._stdout, self._limit)
        return ""

    def look(self, name):
        """Return what a name holds: a value, or that it can be called, or that it is missing."""
        if name not in self._shell.user_ns:
            return self._send("missing")
        value = self._shell.user_ns[name]
        if callable(value):
            return self._send("callable", str(getattr(value, "__name__", name)))
        try:
            return self._send("value", canonical(value))
        except Exception:
            return self._send("unsendable", f"a {type(value).__name__}")

    def call(self, name, arguments):
        """Call what a name holds with arguments."""
        args, kwargs = self._loads(self._decode(arguments).decode())
        try:
            result = canonical(self._shell.user_ns[name](*args, **kwargs))
        except _PrintedTooMuch:
            return self._send("printed")
        except BaseException as error:
            return self._send("raised", type(error).__name__, str(error)[:500], _line(error))
        return self._send("value", result)

    def _send(self, kind, *parts):
        try:
            data = self._dumps((kind, *parts))
        except Exception as error:
            data = self._dumps(("unsendable", str(error)[:200]))
        return self._encode(data.encode()).decode()


def _line(error):
    """Return the text of the submission's own line in which an error arose."""
    import linecache

    found, trace = "", error.__traceback__
    while trace is not None:
        filename = trace.tb_frame.f_code.co_filename
        if "ipykernel" in filename:
            found = linecache.getline(filename, trace.tb_lineno).strip()
        trace = trace.tb_next
    return found[:120]


def install(shell, print_at_most_bytes):
    """Put the grader's end where no cell binds names."""
    shell.trainium_edu_answers = Answers(shell, print_at_most_bytes)
