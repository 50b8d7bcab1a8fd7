"""A kernel for one submission: runs cells through nbclient, and calls answers from outside.

Everything is bounded: each cell and each call by time, the kernel by memory (the worker process
sets the limit before it starts one), what is printed by bytes.  Where the system has walls
(``sandbox``) the kernel stands behind them.  It is spoken to over sockets in its own folder, where
the system has those.  Whatever ends a kernel raises :class:`Stopped` with the reason in words.
"""

import asyncio
import base64
import contextlib
import os
import sys
import time
from pathlib import Path
from typing import Any

import nbclient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat.v4 import new_code_cell, new_notebook

from trainium_edu.cli import sandbox
from trainium_edu.exercises import plain_data

__all__ = ["Answer", "Stopped", "SubmissionKernel", "as_exception"]

_REPLY_AT_MOST_BYTES = 64 << 20
#: What the other end may reply: a word, and the types of what follows it.
_REPLIES: dict[str, tuple] = {
    "missing": (), "printed": (), "callable": (str,), "value": (object,), "unsendable": (str,),
    "raised": (str, str, str),
}  # fmt: skip


class Stopped(BaseException):
    """The submission was stopped; no check may swallow this."""


class Client(nbclient.NotebookClient):
    """nbclient that stops a kernel which floods it."""

    printed_bytes = 0
    flooded = False
    print_at_most_bytes = 1 << 20
    folder: Path
    walls = False

    def create_kernel_manager(self):
        """Make a manager whose kernel listens in its own folder, behind walls if asked."""
        manager = super().create_kernel_manager()
        manager.connection_file = str(self.folder / ".kernel.json")
        if os.name == "posix":
            manager.transport, manager.ip = "ipc", str(self.folder / ".kernel")
        arguments = [sys.executable, "-m", "ipykernel_launcher", "-f", manager.connection_file]
        run_apart = sandbox.command if self.walls else sandbox.as_another_user
        arguments = run_apart(self.folder, arguments)
        assert manager.kernel_spec is not None  # ipykernel brings python3
        manager.kernel_spec.argv = arguments
        return manager

    def process_message(self, msg, cell, cell_index):
        """Count what a cell prints; past the limit, keep nothing and end the kernel."""
        content = msg.get("content", {})
        self.printed_bytes += len(content.get("text", "")) + len(str(content.get("data", ""))[:99])
        if self.printed_bytes > 2 * self.print_at_most_bytes:
            if not self.flooded:
                self.flooded = True
                self._ending = asyncio.ensure_future(self.km.shutdown_kernel(now=True))
            return None
        return super().process_message(msg, cell, cell_index)


