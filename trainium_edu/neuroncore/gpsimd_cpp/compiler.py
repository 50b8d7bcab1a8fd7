"""From C++ to programs: the machine's compiler, kept by content, its first error in a sentence."""

import hashlib
import importlib.util
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from trainium_edu.files import write
from trainium_edu.neuroncore.gpsimd_cpp.mistakes import CompileError, NoCompilerError, OperatorError

__all__ = [
    "LONG_S",
    "Compiler",
    "cache_folder",
    "find_compiler",
    "is_theirs",
    "kernel_program",
    "shape_program",
]

_CPP = Path(__file__).parent / "cpp"
_RUNTIME = ("runtime.cpp", "operations.cpp", "guards.cpp")
_ALWAYS = (
    "-Wno-narrowing", "-g1", "-gdwarf-4", "-fdiagnostics-color=never",
    "-UNDEBUG",  # which zig defines: assertions stay
    "-fno-optimize-sibling-calls",  # who called is still on the stack
    "-fno-finite-loops",  # clang leaves out loops that never end
    "-fwrapv",  # integers wrap, as the processors' do
    "-fno-sanitize=undefined",  # zig's default, which counts as the program's own code
    "-D_GLIBCXX_ASSERTIONS", "-D_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_FAST",
    f"-I{_CPP / 'include'}",
)  # fmt: skip
_WATCHED = (  # in the learner's code; cpp/guards.cpp words what is found
    "-Wall", "-fsanitize=bounds,object-size,return", "-fno-sanitize-recover=all",
    # calls without effect stay, so that a second free is seen
    *(f"-fno-builtin-{name}" for name in ("malloc", "calloc", "realloc", "free")),
    "-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2",
)  # fmt: skip
_UNSET = ("-ftrivial-auto-var-init=pattern",)  # no variable is what an earlier call left there
_NOT_THEIRS = (_CPP, "/usr", "/Library", "/Applications", sys.prefix, sys.base_prefix)
#: The processors' compiler knows C++14, the host's C++17.
_KERNEL = ("-std=gnu++14", "-O1", "-fno-delete-null-pointer-checks")
_SHAPE = ("-std=gnu++17", "-O0")
_ERROR = re.compile(r"^(.+?):(\d+):(?:\d+:)? (?:fatal )?error: (.*)$", re.MULTILINE)
_WARNED = re.compile(  # uninitialised or gone variables; no "may be used"
    r"^((.+?):\d+:\d+:) warning: (using dangling pointer '\w+' to '\w+'|.*(?= \[-W(?:uninitialized|"
    r"return-local-addr|return-stack-address)\])) \[-W.*$", re.MULTILINE,
)  # fmt: skip
_PLACE = re.compile(r"^\s*(?:In file included from |from )?(.+?):(\d+)[:,]", re.MULTILINE)
_ASKED = re.compile(r"^(.+?):(\d+):.*(?:required from|requested here)", re.MULTILINE)
_ASSERTED = re.compile(r"static.?assert(?:ion)? failed.*?: (.*)$")
#: What there is, where something was asked for that the tensor library does not have.
_THERE_IS = {
    r"at::Tensor' has no member|no member named .* in 'at::Tensor'":
        "a tensor's data are reached by accessor, read_stream_accessor, write_stream_accessor and "
        "tcm_accessor",
    r"(?:to|function) .*\b(?:empty|full|zeros|ones|eye)\b":
        "what makes a tensor must be given a dtype, as in torch::zeros({n}, torch::kFloat)",
    r"read-only|returns a const value|'const at::Tensor' to 'at::Tensor&'|'write_stream_accessor'":
        "a tensor that is const is only read: write to one that the kernel makes",
    r"is not a member of '(?:torch|at)'|no member named .* in namespace '(?:torch|at)'":
        "the processors' tensor library has empty, full, zeros, ones, eye, abs, ceil, floor, sin, "
        "cos, tan, log, log2, log10, exp, pow, clamp, add, sub, mul, div and bitwise functions",
}  # fmt: skip
_UNDEFINED = re.compile(r"undefined (?:reference to|symbol:?) [`']?([^'\n]+)'?")
MOST_S, MOST_BYTES = 120, 4 << 30  #: of a compiler's; templates can ask for any amount of both
_LIMITED = 'ulimit -v "$0" 2>/dev/null; exec "$@"'  # macOS has none of these
_NO_ROOM = re.compile(r"out of memory|memory exhausted|bad_alloc|annot allocate")
LONG_S = 3.0  #: then a first build of the C++ library is spoken of; a link takes a tenth


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C++ compiler of this machine."""

    command: tuple[str, ...]
    name: str  #: first line of its ``--version``

    @property
    def is_gcc(self) -> bool:
        """Whether it is GCC, and not clang under whatever name."""
        return "clang" not in self.name.lower() and "zig" not in " ".join(self.command)

    @property
    def counting(self) -> tuple[str, ...]:
        """The flags by which each basic block reports that it runs."""
        if self.is_gcc:
            kept = ("-fno-allocation-dce", "-fno-reorder-blocks")  # and a failed check in its line
            unset = _UNSET if re.search(r"\) (1[2-9]|[2-9]\d)\.", self.name) else ()  # GCC 12 on
            return ("-fsanitize-coverage=trace-pc", "-fmax-errors=1", *kept, *unset)
        every_block = ("-mllvm", "-sanitizer-coverage-prune-blocks=0", *_UNSET)
        return ("-fsanitize-coverage=bb,trace-pc", *every_block, *self.plain, "-ferror-limit=1")

    @property
    def plain(self) -> tuple[str, ...]:
        """The flags by which clang does no more to loops than GCC at -O1; it is quicker too."""
        return () if self.is_gcc else ("-fno-vectorize", "-fno-slp-vectorize", "-fno-unroll-loops")

    @property
    def linking(self) -> tuple[str, ...]:
        """The flags by which addresses stay what the line table says."""
        return ("-no-pie", "-ldl") if sys.platform == "linux" else ()


@cache
def find_compiler() -> Compiler:
    """Return this machine's compiler: ``c++``, or the one of the wheel ``ziglang``.

    Raises
    ------
    NoCompilerError
        If there is none, or the system cannot fork.
    """
    if not hasattr(os, "fork"):
        raise NoCompilerError(
            "operators in C++ run in processes that fork, which this system does not know; use "
            "Linux or macOS (WSL on Windows), or read the stored results"
        )
    found: list[tuple[str, ...]] = [
        (path,) for name in ("c++", "g++", "clang++") if (path := shutil.which(name))
    ]
    if importlib.util.find_spec("ziglang"):
        found.append((sys.executable, "-m", "ziglang", "c++"))
    for command in found:
        said = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
        if said.returncode == 0:
            return Compiler(command, said.stdout.partition("\n")[0])
    raise NoCompilerError(
        "there is no C++ compiler on this machine; install one (c++), or the wheel that brings "
        "one: pip install 'trainium_edu[cpp]'"
    )


def shape_program(sources: Sequence[Path], flags: Sequence[str], log=None) -> Path:
    """Return the program of the shape functions, compiled or from the cache."""
    texts = [_included(source) for source in sources]
    return _program("shape", texts, sources, (*_SHAPE, *flags), log)


def kernel_program(sources: Sequence[Path], kernels: Sequence[str], flags: Sequence[str],
                   log=None) -> Path:  # fmt: skip
    """Return the program of the kernel functions, compiled or from the cache.

    Parameters
    ----------
    sources : sequence of Path
    kernels : sequence of str
        The functions to bind; the compiler finds out what each takes.
    flags : sequence of str
    log : callable, optional
        Called with each command.

    Raises
    ------
    CompileError
    """
    where = _homes(sources, kernels)
    texts = [_included(source) + _bound(names) for source, names in where.items()]
    counting = find_compiler().counting
    return _program("kernel", texts, sources, (*_KERNEL, *counting, *flags), log)


def _included(source: Path) -> str:
    return f'#include "{source}"\n#include "neuron_edu/bind.h"\n'


def _bound(kernels: Sequence[str]) -> str:
    lines = []
    for name in kernels:
        variable = f"neuron_edu_bound_{hashlib.md5(name.encode()).hexdigest()}"
        lines.append(f'#line 1 "<{name}>"')
        lines.append(f'static const int {variable} = (neuron_edu::add(neuron_edu::bind("", "", '
                     f'"{name}", &{name})), 0);')  # fmt: skip
    return "\n".join(lines) + "\n"


def _homes(sources, kernels) -> dict:
    """Return {source: kernels to bind in it}; of several sources, where the name stands."""
    homes: dict[Path, list[str]] = {source: [] for source in sources}
    for name in kernels:
        plain = name.rpartition("::")[2]
        written = re.compile(rf"\b{re.escape(plain)}\s*\(")
        having = [s for s in sources if written.search(s.read_text(errors="replace"))]
        homes[having[0] if having else sources[0]].append(name)
    return homes


# -- the cache ------------------------------------------------------------------------------------


def cache_folder() -> Path:
    """Return the folder of compiled programs, which only its owner may write to."""
    who = os.getuid()
    folder = Path(tempfile.gettempdir()) / f"trainium_edu-cpp-{who}"
    folder.mkdir(mode=0o700, exist_ok=True)
    about = folder.lstat()
    if about.st_uid != who or not stat.S_ISDIR(about.st_mode) or about.st_mode & 0o022:
        raise OperatorError(
            f"{folder} belongs to somebody else, and programs are run from it: remove it, or set "
            "TMPDIR to a folder of yours"
        )
    return folder


@cache
def _own() -> str:
    """Return a digest of headers, runtime and flags, and of where they are: lines are theirs."""
    parts = (str(_CPP), _ALWAYS, _WATCHED, _KERNEL, _SHAPE)
    digest = hashlib.sha256(repr(parts).encode())
    for path in sorted(_CPP.rglob("*.*")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()[:32]


def _program(role, texts, sources, flags, log) -> Path:
    """Compile translation units and link them with the runtime, or return what is there."""
    compiler = find_compiler()
    kept = [(source.name, source.read_text(errors="replace")) for source in sources]
    plain = [text.partition("\n")[2] for text in texts]  # where a source lies does not matter
    key = _digest(role, plain, kept, flags, compiler.command, compiler.name, _own())
    home = cache_folder() / f"{role}-{key}"
    if _is_fresh(home, sources[0].parent):
        os.utime(home)
        return home / role
    with tempfile.TemporaryDirectory(dir=cache_folder(), prefix="building-") as name:
        building = Path(name)
        objects, commands = _runtime(compiler, building)
        units = []
        for number, text in enumerate(texts):
            unit = building / f"unit{number}.cpp"
            write(unit, text)
            made = building / f"unit{number}.o"
            commands.append((
                [*compiler.command, *_ALWAYS, *_WATCHED, *flags, "-MMD", "-MF", f"{made}.d",
                 "-c", str(unit), "-o", str(made)], made, made,
            ))  # fmt: skip
            units.append(made)
        _run_all(commands, sources, log)
        program = building / role
        _link(compiler, units, objects, program, sources, log)
        needs = _needs(units, building, sources)
        write(building / "needs.json", json.dumps(needs))
        made_home = building / "made"
        made_home.mkdir()
        for file in (program, building / "needs.json"):
            shutil.move(file, made_home / file.name)
        try:
            made_home.rename(home)
        except OSError:  # another process was quicker, or it is stale
            shutil.rmtree(home, ignore_errors=True)
            made_home.rename(home)
    return home / role


def _runtime(compiler: Compiler, building: Path) -> tuple[list[Path], list[tuple]]:
    """Return objects of the runtime, and what makes them."""
    folder = cache_folder() / f"runtime-{_digest(_own(), compiler.command, compiler.name)}"
    folder.mkdir(exist_ok=True)
    own = ("-w", "-std=gnu++14", "-O2", "-D_LIBCPP_REMOVE_TRANSITIVE_INCLUDES")  # which is quicker
    objects = {_CPP / name: (folder / name).with_suffix(".o") for name in _RUNTIME}
    commands = [
        ([*compiler.command, *compiler.plain, *_ALWAYS, *own, "-c", str(source), "-o",
          str(building / to.name)], building / to.name, to)
        for source, to in objects.items()
    ]  # fmt: skip
    return [*objects.values()], [] if all(o.is_file() for o in objects.values()) else commands


def _link(compiler, units, objects, program, sources, log) -> None:
    """Link; the wheel's compiler first builds its C++ library, once on a machine."""
    slow = (
        "trainium_edu: the wheel ziglang builds its C++ library, once on a machine; it takes about "
        "a minute or two"
    )
    link = [*compiler.command, *compiler.linking, "-g1", "-O1", *map(str, (*units, *objects)), "-o",
            str(program)]  # fmt: skip
    _run_all(
        [(link, program, program)], sources, log, slow if "ziglang" in compiler.command else ""
    )


