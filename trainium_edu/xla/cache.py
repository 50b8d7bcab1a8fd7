"""The persistent compile cache: programs on the disk, found by graph, flags and compiler version.

Folders and files are named as AWS documents them, so that what a student reads about the real
cache can be found here::

    <root>/neuronxcc-<version>/MODULE_<graph hash>+<flag hash>/
        model.hlo.pb          the graph
        compile_flags.json    the compiler's flags (absent without any)
        model.neff            the program
        model.done            empty; written last: the entry is finished
        model.log             why compiling failed, in place of a program
        model.hlo.pb.lock     while a process compiles it

What is *in* the first and the third is ours: a line with a SHA-256 checksum, then the graph's JSON
or the compiler's bytes.  (Releases after those of the documented logs write
``model.hlo_module.pb``.)  The version ends in a hash of this package's own compiler, so a changed
lowering never meets an older program.  The checksum finds damage, not malice: share a cache only
with people whose programs you would run.

Differences from the real cache, on purpose: the default folder is the learner's own
(``TRAINIUM_EDU_HOME``), not ``/var/tmp/neuron-compile-cache``; a compile ended by Ctrl-C is not
remembered as failed; a lock left behind by a process that died does not count (the operating
system holds locks, not the file); S3 is refused.

References: `aws-caching`, `aws-parallel-compile`.
"""

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from hashlib import md5, sha256
from pathlib import Path

from filelock import FileLock, Timeout

import trainium_edu
from trainium_edu import files, settings
from trainium_edu.specs.signatures import checked
from trainium_edu.xla.refusals import sentence

__all__ = ["CacheError", "CompileCache", "CompileFailed", "Entry", "compiler_version",
           "open_cache", "print_lines"]  # fmt: skip

GRAPH, FLAGS, PROGRAM = "model.hlo.pb", "compile_flags.json", "model.neff"
DONE, FAILURE, LOCK = "model.done", "model.log", "model.hlo.pb.lock"
_MAGIC = b"trainium_edu 1 sha256 "
_NAME = re.compile(r"MODULE_([0-9a-f]+)\+([0-9a-f]{8})")
_POLL_SECONDS = 0.02

Log = Callable[[str, str], None]


class CacheError(ValueError):
    """The folder that the user named cannot be a cache."""


class CompileFailed(ValueError):
    """Compiling this graph failed before, and the cache remembers it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One graph in the cache: where it is, and how far it has come."""

    folder: Path
    status: str  #: "remaining", "locked", "failed" or "done", as AWS's log lines count them

    @property
    def graph(self) -> Path:
        """The file with the graph, by which AWS's reports name an entry."""
        return self.folder / GRAPH


def print_lines(level: str = "WARNING", facility: str = "NEURON_CC_WRAPPER") -> Log:
    """Return a function that prints lines of a level, or a more serious one, to standard error."""
    levels = ("DEBUG", "INFO", "WARNING", "ERROR")

    def log(of, text):
        if levels.index(of) >= levels.index(level):
            print(f"{of} ||{facility}||: {text}", file=sys.stderr)

    return log


@cache
def compiler_version() -> str:
    """Return the package's version and a hash of everything that a compiled program depends on."""
    top = Path(trainium_edu.__file__).parent
    digest = md5(usedforsecurity=False)
    for package in ("neuroncore", "numerics", "specs", "xla"):
        for path in sorted((top / package).rglob("*.py")):
            digest.update(path.read_bytes())
    return f"{trainium_edu.__version__}+{digest.hexdigest()[:8]}"


@checked
def open_cache(cache_dir: str | None = None, url: str | None = None, *, retry_failed: bool = False,
               log: Log | None = None) -> "CompileCache | None":  # fmt: skip
    """Open the cache that the switches name, or the default one.

    Parameters
    ----------
    cache_dir, url : str, optional
        What ``--cache_dir`` and ``NEURON_COMPILE_CACHE_URL`` say; the first wins, as documented.
    retry_failed : bool
        ``--retry_failed_compilation``.
    log : callable (level, text), optional
        Default: warnings go to standard error.

    Returns
    -------
    CompileCache, or None
        None where the default folder cannot be used: a line says so, and programs are kept in
        memory only.

    Raises
    ------
    CacheError
        If a folder that was named cannot be made or read, or is in S3.
    """
    log = log or print_lines()
    named = cache_dir or url
    if named and re.match(r"\w+://", named):
        raise CacheError(sentence("cache.no_disk", named=named))
    root = Path(named).expanduser() if named else settings.data_folder() / "neuron-compile-cache"
    opened = CompileCache(root, retry_failed=retry_failed, log=log)
    try:
        opened.folder.mkdir(parents=True, exist_ok=True)
        os.listdir(opened.folder)
    except OSError as problem:
        text = f"the compile cache {root} cannot be used: {problem.strerror or problem}"
        if named:
            raise CacheError(sentence("cache.unusable", text=text)) from None
        log("WARNING", f"{text}; compiled graphs are kept in memory only")
        return None
    return opened