class SubmissionKernel:
    """One kernel, started when first needed, and again after it was stopped.

    Parameters
    ----------
    seconds : float
        Limit of one cell, and of one call.
    print_at_most_bytes : int
    environment : dict
        Of the kernel's process.
    folder : Path
        Where the cells run: the kernel's home, and all that it may write to.
    walls : bool
        Put the kernel behind the system's walls.
    called : str
        What reasons call it: "kernel", or "process" where NKI's kernels are meant by the other.
    """

    def __init__(self, *, seconds: float, print_at_most_bytes: int, environment: dict, folder,
                 walls: bool = False, called: str = "kernel"):  # fmt: skip
        self._called = called
        self.seconds, self._print_limit = seconds, print_at_most_bytes
        self._environment, self._folder, self._walls = environment, Path(folder), walls
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        self._client: Any = None  # a Client while a kernel runs
        self._index = 0

    def _run(self, coroutine):
        return self._loop.run_until_complete(coroutine)

    def begin(self):
        """Give the next exercise an empty namespace, in a kernel that is alive."""
        if self._client is None:
            self._start()
        try:
            self._ask("get_ipython().trainium_edu_answers.begin()")
        except Stopped:
            self.stop()
            self._start()
            self._ask("get_ipython().trainium_edu_answers.begin()")

    def _start(self):
        for attempts_left in (2, 1, 0):  # somebody may take a port that was free when chosen
            try:
                return self._start_once()
            except Exception as error:
                self.stop()
                if not attempts_left:
                    raise Stopped(
                        f"its {self._called} does not start ({str(error)[:200]})"
                    ) from None

    def _start_once(self):
        client = Client(
            new_notebook(),
            timeout=self.seconds,
            startup_timeout=60,
            kernel_name="python3",
            resources={"metadata": {"path": str(self._folder)}},
            store_widget_state=False,
        )
        client.print_at_most_bytes = self._print_limit
        client.reset_execution_trackers()
        client.folder, client.walls = self._folder, self._walls
        client.create_kernel_manager()
        self._client = client
        self._run(client.async_start_new_kernel(env=self._environment))
        self._run(client.async_start_new_kernel_client())
        client.kc.hb_channel.pause()  # its thread would wait for ever for an answer of garbage
        self._ask(
            "exec('from trainium_edu.cli.in_kernel import install; "
            f"install(get_ipython(), {self._print_limit})')"
        )

    def run(self, source: str) -> str:
        """Run one cell.

        Parameters
        ----------
        source : str

        Returns
        -------
        error : str
            Empty, or the exception that the cell raised, in one line.

        Raises
        ------
        Stopped
            If it takes too long, prints too much, or ends its kernel.
        """
        cell = new_code_cell(source)
        self._client.nb.cells.append(cell)
        self._index += 1
        place = len(self._client.nb.cells) - 1
        try:
            self._run(self._client.async_execute_cell(cell, place))
        except CellExecutionError as error:
            if error.ename == "_PrintedTooMuch":
                self.stop()
                raise Stopped(self._flood()) from None
            return " ".join(f"{error.ename}: {error.evalue}".split())[:300]
        except CellTimeoutError:
            self.stop()
            raise Stopped(f"a cell did not end within {self.seconds:g} s") from None
        except DeadKernelError:
            flooded = self._client.flooded
            self.stop()
            raise Stopped(self._flood() if flooded else "a cell ended its kernel") from None
        except Exception as error:
            self.stop()
            raise Stopped(
                f"its kernel stopped answering ({type(error).__name__}: {str(error)[:100]})"
            ) from None
        return ""

    def _flood(self):
        return f"printed more than {self._print_limit / 1e6:g} MB"

    def look(self, name: str):
        """Return the value that a name holds, or an :class:`Answer` to call.

        Raises
        ------
        KeyError
            If the name is not bound.
        ValueError
            If it holds what is no plain data.
        """
        kind, *parts = self._ask_plain(f"get_ipython().trainium_edu_answers.look({name!r})")
        if kind == "missing":
            raise KeyError(name)
        if kind == "callable":
            return Answer(self, name, str(parts[0]))
        if kind == "value":
            return parts[0]
        raise ValueError(f"it is {parts[0]}; plain data or a function is asked for")

    def call(self, name: str, args, kwargs):
        """Call a function of the submission and return its plain result, or raise as it did."""
        try:
            data = base64.b64encode(plain_data.dumps((args, kwargs)).encode()).decode()
        except plain_data.NotPlain as error:
            raise Stopped(f"its check calls it with {error}, which cannot be sent") from None
        kind, *parts = self._ask_plain(
            f"get_ipython().trainium_edu_answers.call({name!r}, {data!r})"
        )
        if kind == "value":
            return parts[0]
        if kind == "printed":
            self.stop()
            raise Stopped(f"{self._flood()} while it was called")
        if kind == "raised":
            raise as_exception(*parts)
        raise TypeError(f"it returns {parts[0]}; plain data is asked for")

    def _ask_plain(self, expression):
        text = self._ask(expression)
        try:
            told = plain_data.loads(base64.b64decode(text, validate=True).decode())
            kind, *parts = told
            if not all(map(isinstance, parts, _REPLIES[kind])) or len(parts) != len(_REPLIES[kind]):
                raise ValueError
            return told
        except plain_data.NotPlain as error:
            return "unsendable", str(error)
        except (ValueError, LookupError, TypeError):
            raise Stopped(f"tampered with the {self._called} that grades it") from None

    def _ask(self, expression):
        """Evaluate an expression in the kernel, and return the text that it gives."""
        kc, km = self._client.kc, self._client.km
        message = kc.execute(
            "", silent=True, user_expressions={"it": expression}, allow_stdin=False
        )
        deadline = time.monotonic() + self.seconds
        while True:
            with contextlib.suppress(Exception):  # Empty, under the name of its queue
                reply = self._run(kc.get_shell_msg(timeout=0.25))
                if reply["parent_header"].get("msg_id") == message:
                    break
            if not self._run(km.is_alive()):
                self.stop()
                raise Stopped(f"it ended its {self._called} while it was called")
            if time.monotonic() > deadline:
                self.stop()
                raise Stopped(f"a call did not end within {self.seconds:g} s")
        result = _part(_part(_part(reply, "content"), "user_expressions"), "it")
        text = _part(_part(result, "data"), "text/plain")
        if _part(result, "ename") == "MemoryError":
            raise Stopped("ran out of memory")
        if not isinstance(text, str):
            self.stop()
            raise Stopped(f"tampered with the {self._called} that grades it")
        if len(text) > _REPLY_AT_MOST_BYTES:
            raise Stopped("its result is larger than 48 MB")
        return text[1:-1]  # the quotes of its repr

    def stop(self):
        """End the kernel, whatever it does."""
        client, self._client = self._client, None
        if client is None:
            return
        with contextlib.suppress(Exception):
            client.kc.stop_channels()
        with contextlib.suppress(Exception):
            self._run(client.km.shutdown_kernel(now=True))


def _part(message, name):
    """Return a part of a message, whose sender may have made anything of it."""
    return message.get(name, {}) if isinstance(message, dict) else {}


class Answer:
    """A submission's function, called from the grader's process."""

    def __init__(self, kernel, name, title):
        self._kernel, self._name, self.__name__ = kernel, name, title

    def __call__(self, *args, **kwargs):
        """Call it in its own process."""
        return self._kernel.call(self._name, args, kwargs)

    def __deepcopy__(self, memo):
        return self


def as_exception(name, text, line):
    """Return an exception like the one that an answer raised in its own process."""
    known = {e.__name__: e for e in (NotImplementedError, RecursionError, SystemExit)}
    kind = known.get(name) or type(str(name), (Exception,), {})
    return kind(f'{text} (in the line "{line}")' if line else text)
