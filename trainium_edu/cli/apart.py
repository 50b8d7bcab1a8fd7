"""A process for one submission: asked for one thing at a time, in plain data, over its own pipes.

What it is asked is a function of a module of ours over there (``in_kernel``, ``kernel_call``),
which returns plain data or raises.
Everything is bounded: each answer by time and size, the process by memory (the grader's process
sets the limit before it starts one), what is printed by bytes.  Where the system has walls
(``sandbox``) the process stands behind them.  Whatever ends it raises :class:`Stopped` with the
reason in words; the next question starts another.
"""

import contextlib
import functools
import sys
import threading
from pathlib import Path
from typing import Any

from trainium_edu.cli import sandbox
from trainium_edu.cli.limits import Limits, end_family, start
from trainium_edu.exercises import plain_data

__all__ = ["Apart", "Raised", "Stopped"]

_START_SECONDS = 60.0
_TAMPERED = "tampered with the process that grades it"


class Stopped(BaseException):
    """The submission was stopped; no check may swallow this."""


class Raised(ValueError):
    """A function over there raised an exception; ``kind`` is the name of its class."""

    def __init__(self, kind: str, text: str):
        super().__init__(text)
        self.kind = kind


class Apart:
    """One process, started when first asked, and again after it was stopped.

    Parameters
    ----------
    module : str
        Whose functions it is asked for, below ``trainium_edu.cli``.
    folder : Path
        Where it runs: its home, and all that it may write to.
    limits : Limits
        Its ``seconds`` are those of one answer.
    walls : bool
        Put the process behind the system's walls.
    """

    def __init__(self, module: str, folder: Path, limits: Limits, *, walls: bool = False):
        program = [sys.executable, "-P", "-m", "trainium_edu.cli.within"]
        program += [f"trainium_edu.cli.{module}", str(limits.print_bytes)]
        run_apart = sandbox.command if walls else sandbox.as_another_user

        def begin():
            environment = sandbox.environment(folder)
            return start(run_apart(folder, program), folder, environment)

        self._limits, self._start = limits, begin
        self._process: Any = None  # while one runs

    def ask(
        self, function: str, *arguments: Any, doing: str = "a call", seconds: float | None = None
    ) -> Any:
        """Return what a function over there returns.

        Parameters
        ----------
        function : str
        *arguments : object
            Plain data.
        doing : str
            What the submission is doing, for the reason.
        seconds : float, optional
            Its time, where the limits' is not meant.

        Raises
        ------
        Raised
            If the function raises.
        Stopped
            If it takes too long, prints too much, ends its process or replies what ours would not.
        """
        try:
            line = plain_data.dumps((function, *arguments))
        except plain_data.NotPlain as error:
            raise Stopped(f"its check calls it with {error}, which cannot be sent") from None
        if self._process is None:
            try:
                self._process = self._start()
            except OSError as error:
                raise Stopped(f"its process does not start ({error})") from None
            self._exchange("", "its start", _START_SECONDS)
        match self._exchange(f"{line}\n", doing, seconds or self._limits.seconds):
            case "value", value:
                return value
            case "raised", str(kind), str(text):
                raise Raised(kind, text)
            case ("printed",):
                raise self.stopped(f"printed more than {self._limits.print_bytes / 1e6:g} MB")
        raise self.stopped()

    def _exchange(self, line, doing, seconds):
        """Send a line and read one; whoever waits for it is a thread, so that none waits long."""
        replies: list[bytes] = []

        def exchange(process):
            with contextlib.suppress(OSError, ValueError):
                process.stdin.write(line.encode())
                process.stdin.flush()
                replies.append(process.stdout.readline(plain_data.MOST_BYTES + 2))

        self._thread = threading.Thread(target=exchange, args=(self._process,), daemon=True)
        self._thread.start()
        self._thread.join(seconds)
        if self._thread.is_alive():
            raise self.stopped(f"{doing} did not end within {seconds:g} s")
        if not any(replies):
            raise self.stopped(f"{doing} ended its process")
        if len(replies[0]) > plain_data.MOST_BYTES:
            raise self.stopped(f"its result is larger than {plain_data.MOST_BYTES >> 20} MiB")
        try:
            return plain_data.loads(replies[0].decode())
        except ValueError:
            raise self.stopped() from None

    def stopped(self, reason: str = _TAMPERED) -> Stopped:
        """End the process; return the exception that says why."""
        self.stop()
        return Stopped(reason)

    def begin(self) -> bool:
        """Give the next exercise the names that were kept; return whether the process kept any."""
        with contextlib.suppress(Stopped, Raised):  # by what ran there before
            return self.ask("begin") is True
        self.stop()
        return self.ask("begin") is True

    def run(self, source: str) -> str:
        """Run one cell; return the exception that it raised, in one line, or an empty string."""
        try:
            self.ask("run", source, doing="a cell")
        except Raised as error:
            return " ".join(f"{error.kind}: {error}".split())[:300]
        return ""

    def look(self, name: str):
        """Return the value that a name holds, or a function that calls it over there.

        Raises
        ------
        KeyError
            If the name is not bound.
        ValueError
            If it holds what is no plain data.
        """
        answer: Any = functools.partial(self.call, name)
        match self.ask("look", name):
            case "missing", _:
                raise KeyError(name)
            case "callable", str(title):
                answer.__name__ = title
                return answer
            case "value", value:
                return value
        raise self.stopped()

    def call(self, name: str, /, *args, **kwargs):
        """Call a function of the submission and return its plain result, or raise as it did."""
        try:
            return self.ask("call", name, args, kwargs)
        except Raised as error:
            known = {e.__name__: e for e in (NotImplementedError, RecursionError, SystemExit)}
            like = known.get(error.kind) or type(error.kind, (Exception,), {})
            raise like(*error.args) from None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """End the process, whatever it does."""
        process, self._process = self._process, None
        if process is None:
            return
        end_family(process)
        self._thread.join(1)  # a process that hides from its family may hold the pipes' ends
        for pipe in () if self._thread.is_alive() else (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()