def _run_all(commands, sources, log, slow="") -> None:
    """Run compilers side by side; raise the first one's first error.

    What is slow is said once it takes long.
    """
    running = []
    for command, part, target in commands:
        if log:
            log(" ".join(command))
        process = subprocess.Popen(
            ["sh", "-c", _LIMITED, str(MOST_BYTES >> 10), "env", "LC_ALL=C", *command],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            start_new_session=True,
        )  # fmt: skip
        running.append((process, part, target))
    try:
        if slow:
            with suppress(subprocess.TimeoutExpired):
                running[0][0].wait(LONG_S)
            if running[0][0].poll() is None:
                print(slow, file=sys.stderr, flush=True)
        end = time.monotonic() + MOST_S * (10 if slow else 1)
        outputs = [process.communicate(timeout=max(0, end - time.monotonic()))[0]
                for process, _, _ in running]  # fmt: skip
    except BaseException as problem:  # Ctrl-C: neither drivers nor what they started go on
        for process, _, _ in running:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if isinstance(problem, subprocess.TimeoutExpired):
            raise _too_much(f"{MOST_S} s", sources) from None
        raise
    for (process, part, target), text in zip(running, outputs, strict=True):
        text = _WARNED.sub(_as_error, text)
        if process.returncode or _ERROR.search(text):
            raise _mistake(text, sources)
        if part != target:
            os.replace(part, target)