class CompileCache:
    """Compiled programs on the disk, shared by all processes that use one folder.

    Parameters
    ----------
    root : str or Path
        Made when something is written.
    version : str, optional
        Of the compiler; another version has a folder, and programs, of its own.
    retry_failed : bool
        Look up failed compiles as if they had never been tried.
    log : callable (level, text), optional
        Default: warnings go to standard error.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = CompileCache(folder, "1.0")
    ...     first = cache.get_or_compile(12, "d41d8cd9", lambda: b"program")
    ...     second = cache.get_or_compile(12, "d41d8cd9", lambda: b"never asked")
    >>> first, second
    ((b'program', False), (b'program', True))
    """

    @checked
    def __init__(self, root: str | Path, version: str | None = None, *,
                 retry_failed: bool = False, log: Log | None = None):  # fmt: skip
        self.root, self.retry_failed = Path(root), retry_failed
        self.version = version or compiler_version()
        self.folder = self.root / f"neuronxcc-{self.version}"
        self._log: Log = log or print_lines()
        self._said: set[str] = set()

    def __repr__(self):
        return f"CompileCache({str(self.root)!r}, {self.version!r})"

    def path(self, graph_hash: int | str, flags_hash: str) -> Path:
        """Return the folder of an entry, whether it exists or not."""
        name = f"MODULE_{graph_hash}+{flags_hash}"
        if not _NAME.fullmatch(name):
            raise ValueError(sentence("cache.no_entry", graph=graph_hash, flags=flags_hash))
        return self.folder / name

    def get(self, graph_hash: int | str, flags_hash: str) -> bytes | None:
        """Return a program that is in the cache, or None.

        Parameters
        ----------
        graph_hash : int or str
        flags_hash : str
            8 hexadecimal digits, of ``flags.Flags.hash``.

        Returns
        -------
        bytes or None
            None if it was never compiled, or is damaged (said once, and compiled again).

        Raises
        ------
        CompileFailed
            If compiling it failed, unless failures are tried again.
        """
        folder = self.path(graph_hash, flags_hash)
        program = folder / PROGRAM
        if not (folder / DONE).exists():
            half = program.exists() and not _is_locked(folder / LOCK)
            if half and not (folder / DONE).exists():  # nobody has finished it meanwhile
                self._say_once("WARNING", f"{program} is incomplete; compiling it again")
            return None
        with suppress(FileNotFoundError):
            reason = (folder / FAILURE).read_text(encoding="utf-8", errors="replace")
            if self.retry_failed:
                return None
            raise CompileFailed(sentence("cache.failed_before", program=program, reason=reason))
        found = self._read(program, "compiling it again")
        if found is not None:
            done = f"Using a cached neff at {program}. Exiting with a successfully compiled graph."
            self._log("INFO", done)
        return found

    @checked
    def get_or_compile(self, graph_hash: int | str, flags_hash: str,
                       compile: Callable[[], bytes], *, graph: str = "",
                       flags_json: str = "") -> tuple[bytes, bool]:  # fmt: skip
        """Return a program, compiled and kept if it is new, while other processes wait for it.

        Parameters
        ----------
        graph_hash, flags_hash
            As for :meth:`get`.
        compile : callable () -> bytes
        graph, flags_json : str
            What to keep beside the program: ``Graph.to_json()``, ``Flags.json``.

        Returns
        -------
        program : bytes
        hit : bool
            Whether it was there.

        Raises
        ------
        CompileFailed
            As :meth:`get`.
        Exception
            Whatever `compile` raises; the next look-up raises CompileFailed.
        """
        if (found := self.get(graph_hash, flags_hash)) is not None:
            return found, True
        folder = self.path(graph_hash, flags_hash)
        with self._locked(folder):  # another process may have compiled it meanwhile
            if (found := self.get(graph_hash, flags_hash)) is not None:
                return found, True
            try:
                program = compile()
            except Exception as problem:
                reason = f"{type(problem).__name__}: {problem}".encode()
                self._keep(folder, {FAILURE: reason}, graph, flags_json)
                raise
            self._keep(folder, {PROGRAM: _sealed(program)}, graph, flags_json)
        done = f"Compilation Successfully Completed for model.{folder.name}.hlo_module.pb"
        self._log("INFO", done)
        return program, False

    @checked
    def put_graph(self, graph_hash: int | str, flags_hash: str, graph: str,
                  flags_json: str = "") -> bool:  # fmt: skip
        """Keep a graph to be compiled later; one that is there already stays as it is."""
        folder = self.path(graph_hash, flags_hash)
        if (folder / DONE).exists():
            return True
        with self._locked(folder):
            there = (folder / GRAPH).exists() and self._read(folder / GRAPH, "writing it again")
            kept = bool(there) or self._keep(folder, {}, graph, flags_json)
        if kept:
            self._log("INFO", f"Extracting graphs ({folder / GRAPH}) for ahead-of-time parallel "
                              "compilation. No compilation was done.")  # fmt: skip
        return kept

    @checked
    def graph_of(self, entry: Entry) -> tuple[str, str] | None:
        """Return an entry's graph as JSON and its flags as text, or None if they are damaged."""
        graph = self._read(entry.graph, "record it again")
        flags = entry.folder / FLAGS
        text = flags.read_text(encoding="utf-8") if flags.exists() else ""
        digest = md5(text.encode(), usedforsecurity=False).hexdigest()[:8]
        if not entry.folder.name.endswith(f"+{digest}"):
            self._say_once("WARNING", f"{flags} is damaged: its hash is {digest}; record it again")
            return None
        return None if graph is None else (graph.decode(), shlex.join(json.loads(text or "[]")))

    def entries(self) -> list[Entry]:
        """Return all entries of this version of the compiler, by name."""
        folders = sorted(
            folder
            for folder in self.folder.glob("MODULE_*")
            if _NAME.fullmatch(folder.name)
            and any((folder / name).exists() for name in (GRAPH, DONE))
        )
        return [Entry(folder, self._status(folder)) for folder in folders]

    def _status(self, folder) -> str:
        if _is_locked(folder / LOCK):
            return "locked"
        if (folder / DONE).exists():
            if (folder / FAILURE).exists():
                return "failed"
            if self._read(folder / PROGRAM, "compiling it again") is not None:
                return "done"
        return "remaining"

    def clear_locks(self) -> tuple[int, int]:
        """Delete lock files, and pieces of files, that dead processes left.

        Returns
        -------
        cleared, held : int
            Locks deleted, and locks that a living process holds, which stay.
        """
        cleared = held = 0
        for lock in self.root.glob(f"neuronxcc-*/MODULE_*/{LOCK}"):
            if _is_locked(lock):
                held += 1
            else:
                with suppress(OSError):
                    lock.unlink()
                    cleared += 1
        parts = self.root.glob("neuronxcc-*/MODULE_*/.*.part")
        _delete(part for part in parts if not _is_locked(part.parent / LOCK))
        return cleared, held

    def clean(self) -> int:
        """Delete the entries of all compiler versions, nothing else; return how many there were."""
        folders = [p for p in self.root.glob("neuronxcc-*/MODULE_*") if _NAME.fullmatch(p.name)]
        for folder in folders:
            shutil.rmtree(folder)
        for empty in {folder.parent for folder in folders}:
            with suppress(OSError):
                empty.rmdir()
        return len(folders)

    def _read(self, path, remedy) -> bytes | None:
        """Return what a file holds if its checksum is right; say once if not."""
        try:
            head, _, content = path.read_bytes().partition(b"\n")
        except OSError as problem:
            self._say_once("WARNING", f"{path} cannot be read ({problem.strerror}); {remedy}")
            return None
        if head != _MAGIC + sha256(content).hexdigest().encode():
            self._say_once("WARNING", f"{path} is damaged: its checksum is wrong; {remedy}")
            return None
        return content

    def _keep(self, folder, results: dict[str, bytes], graph, flags_json) -> bool:
        """Write an entry, in an order in which a reader never takes half of it for the whole."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if graph:
                files.write(folder / GRAPH, _sealed(graph.encode()))
            if flags_json:
                files.write(folder / FLAGS, flags_json)
            if results:
                self._keep_results(folder, results)
        except OSError as problem:
            self._say_once("WARNING", sentence("cache.full", cache=self, problem=problem))
            return False
        return True

    def _keep_results(self, folder, results):
        _delete(folder / name for name in (DONE, PROGRAM, FAILURE))
        try:
            for name, content in {**results, DONE: b""}.items():
                files.write(folder / name, content)
        except BaseException:
            with suppress(OSError):
                _delete(folder / name for name in (DONE, PROGRAM, FAILURE))
            raise

    @contextmanager
    def _locked(self, folder) -> Iterator[None]:
        """Hold an entry's lock; where the folder takes no file, go on without one."""
        lock = FileLock(folder / LOCK)
        with suppress(OSError):  # writing will say why
            self._acquire(lock, folder)
        try:
            if lock.is_locked:
                _delete(folder.glob(".*.part"))  # of a killed process
            yield
        finally:
            if lock.is_locked:
                with suppress(OSError):  # Windows deletes no open file
                    (folder / LOCK).unlink(missing_ok=True)
                lock.release()
                with suppress(OSError):  # an entry in which nothing was kept
                    folder.rmdir()

    def _acquire(self, lock, folder):
        seconds = 0.0
        while not lock.is_locked:
            folder.mkdir(parents=True, exist_ok=True)
            try:
                lock.acquire(seconds, _POLL_SECONDS)
            except FileNotFoundError:
                continue  # its last holder has just removed the empty folder
            except Timeout:
                told = f"Another process must be compiling {folder / GRAPH}; waiting for it"
                self._log("INFO", told)
                seconds = -1

    def _say_once(self, level, text):
        if text not in self._said:
            self._said.add(text)
            self._log(level, text)


def _delete(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _sealed(content: bytes) -> bytes:
    return _MAGIC + sha256(content).hexdigest().encode() + b"\n" + content


def _is_locked(path) -> bool:
    """Return whether a living process holds a lock file.

    The operating system lets go of a lock when its process ends, however it ends.
    """
    try:
        with FileLock(path, blocking=False) if path.exists() else nullcontext():
            return False
    except (Timeout, OSError) as problem:
        return isinstance(problem, Timeout)
