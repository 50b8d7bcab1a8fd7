"""``load``: two source files become operators that take arrays.

>>> relu = load("relu", compute_srcs=["relu.cpp"], shape_srcs=["shape.cpp"])  # doctest: +SKIP
>>> relu(x)                                                                    # doctest: +SKIP
"""

import json
import re
import signal
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from os import PathLike
from pathlib import Path

import numpy as np

from trainium_edu import files
from trainium_edu.neuroncore.engines.custom_op import Work
from trainium_edu.neuroncore.gpsimd_cpp import wire
from trainium_edu.neuroncore.gpsimd_cpp.compiler import is_theirs, kernel_program, shape_program
from trainium_edu.neuroncore.gpsimd_cpp.lines import LineTable
from trainium_edu.neuroncore.gpsimd_cpp.mistakes import OperatorError, place
from trainium_edu.neuroncore.gpsimd_cpp.races import Race, find_race, holes
from trainium_edu.neuroncore.gpsimd_cpp.results import OperatorRun, timed
from trainium_edu.neuroncore.gpsimd_cpp.worker import Answer, Limits, Worker
from trainium_edu.neuroncore.recording.dtypes import DTYPES
from trainium_edu.neuroncore.recording.source import SourceLine, source_line
from trainium_edu.numerics.frameworks import as_array, is_array
from trainium_edu.specs import CUSTOM_OPERATORS, TRN1
from trainium_edu.specs.arguments import short
from trainium_edu.specs.record import Record
from trainium_edu.specs.signatures import checked

__all__ = ["Library", "Operator", "load", "load_library"]

_DTYPES = CUSTOM_OPERATORS.dtypes.value
_SIGNALS = {4: "an index or a pointer leaves its array, which a check of the compiler's finds",
            6: "it aborts",
            8: "it divides an integer by zero",
            11: "it touches memory that is not its own",
            9: "it was killed, as a system does that has no memory left"}  # fmt: skip
_ASSERTED = re.compile(r".*[Aa]ssertion [`'\"]?(.*?)['\"]? failed.*")
_OVERFLOW = re.compile(r".*buffer overflow detected.*")  # by the C library's checked functions
_LIBRARY = "trainium_edu library of custom operators"
_STACK = re.compile(r"-DSTACK_SIZE=(\d+)\s*$")