def _needs(units, building, sources) -> dict[str, str]:
    """Return {file: digest} of the headers that a program was made of, ours and the system's not.

    A header in the folder of the first source, or below it, is named from there.
    """
    digests, beside = {}, sources[0].parent
    for unit in units:
        text = Path(f"{unit}.d").read_text().replace("\\\n", " ").partition(": ")[2]
        for name in text.replace("\\ ", "\0").split():
            path = Path(name.replace("\0", " ")).resolve()
            is_known = path in sources or path.is_relative_to(building)
            if is_known or not is_theirs(str(path)) or not path.is_file():
                continue
            is_near = path.is_relative_to(beside)
            digests[str(path.relative_to(beside) if is_near else path)] = _digest_of(path)
    return digests


def _digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _is_fresh(home: Path, beside: Path) -> bool:
    """Whether a program is there, made of headers as they are now."""
    try:
        needs = json.loads((home / "needs.json").read_text())
        return all(_digest_of(beside / name) == digest for name, digest in needs.items())
    except (OSError, ValueError):
        return False


# -- what the compiler says -----------------------------------------------------------------------


def _as_error(warning: re.Match) -> str:
    """Return a warning about the learner's code as an error, which it is."""
    where, file, said = warning.groups()
    return f"{where} error: {said}" if is_theirs(file) else warning[0]


