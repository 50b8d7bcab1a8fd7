"""Try wrong arguments on every public function: the worker behind ``test_wrong_arguments.py``.

Which calls are right is learned from the docstrings: their examples run under a profiler that
remembers the arguments of every public function they reach; `right_calls.toml` adds calls that no
example makes.  Which arguments are wrong follows from the signature and the numpydoc type lines:
another type, a number out of the stated range, NaN, infinity, a huge or negative number, a bool for
a number, text, None, nothing, a masked array, an array of objects.  One line of JSON is printed
before each call and one after it, so that a call that never returns is known by name.

    python tests/wrong_arguments.py <package> <share of the calls> <seed>
"""

import ast
import contextlib
import doctest
import functools
import importlib
import inspect
import io
import json
import linecache
import os
import pkgutil
import random
import re
import resource
import signal
import sys
import time
import tomllib
import traceback
import warnings
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
PACKAGES = ["specs", "settings", "timeline", "numerics", "neuroncore", "fabric", "cluster", "nki",
            "xla", "training", "viz", "widgets", "tools", "exercises"]  # fmt: skip
#: Floors whose front door lists no names: the modules' own lists are public.
OPEN = ("viz", "widgets", "tools")
#: Front doors inside a package.
INNER = {
    "neuroncore": ("systolic_array", "tilings"),
    "nki": ("collectives",),
    "xla": ("numpy", "xm", "metrics", "buckets", "flags", "cache", "parallel_compile"),
    "training": ("nn", "optim", "lazy_digits"),
}
SECONDS_PER_CALL = 3  # of the processor: a busy machine is no hang
MEMORY_BYTES = 12 << 30
TOOLBOX = {
    f"trainium_edu.widgets.{name}"
    for name in ("card", "sketch", "static", "live", "journal", "retiming")
}
#: Called in kernels only, where tests/nki tries their limits one by one.
IN_KERNELS = tuple(f"nki.collectives.{n}" for n in ("all_", "collective_", "rank_", "reduce_"))
#: Takes anything by design, or is no function for a reader's arguments.
LEFT_OUT = {
    "nki.jit", "neuroncore.NeuronCore.issue_with", "neuroncore.Program.append",
    *(f"xla.Device.{n}" for n in ("leaf", "scalar", "origin", "add", "evaluate")),
    "xla.Tensor.__init__",
}  # fmt: skip


class Hang(BaseException):
    """A call took longer than its limit."""


# --- What is public, and how it is called rightly ---


def public(package):
    """Return {dotted name: function} of everything public in a package, methods included."""
    module = importlib.import_module(f"trainium_edu.{package}")
    modules = [module, *(importlib.import_module(f"{module.__name__}.{n}")
                         for n in INNER.get(package, ()))]  # fmt: skip
    if package in OPEN:
        modules += [importlib.import_module(m.name) for m in
                    pkgutil.iter_modules(module.__path__, f"{module.__name__}.")]  # fmt: skip
    found = {}
    for each in modules:
        inner = each.__name__.removeprefix("trainium_edu.")
        home = inner if package not in OPEN else package
        for name in getattr(each, "__all__", ()):
            thing = getattr(each, name)
            if not getattr(thing, "__module__", "").startswith("trainium_edu"):
                continue
            if package == "viz" and not name.startswith("plot_"):
                continue  # a picture's parts; plot_... are the door
            if package == "widgets" and (inspect.isclass(thing) or each.__name__ in TOOLBOX):
                continue  # made by the functions that return it; what other widgets are made of
            if inspect.isfunction(thing):
                found[f"{home}.{name}"] = thing
            elif inspect.isclass(thing) and not issubclass(thing, BaseException):
                for attribute, method in vars(thing).items():
                    if attribute == "__init__" and hasattr(thing, "__dataclass_fields__"):
                        continue  # a record, made by the functions that return it
                    if inspect.isfunction(method) and (
                        not attribute.startswith("_") or attribute == "__init__"
                    ):
                        found[f"{home}.{name}.{attribute}"] = method
    return {
        name: function
        for name, function in found.items()
        if name not in LEFT_OUT
        and not name.startswith(IN_KERNELS)
        and set(inspect.signature(function).parameters) - {"self"}
    }


def right_calls(functions):
    """Return {name: {parameter: argument}}, learned by running the docstrings' examples."""
    names_of: dict = {}  # functions that one function makes share their code, and a right call
    for name, function in functions.items():
        names_of.setdefault(inspect.unwrap(function).__code__, []).append(name)
    calls, missed = {}, []

    def remember(frame, event, _):
        if event == "call" and frame.f_code in names_of:
            for name in names_of[frame.f_code]:
                if name not in calls:
                    calls[name] = {k: kept(v) for k, v in frame.f_locals.items()}

    packages = {name.split(".")[0] for name in functions}
    called = {name.rpartition(".")[2] for name in functions}
    for package in packages:
        for case in _examples(package):
            if package in OPEN and case.name.rpartition(".")[2] not in called:
                continue  # pictures take long to draw
            sys.setprofile(remember)
            try:
                doctest.DocTestRunner(verbose=False).run(case, out=len, clear_globs=False)
            finally:
                sys.setprofile(None)
        for call in more_calls(package):
            sys.setprofile(remember)
            try:
                exec(call, {"__name__": "__main__"})
            except Exception as error:
                missed.append(f"{call.splitlines()[-1]}: {error!r}"[:200])
            finally:
                sys.setprofile(None)
    return calls, missed