class Library:
    """Operators that were built together; attributes by their names.

    Attributes
    ----------
    name : str
        As ``NEURON_LIBRARY`` has it.
    operators : dict of str to Operator
    """

    def __init__(self, compute_srcs: Sequence[Path], shape_srcs: Sequence[Path], *,
                 multicore: bool, flags: Sequence[str], limits: Limits,
                 log: Callable | None = None):  # fmt: skip
        self.compute_srcs, self.shape_srcs = tuple(compute_srcs), tuple(shape_srcs)
        self.multicore, self.flags, self.limits = multicore, tuple(flags), limits
        self._shapes = Worker(shape_program(self.shape_srcs, self.flags, log), "shape")
        entries = self._shapes.entries
        self._check_registered(entries, self._shapes.count)
        self.name = entries[0].library
        kernels = list(dict.fromkeys(entry.kernel for entry in entries))
        program = kernel_program(self.compute_srcs, kernels, self.flags, log)
        self._kernels = Worker(program, "kernel")
        numbers = {entry.kernel: i for i, entry in enumerate(self._kernels.entries)}
        self.operators = {}
        for number, entry in enumerate(entries):
            kernel = self._kernels.entries[numbers[entry.kernel]]
            self._check_signature(entry, kernel)
            self.operators[entry.name] = Operator(self, entry.name, number, numbers[entry.kernel],
                                                  entry.kernel, entry.signature)  # fmt: skip

    def _check_registered(self, entries, count):
        files = " or ".join(source.name for source in self.shape_srcs)
        if not entries:
            raise OperatorError(
                f"{files} registers no operator; write NEURON_LIBRARY(my_ops, m) {{ "
                'm.def("name", &shape_function, "kernel_function"); }'
            )
        names = list(dict.fromkeys(entry.library for entry in entries))
        if len(names) > 1:
            raise OperatorError(
                f"{files} registers the libraries {' and '.join(names)}; a model can have one"
            )
        most = int(CUSTOM_OPERATORS.functions_max)
        if count > most:
            raise OperatorError(
                f"the library {names[0]} of {files} registers {count} functions; it can have {most}"
            )
        known = [entry.name for entry in entries]
        twice = next((name for name in known if known.count(name) > 1), None)
        if twice:
            raise OperatorError(f"the library {names[0]} of {files} registers {twice} twice")

    def _check_signature(self, shape, kernel):
        if shape.signature != kernel.signature:
            raise OperatorError(
                f"the shape function of {shape.name} takes {_said(shape.signature)}, and its "
                f"kernel function {kernel.kernel} takes {_said(kernel.signature)}; both have the "
                "same arguments"
            )

    def __getattr__(self, name):
        operators = self.__dict__.get("operators", {})
        if name in operators:
            return operators[name]
        raise AttributeError(
            f"the library {self.__dict__.get('name', '')} has no operator {name!r}; "
            f"it has {', '.join(operators)}"
        )

    def __dir__(self):
        return sorted({*super().__dir__(), *self.operators})

    def __call__(self, *arguments) -> np.ndarray:
        """Call the operator of a library that has one."""
        return self._only("call")(*arguments)

    def run(self, *arguments, spec: Record = TRN1) -> OperatorRun:
        """Run the operator of a library that has one; see :meth:`Operator.run`."""
        return self._only("run").run(*arguments, spec=spec)

    def _only(self, what) -> "Operator":
        if len(self.operators) != 1:
            name = next(iter(self.operators))
            raise TypeError(
                f"the library {self.name} has {len(self.operators)} operators; {what} one of them, "
                f"such as .{name}"
            )
        return next(iter(self.operators.values()))

    def __repr__(self):
        return f"Library({self.name!r}: {', '.join(self.operators)})"

    @checked
    def save(self, path: str | PathLike) -> None:
        """Write the library to a file, which :func:`load_library` reads.

        It holds the sources: programs are compiled, or found in the cache, where it is loaded.
        """
        folder = Path(path).resolve().parent
        files.write(path, json.dumps({
            "what": _LIBRARY, "multicore": self.multicore, "flags": self.flags,
            **{kind: [str(source.resolve()) for source in sources]
               for kind, sources in (("compute_srcs", self.compute_srcs),
                                     ("shape_srcs", self.shape_srcs))},
            "folder": str(folder),
        }))  # fmt: skip