def _mistake(text: str, sources: Sequence[Path]) -> CompileError:
    """Return the first error of a compiler's output, at the learner's line."""
    match = _ERROR.search(text)
    if match is None:
        undefined = _UNDEFINED.findall(text)
        if undefined:
            return CompileError(
                f"{undefined[0]} is declared and used, but none of the sources defines it"
            )
        if _NO_ROOM.search(text):
            return _too_much(f"{MOST_BYTES / 2**30:g} GiB", sources)
        last = text.strip().rpartition("\n")[2] or "the compiler said nothing"
        return CompileError(f"the C++ compiler failed: {last}")
    file, line, message = match[1], int(match[2]), match[3].strip()
    asserted = _ASSERTED.search(message)
    message = asserted[1].strip().strip('"') if asserted else message
    kernel = re.fullmatch(r"<(.*)>", file)
    if kernel is None and not is_theirs(file):
        kernel, file, line = _asked_from(text, match.start(), file, line)
    if kernel is not None:
        return _of_binding(kernel[1], message, sources, bool(asserted))
    if "No such file" in message or "file not found" in message:
        message += "; of the SDK's headers there are torch/torch.h, torchneuron/register.h and "
        message += "neuron/neuron-utils.hpp"
    message += next((f"; {has}" for key, has in _THERE_IS.items() if re.search(key, message)), "")
    return CompileError(f"the C++ compiler says: {message}", file, line)