def more_calls(package):
    """Yield code that makes right calls: a paragraph behind what has to run before it."""
    table = tomllib.loads((ROOT / "tests/right_calls.toml").read_text("utf-8"))
    for names, calls in table.get(package, {}).items():
        before = "".join(table["before"].get(name, "") for name in names.split())
        yield from (before + call for call in calls.strip().split("\n\n"))


def _examples(package):
    module = importlib.import_module(f"trainium_edu.{package}")
    inside = pkgutil.walk_packages(getattr(module, "__path__", ()), f"{module.__name__}.")
    for name in [module.__name__, *(m.name for m in inside)]:
        yield from doctest.DocTestFinder().find(importlib.import_module(name))


def kept(value):
    """Return an argument as it was, also after a call that changed it."""
    if isinstance(value, list | dict | set):
        return type(value)(value)
    return value.copy() if type(value) is np.ndarray else value


# --- What is wrong ---

MASKED = np.ma.array([1.0, 2.0], mask=[False, True])
ANYTHING = {"an object": object(), "None": None, "text": "no such thing", "a complex number": 1j,
            "an array of objects": np.array([object(), None])}  # fmt: skip
NUMBERS = {"text of a number": "3", "NaN": float("nan"), "infinity": float("inf"),
           "-infinity": float("-inf"), "huge": 2**70, "-huge": -(2**70), "-1": -1, "0": 0,
           "a list": [1, [2]], "an array": np.ones(3),
           "a masked number": np.ma.masked}  # fmt: skip
INTEGERS = {"a fraction": 1.5, "a bool": True}
ARRAYS = {"text": "no such thing", "a masked array": MASKED, "a ragged list": [[1.0], [2.0, 3.0]],
          "texts": ["a", "b"], "empty": [], "NaN": np.array([np.nan, 1.0]),
          "of five dimensions": np.ones((1, 1, 1, 1, 2)),
          "complex": np.array([1j, 2.0])}  # fmt: skip
SEQUENCES = {"empty": [], "a number": 3, "of objects": [object()], "of None": [None]}
#: Wrong for a type whatever else its line says.
NEVER = {
    "int": {"an object", "text", "a complex number", "an array of objects", "text of a number",
            "NaN", "infinity", "-infinity", "a list", "an array", "a masked number", "a fraction",
            "a bool", "None"},
    "float": {"an object", "text", "a complex number", "an array of objects", "text of a number",
              "a list", "an array", "a masked number", "None", "NaN"},
    "bool": {"an object", "text", "a complex number", "an array of objects", "None"},
    "choice": {"an object", "text", "a complex number", "an array of objects", "None"},
    "str": {"an object", "a complex number", "an array of objects", "None"},
    "array": {"an object", "text", "an array of objects", "None", "a masked array", "texts",
              "a ragged list", "complex"},
    "record": {"an object", "text", "a complex number", "an array of objects", "None"},
    "sequence": {"an object", "None", "a number", "a complex number"},
}  # fmt: skip


def kind_of(type_line, default):
    """Return what a numpydoc type line asks for, or None where that is not one thing."""
    line = re.sub(r",? *optional|``.*?``", "", type_line).strip(" ,")
    if re.match(r"\{", line):
        return "choice" if " or " not in line.partition("}")[2] else None
    if " or " in line or line.startswith("("):
        return "record" if re.match(r"Format or str|Topology or str", line) else None
    if re.match(r"int\b(?!\[| array)", line):
        return "int"
    if re.match(r"(float|number)\b(?!\[|\d| array)", line):
        return "float"
    if re.match(r"bool\b", line):
        return "bool"
    if re.match(r"(str|text)\b", line):
        return "str"
    if re.match(r"(u?int\d*|float\d*|bool)?\[|(\w+ )?(\w+ )?array\b|(u?int|float)\d+\b", line):
        return "array" if "int array" not in line else None
    if re.match(r"(list|sequence|tuple|iterable)s? of", line):
        return "sequence"
    if re.match(r"[A-Z]\w+$", line):
        return "record"
    if not line and default is not inspect.Parameter.empty:
        plain = {bool: "bool", int: "int", float: "float"}
        return plain.get(type(default))
    return None


def parameters_of(function):
    """Return {parameter: (type line, description)} from a numpydoc docstring."""
    found, doc = {}, inspect.getdoc(function) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-{3,}|\Z)", doc, re.S | re.M)
    if not section:
        return found
    for entry in re.finditer(
        r"^(\*{0,2}\w[\w*, ]*?)(?: : (.*))?\n((?:    .*\n?|\n)*)", section.group(1) + "\n", re.M
    ):
        for name in entry.group(1).split(","):
            found[name.strip(" *")] = entry.group(2) or "", " ".join(entry.group(3).split())
    return found