class Operator:
    """One operator: a shape function that runs on the host, and a kernel function that is counted.

    Calling it with arrays and numbers returns an array; :meth:`run` also says how long it takes
    on a NeuronCore.
    """

    def __init__(self, library: Library, name: str, shape: int, kernel: int, kernel_name: str,
                 signature: str):  # fmt: skip
        self.library, self.name = library, name
        self.kernel_name, self.signature = kernel_name, signature
        self._shape, self._kernel = shape, kernel
        self._sizes: dict[tuple, tuple] = {}
        self._typical: dict[tuple, tuple] = {}

    def __repr__(self):
        return f"Operator({self.library.name}.{self.name}, {_said(self.signature)})"

    def __call__(self, *arguments) -> np.ndarray:
        """Return the operator's result; print what it printed."""
        answer, _ = self._answer(arguments)
        self._show(answer)
        return answer.output

    def run(self, *arguments, spec: Record = TRN1) -> OperatorRun:
        """Run the operator and time it.

        Parameters
        ----------
        *arguments : array or float
        spec : specs.Record
            The chip.

        Returns
        -------
        OperatorRun
            ``outputs`` is the result; ``timeline``, ``band``, ``advice`` and ``why()`` are those
            of any run.
        """
        answer, given = self._answer(arguments, spec)
        self._show(answer)
        return self._timed(answer, given, spec, source_line({}, sys._getframe(1)))

    def shape(self, *types: tuple | float) -> tuple[tuple[int, ...], str]:
        """Return what the shape function says: the result's (shape, dtype).

        Parameters
        ----------
        *types : (shape, dtype) or float
            As the arguments are.
        """
        key = tuple(types)
        if key not in self._sizes:
            answer = self.library._shapes.run(self._shape, types, limits=self.library.limits)
            call = answer.call
            if call.status != wire.Status.SHAPE:
                self._refuse(answer, self.library._shapes, "the shape function")
            slot = call.argument[0].tensor
            self._sizes[key] = tuple(slot.sizes[: slot.dims]), wire.DTYPES[slot.dtype]
        return self._sizes[key]

    def works(self, *arguments) -> tuple:
        """Return what the processors do with these arguments: (works, sites, stack bytes, hot)."""
        return self._counted(self._answer(arguments)[0])

    def typical(self, *types: tuple | float) -> tuple:
        """Return :meth:`works` for arguments of these types, as a compiler may ask beforehand.

        Parameters
        ----------
        *types : (shape, dtype) or float
            Tensors are filled with numbers of a normal distribution, always the same.
        """
        if types not in self._typical:
            rng = np.random.default_rng(0)
            given = [_normal(rng, *one) if isinstance(one, tuple) else one for one in types]
            self._typical[types] = self._counted(self._answer(given)[0])
        return self._typical[types]

    # -- one call -----------------------------------------------------------------------------

    def _answer(self, arguments, spec: Record = TRN1) -> tuple[Answer, list]:
        values = self._checked(arguments)
        types = [(a.shape, a.dtype.name) if isinstance(a, np.ndarray) else a for a in values]
        out = self.shape(*types)
        answer = self._ask(values, out, spec)
        status = answer.call.status
        if status == wire.Status.NO_DST:
            raise OperatorError(
                f"{self.kernel_name} runs on several processors and never calls get_dst_tensor(); "
                "with multicore=True what a kernel returns is ignored, and each processor writes "
                "its part of that tensor",
                str(self.library.compute_srcs[0]),
            )
        if status == wire.Status.SHAPE:
            slot = answer.call.argument[0].tensor
            dtype, sizes = wire.DTYPES[slot.dtype], list(slot.sizes[: slot.dims])
            raise OperatorError(
                f"the kernel function {self.kernel_name} returns {dtype}{sizes}, and the "
                f"shape function said {out[1]}{list(out[0])}; the two must agree",
                str(self.library.compute_srcs[0]),
            )
        if status != wire.Status.OK:
            self._refuse(answer, self.library._kernels, self.kernel_name)
        race = find_race(answer.touched)
        if race:
            self._refuse_race(race, values, out, spec)
        return answer, values

    def _ask(self, given, out, spec, watch=None) -> Answer:
        library = self.library
        count = int(spec.gpsimd_engine.processors) if library.multicore else 1
        return library._kernels.run(
            self._kernel, given, out, multicore=library.multicore, processors=count,
            limits=library.limits, watch=watch,
        )  # fmt: skip

    def _checked(self, arguments) -> list:
        if len(arguments) != len(self.signature):
            raise TypeError(
                f"{self.name} takes {_said(self.signature)}, and was given {len(arguments)} "
                f"argument{'' if len(arguments) == 1 else 's'}"
            )
        return [
            self._tensor(value, number) if kind == "T" else self._number(value, number)
            for number, (value, kind) in enumerate(zip(arguments, self.signature, strict=True))
        ]

    def _number(self, value, number) -> float:
        is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not is_number:
            raise TypeError(
                f"argument {number} of {self.name} is {short(value)}; it must be a number, which "
                "the operator gets as a double"
            )
        return float(value)

    def _tensor(self, value, number) -> np.ndarray:
        if not is_array(value):
            if type(value).__module__.startswith(("trainium_edu.nki", "trainium_edu.neuroncore")):
                raise OperatorError(
                    f"{self.name} is called in a kernel, with a tile; an operator in C++ is a "
                    "node of a graph of its own and takes whole arrays: call it before or after "
                    "the kernel, or use nki.isa inside"
                )
            raise TypeError(
                f"argument {number} of {self.name} is {short(value)}; it must be an array"
            )
        array = as_array(value)
        if array.dtype.name not in _DTYPES:
            raise OperatorError(
                f"argument {number} of {self.name} is of dtype {array.dtype.name}, which operators "
                f"do not know; cast it to one of {', '.join(_DTYPES)}"
            )
        for most, size in CUSTOM_OPERATORS.dimensions_max.value:
            if array.ndim <= most and max(array.shape, default=0) <= size:
                return array
        raise OperatorError(
            f"argument {number} of {self.name} has shape {array.shape}; an operator's tensors have "
            "up to 8 dimensions of at most 65,535, or up to 4 of at most 4,294,967,295"
        )

    def _counted(self, answer: Answer) -> tuple:
        works, sites, stack = [], {}, 0
        hot: Counter[tuple[str, int]] = Counter()
        table = self._table(self.library._kernels)
        for processor in answer.call.of:
            if not processor.ran:
                continue
            c = processor.counts
            works.append(tuple(Work(
                c.elements, c.copies + c.refills, c.copied_bytes, c.bulks, c.bulk_bytes,
                c.library_elements, c.library_curves, c.blocks,
            )))  # fmt: skip
            stack = max(stack, c.stack_bytes)
            for block in processor.hot:
                file, line = (block.times and table.at(block.pc)) or ("", 0)
                if line and not file.startswith("<"):  # of no binding of ours
                    hot[Path(file).name, line] += block.times
            for s in processor.site[: processor.sites]:
                key = Path(_name(answer.call, s.file)).name, s.line
                one = s.elements, s.streamed, s.copies, s.copied_bytes
                sites[key] = tuple(map(sum, zip(sites.get(key, (0,) * 4), one, strict=True)))
        rows = (tuple((*key, *counts) for key, counts in sites.items()),
                tuple((*key, times) for key, times in hot.items()))  # fmt: skip
        return tuple(works), rows[0], stack, rows[1]

    def _timed(self, answer, values, spec, line: SourceLine | None) -> OperatorRun:
        works, sites, stack, hot = self._counted(answer)
        unwritten = holes(answer.touched, wire.OUT) if answer.touched else ()
        options = {
            "works": works,
            "sites": sites,
            "stack_bytes": stack,
            "said": _all(answer),
            "hot": hot,
        }
        return timed(self.name, values, answer.output, spec, options, line, unwritten)

    def _show(self, answer: Answer) -> None:
        text = _all(answer)
        if text:
            print(text, end="" if text.endswith("\n") else "\n")

    # -- what goes wrong ----------------------------------------------------------------------

    def _refuse(self, answer: Answer, worker: Worker, who: str):
        call, library = answer.call, self.library
        said, _, last = answer.errors.strip().rpartition("\n")
        is_stopped = call.status == wire.Status.REFUSED
        self._show(answer if is_stopped else answer._replace(errors=said))
        text, file = call.message.decode(errors="replace"), call.file.decode(errors="replace")
        line = call.line
        if not is_stopped:
            file, line = self._line_of(call, worker)
            text = self._signalled(call, text, last)
            made = call.made_pc and self._table(worker).at(call.made_pc - 1)
            text += f" (allocated at {place(*made)})" if made else ""
        if library.multicore and worker is library._kernels:
            text += f" (processor {call.processor})"
        raise OperatorError(text if file else f"{who}: {text}", file, line)

    def _line_of(self, call, worker: Worker) -> tuple[str, int]:
        """Return the learner's line that most of the sampled stacks are in."""
        table = self._table(worker)
        stacks = [stack[:] for stack in call.frames[: call.samples]]
        lines = (next(filter(None, map(table.at, stack)), None) for stack in stacks)
        found = Counter(filter(None, lines)).most_common(1)
        return found[0][0] if found else table.at(call.last_pc - 1) or ("", 0)

    def _table(self, worker: Worker) -> LineTable:
        sources = (*self.library.compute_srcs, *self.library.shape_srcs)
        return _table_of(worker.program, sources)

    def _signalled(self, call, text, last) -> str:
        limits = self.library.limits
        if text == "stack":
            return (
                f"its stack needs more than {limits.stack_bytes} bytes (about 8 KB lie in local "
                "memory); keep large arrays in TCM, or ask for slower memory with extra_cflags="
                "['-DSTACK_SIZE=n'], up to 400,000"
            )
        if call.signal == signal.SIGALRM:
            return text or "it stopped the process that waits for it"
        if call.signal == signal.SIGXCPU:
            return f"it ran for {limits.cpu_seconds} s without an end; does a loop ever stop?"
        last = _ASSERTED.sub(r"an assertion of the C++ library failed: \1", last)
        last = _OVERFLOW.sub(
            "memset, strcpy or the like would write past the end of an array", last
        )
        known = text or _SIGNALS.get(call.signal) or f"it ends by signal {call.signal}"
        if not text and not call.signal:
            known = "it ends its own process; a kernel returns a tensor"
        return f"{known}: {last}" if last else known

    def _refuse_race(self, race: Race, given, out, spec):
        """Run again, to see which lines touch the element that processors race for."""
        seen = self._ask(given, out, spec, watch=(race.slot, race.element)).call
        called = "the result" if race.slot == wire.OUT else f"argument {race.slot}"
        shape = out[0] if race.slot == wire.OUT else given[race.slot].shape
        index = [int(i) for i in np.unravel_index(race.element, shape)]

        def lines(processors, kind):
            found = {(_name(seen, getattr(seen.of[p], f"{kind}_file")),
                      getattr(seen.of[p], f"{kind}_line")) for p in processors}  # fmt: skip
            return sorted(found)[0], " and ".join(place(*one) for one in sorted(found))

        first, written = lines(race.writers, "write")
        more = f"; so it is for {race.elements:,} elements"
        more *= race.elements > 1
        if len(race.writers) > 1:
            *others, last = map(str, race.writers)
            who = f"{', '.join(others)} and {last} {'both' if len(others) == 1 else 'all'}"
            text = f"race: processors {who} write element {index} of {called} (at {written})"
        else:
            _, read = lines(race.readers, "read")
            who = " and ".join(map(str, race.readers))
            text = (
                f"race: processor {race.writers[0]} writes element {index} of {called} (at "
                f"{written}), which processor {who} reads (at {read})"
            )
        raise OperatorError(
            f"{text}{more}. Processors do not wait for each other: let each write a part of its "
            "own",
            *first,
        )

    @cached_property
    def digest(self) -> str:
        """The operator's identity: its sources and flags."""
        programs = self.library._kernels.program.parent.name, self._shape
        return "-".join(map(str, programs))