def _too_much(limit: str, sources: Sequence[Path]) -> CompileError:
    files = " or ".join(source.name for source in sources)
    return CompileError(
        f"the C++ compiler needs more than {limit} for {files} and was stopped; does a template or "
        "macro unfold without end, or into very many?"
    )


def is_theirs(file: str, sources: Sequence[Path] = ()) -> bool:
    """Whether a file is the learner's: a source, or no header of ours or a compiler's."""
    path = Path(file)
    if not path.is_absolute():  # as the wheel's compiler names files below where it ran, then
        return not any(part in path.as_posix() for part in ("ziglang/", "gpsimd_cpp/cpp/"))
    path = path.resolve()
    if any(path.name == source.name for source in sources):
        return not path.is_relative_to(_CPP)
    wheel = importlib.util.find_spec("ziglang")
    folders = (*_NOT_THEIRS, *((wheel.submodule_search_locations or ()) if wheel else ()))
    return not any(path.is_relative_to(folder) for folder in folders)


def _asked_from(text, at, file, line):
    """Return the learner's line that led into a header: (binding or None, file, line)."""
    asked, places = ([*reversed(list(kind.finditer(text, 0, at))), *kind.finditer(text, at)]
                     for kind in (_ASKED, _PLACE))  # fmt: skip
    for match in (*asked, *places):
        name = match[1].strip()
        binding = re.fullmatch(r"<(.*)>", name)
        if binding:
            return binding, name, int(match[2])
        if is_theirs(name) and Path(name).is_file():
            return None, name, int(match[2])
    return None, file, line


def _of_binding(name, message, sources, is_asserted) -> CompileError:
    files = " or ".join(source.name for source in sources)
    if is_asserted:
        return CompileError(f"the kernel function {name} of {files}: {message}")
    missing = ("not declared", "undeclared", "no member named", "is not a member")
    if any(words in message for words in missing):
        return CompileError(
            f"{files} has no kernel function {name}, which the library registers; the third "
            "argument of m.def is the name of a function in compute_srcs"
        )
    written = re.compile(rf"\bTensor\s+{re.escape(name.rpartition('::')[2])}\s*\(")
    if sum(len(written.findall(s.read_text(errors="replace"))) for s in sources) > 1:
        message = "there are several functions of this name; give each a name of its own"
    return CompileError(f"the kernel function {name} of {files} cannot be called: {message}")