def wrong_values(kind, type_line, description, default):
    """Yield (label, value, whether the docstring excludes it)."""
    pool = dict(ANYTHING)
    if kind in ("int", "float", "bool"):
        pool |= NUMBERS | (INTEGERS if kind == "int" else {})
    elif kind == "array":
        pool |= ARRAYS
    elif kind == "sequence":
        pool |= SEQUENCES
    elif kind is None:
        pool |= {"a number": 3, "NaN": float("nan"), "huge": 2**70, "empty": []}
    never = set(NEVER.get(kind, ()))
    said = f"{type_line} {description}"
    if default is None or (re.search(r"\bNone\b|optional$", type_line) and default is None):
        never.discard("None")
    if re.search(r"\bNone\b|not given|if none", said):
        never.discard("None")
    if kind == "float" and re.search(r"NaN|any (number|float)", said):
        never.discard("NaN")
    if kind in ("int", "float"):
        least = re.search(r"(?<![\w.*-])(-?\d+) to \**\d|from (-?\d+)\b|at least (-?\d+)", said)
        if least:
            low = int(next(g for g in least.groups() if g))
            never |= {"-huge", "-infinity"} | ({"-1"} if low >= 0 else set())
            never |= {"0"} if low >= 1 else set()
        if re.search(r"[Pp]ositive|above (0|zero)", said):
            never |= {"-1", "0", "-huge", "-infinity"}
        if re.search(r"\d+ to \d", said):
            never |= {"huge", "infinity"}
    for label, value in pool.items():
        yield label, value, label in never


# --- Trying ---


def is_deliberate(error):
    """Return whether an exception was raised by a statement of ours that raises."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    if not last.filename.startswith(str(ROOT / "trainium_edu")):
        return False
    return last.lineno in _raising_lines(last.filename)


@functools.cache
def _raising_lines(filename):
    tree = ast.parse("".join(linecache.getlines(filename)))
    lines = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            lines |= set(range(node.lineno, node.end_lineno + 1))
    return lines


def try_once(function, arguments):
    """Call, and return (outcome, detail)."""
    parameters = inspect.signature(function).parameters
    given, extra, named = [], (), {}
    for name, parameter in parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            extra = arguments.get(name, ())
        elif parameter.kind is parameter.VAR_KEYWORD:
            named |= arguments.get(name, {})
        elif parameter.kind is parameter.KEYWORD_ONLY:
            named[name] = kept(arguments[name])
        else:
            given.append(kept(arguments[name]))

    def too_long(*_):
        raise Hang

    signal.signal(signal.SIGPROF, too_long)
    signal.setitimer(signal.ITIMER_PROF, SECONDS_PER_CALL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = function(*given, *extra, **named)
            if inspect.isgenerator(found):
                next(found, None)
        signal.setitimer(signal.ITIMER_PROF, 0)
        return "accepted", type(found).__name__
    except Hang:
        return "hang", f"{SECONDS_PER_CALL} s"
    except Exception as error:
        signal.setitimer(signal.ITIMER_PROF, 0)
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        what = f"{type(error).__name__}: {error} ({where})"
        return ("refused" if is_deliberate(error) else "raw"), what.replace("\n", " ")[:200]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def cases(functions, calls):
    """Yield (name, parameter, label, arguments, excluded) for all wrong arguments."""
    for name, function in functions.items():
        if name not in calls:
            continue
        lines = parameters_of(function)
        if name.endswith(".__init__"):
            home = sys.modules[function.__module__]
            lines = parameters_of(getattr(home, function.__qualname__.split(".")[0])) or lines
        for parameter in inspect.signature(function).parameters.values():
            if parameter.name == "self" or parameter.kind in (parameter.VAR_KEYWORD,):
                continue
            line, text = lines.get(parameter.name, ("", ""))
            kind = kind_of(line, parameter.default)
            for label, value, excluded in wrong_values(kind, line, text, parameter.default):
                wrong = (value,) if parameter.kind is parameter.VAR_POSITIONAL else value
                yield name, parameter.name, label, calls[name] | {parameter.name: wrong}, excluded


def main(package, share, seed):
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    channel = os.fdopen(os.dup(1), "w")

    def say(**line):
        print(json.dumps(line), file=channel, flush=True)

    if package in ("nki", "widgets"):  # a traceback that leaves our own frames out hides its origin
        executing = importlib.import_module("trainium_edu.nki.launching.executing")
        executing.frames_of_kernel = lambda problem: problem.__traceback__
    functions = public(package)
    began = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        calls, missed = right_calls(functions)
        say(functions=len(functions), unknown=sorted(set(functions) - set(calls)), missed=missed,
            seconds=time.perf_counter() - began)  # fmt: skip
        chosen = random.Random(seed)
        for name, parameter, label, arguments, excluded in cases(functions, calls):
            if chosen.random() >= share:
                continue
            call = f"{name}({parameter}={label})"
            say(trying=call)
            outcome, detail = try_once(functions[name], arguments)
            if outcome == "accepted":
                outcome = "silent" if excluded else "fine"
            say(call=call, outcome=outcome, detail=detail)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