@lru_cache(maxsize=32)
def _table_of(program: Path, sources: tuple[Path, ...]) -> LineTable:
    return LineTable(program, lambda file: is_theirs(file, sources))


def _normal(rng, shape, dtype) -> np.ndarray:
    """Return a typical tensor; of integers, some around 0 (unsigned: from 0)."""
    values = rng.standard_normal(shape, np.float32)
    if dtype.startswith(("int", "uint")):
        values = np.rint(values * 10 if dtype.startswith("int") else np.abs(values) * 10)
    return values.astype(DTYPES[dtype].storage)


def _said(signature: str) -> str:
    words = ["a tensor" if letter == "T" else "a number" for letter in signature]
    return ", ".join(words) or "nothing"


def _name(call: wire.Call, offset: int) -> str:
    raw = bytes(call)[wire.Call.names.offset :][: wire.Call.names.size]
    return raw[offset : raw.index(b"\0", offset)].decode(errors="replace")


def _all(answer: Answer) -> str:
    """Return what the program printed, and its warnings."""
    warnings = [
        f"warning: {place(*_split(line))}\n"
        for line in answer.call.warnings.decode(errors="replace").splitlines()
    ]
    return "".join([answer.printed, answer.errors, *warnings])


def _split(line: str) -> tuple[str, int]:
    return line.rpartition("/")[2], 0


@checked
def load(name: str, compute_srcs: Sequence, shape_srcs: Sequence, *,
         build_directory: str | PathLike | None = None, multicore: bool = False,
         extra_cflags: Sequence | None = None, verbose: bool = False,
         cpu_seconds: int = 10) -> Library:  # fmt: skip
    """Compile a library of operators.

    Parameters
    ----------
    name : str
        Of the library file, ``lib<name>.so``.
    compute_srcs, shape_srcs : sequence of path
        Kernel functions; shape functions, with ``NEURON_LIBRARY``.
    build_directory : path, optional
        Where to write the library file, which :func:`load_library` reads.
    multicore : bool
        All eight processors run each kernel function.
    extra_cflags : sequence of str, optional
        ``-DSTACK_SIZE=n`` is for a stack of n bytes.
    verbose : bool
        Print the compiler's commands.
    cpu_seconds : int
        For how long one processor may run on this machine; an endless loop ends then, and what
        waits after twice as long.

    Returns
    -------
    Library
        Each operator by its name; a library of one can itself be called.

    Raises
    ------
    CompileError
        The compiler's first error, at its line.
    OperatorError
        A kernel function is missing, or what is registered does not fit.
    NoCompilerError

    Notes
    -----
    Compiling takes a few seconds, and nothing where the same sources were compiled before.  The
    wheel's compiler first builds its C++ library, once on a machine, which takes about half a
    minute and is announced.
    """
    if name == "builtin":
        raise OperatorError("a library cannot be named builtin, which is a reserved word")
    flags = [str(flag) for flag in extra_cflags or ()]
    stack = [int(m[1]) for flag in flags if (m := _STACK.match(flag))]
    most = int(CUSTOM_OPERATORS.stack_bytes_max)
    if stack and stack[-1] > most:
        raise OperatorError(f"STACK_SIZE is {stack[-1]}; the largest stack has {most} bytes")
    stack_bytes = max([int(CUSTOM_OPERATORS.stack_bytes), *stack[-1:]])
    library = Library(
        _paths(compute_srcs, "compute_srcs"), _paths(shape_srcs, "shape_srcs"),
        multicore=multicore, flags=flags, log=print if verbose else None,
        limits=Limits(cpu_seconds, stack_bytes=stack_bytes),
    )  # fmt: skip
    if build_directory is not None:
        library.save(Path(build_directory) / f"lib{name}.so")
    return library


@checked
def load_library(path: str | PathLike) -> Library:
    """Load a library that :func:`load` wrote into its build directory.

    Raises
    ------
    FileNotFoundError, ValueError
        If there is none; if it is something else.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no library {path.name}; custom_op.load(..., build_directory=...) writes it"
        )
    try:
        description = json.loads(path.read_bytes())
        if description["what"] != _LIBRARY:
            raise ValueError
        moved = path.resolve().parent
        sources = {
            kind: [_moved(source, description["folder"], moved) for source in description[kind]]
            for kind in ("compute_srcs", "shape_srcs")
        }
        flags, multicore = list(description["flags"]), bool(description["multicore"])
    except (ValueError, LookupError, TypeError, UnicodeDecodeError):
        raise ValueError(
            f"{path.name} is no library of custom operators that this package built; build it "
            "with custom_op.load"
        ) from None
    return load(path.stem.removeprefix("lib"), sources["compute_srcs"], sources["shape_srcs"],
                multicore=multicore, extra_cflags=flags)  # fmt: skip


def _moved(source: str, before: str, now: Path) -> str:
    """Return a source's place, beside the library also when both were moved."""
    path = Path(source)
    if path.is_relative_to(before) and (now / path.relative_to(before)).is_file():
        return str(now / path.relative_to(before))
    return source


def _paths(sources, argument_name) -> list[Path]:
    if isinstance(sources, str) or not sources:
        raise TypeError(f"{argument_name} is {short(sources)}; it must be a list of files of C++")
    paths = [Path(source).resolve() for source in sources]
    for path in paths:
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {path.name} ({argument_name})")
    return paths
