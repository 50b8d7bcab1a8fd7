"""Try wrong arguments on every public function: the worker behind ``test_wrong_arguments.py``.

Which calls are right is learned from the docstrings: their examples run under a profiler that
remembers the arguments of every public function they reach, and `GOOD` adds calls that no example
makes.  Which arguments are wrong follows from the signature and the numpydoc type lines: another
type, a number out of the stated range, NaN, infinity, a huge or negative number, a bool for a
number, text, None, nothing, a masked array, an array of objects.  One line of JSON is printed
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
        for call in GOOD.get(package, ()):
            sys.setprofile(remember)
            try:
                exec(call, {"__name__": "__main__"})
            except Exception as error:
                missed.append(f"{call.splitlines()[-1]}: {error!r}"[:200])
            finally:
                sys.setprofile(None)
    return calls, missed


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
    for entry in re.finditer(r"^(\*{0,2}\w[\w*, ]*?)(?: : (.*))?\n((?:    .*\n?|\n)*)",
                             section.group(1) + "\n", re.M):  # fmt: skip
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


#: Calls that no docstring's example makes.
_PROGRAM = """
import numpy as np
import trainium_edu.neuroncore as nc
core = nc.NeuronCore()
x, out = core.hbm(np.ones((128, 64), np.float32)), core.hbm((128, 64))
for i in range(2):
    tile, done = core.sbuf((128, 64), name="tile"), core.sbuf((128, 64), name="done")
    core.dma_copy(dst=tile, src=x)
    core.activation(dst=done, op="exp", data=tile)
    core.dma_copy(dst=out, src=done)
placement = nc.place(core.program)
timeline = nc.schedule(core.program, placement)
"""
_ARRAY = """
import numpy as np
import trainium_edu.neuroncore.systolic_array as sa
from trainium_edu.neuroncore.systolic_array import SystolicArray
small = SystolicArray(4, 4)
a, b = np.ones((4, 3), np.float32), np.ones((4, 5), np.float32)
run = sa.run(a, b, array=small, fmt="bf16", record=True)
"""
_RUN = """
import numpy as np
import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from trainium_edu.fabric import plan, torus
from trainium_edu.nki.examples import matmul as examples
@nki.jit
def kernel(x):
    tile = nl.load(x)
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.exp(tile))
    return out
run = nki.run(kernel, np.ones((128, 64), np.float32))
chips = torus(4, 4)
"""
_LAZY = """
import numpy as np
from trainium_edu import xla
from trainium_edu.training import lazy_digits, nn, optim
from trainium_edu.xla import cache, metrics, numpy as xnp, parallel_compile, xm
device = xla.Device()
x = xla.as_tensor(np.ones((4, 4), np.float32), device)
n = xla.as_tensor([0, 1, 2, 3], device)
image = xnp.reshape(x, (1, 1, 4, 4))
"""
_TRAINED = """
from trainium_edu import training
trainer = training.Trainer(training.Job(ranks=2, batch=8))
"""
GOOD: dict[str, list[str]] = {
    "settings": [
        "from trainium_edu import settings as s\ns.variable('PATH'), s.of_child({'A': 'b'})"
    ],
    "specs": ["from trainium_edu.specs import TRN1\n"
              "TRN1.find('psum.banks'), TRN1.replace(x=TRN1.sbuf)"],
    "timeline": ["from trainium_edu.timeline import Span, Timeline\n"
                 "t = Timeline([Span('a', 'b', 0, 1)])\nt.on('a'), t.busy_ns('a')"],
    "numerics": ["import trainium_edu.numerics as nm\nlaw = nm.exact_law(1024, 0.5, 8, 'fp16')\n"
                 "law.chance(1024.0), law.quantile(0.5), nm.range_table(['bf16'])"],
    "neuroncore": [
        _PROGRAM + "nc.band(core.program, placement)",
        _PROGRAM + "nc.causes_table(timeline, ('dma',))",
        _PROGRAM + "nc.without(timeline, 'dma')",
        _PROGRAM + "timeline.busy_ns('scalar'), timeline.rows_on('scalar')",
        _PROGRAM + "timeline.idle_ns('scalar'), timeline.waiting('scalar')",
        _PROGRAM + "nc.why(timeline).at(10.0)",
        _PROGRAM + "core.repeat(2), core.program.repeat(2)",
        _ARRAY + "sa.choice_table([(1, 4, 8)], small)",
        _ARRAY + "sa.dataflow_table([('a', 4, 4, 4)], small)",
        _ARRAY + "sa.interval_table([1, 4], small)",
        _ARRAY + "sa.reordering_bound(a, b)",
        _ARRAY + "sa.frames_of_run(run, dataflow='weight-stationary', swapped=False)",
        _ARRAY + "sa.run_dataflow('output-stationary', a, b[:, :4], array=small, fmt='bf16')",
        _ARRAY + "run.state(3)",
    ],
    "fabric": [
        "import trainium_edu.fabric as f\nf.trn1n_32xlarge(), f.trn2_48xlarge()",
        "from trainium_edu.fabric import grid, fully_connected\n"
        "t = grid(3, 3)\nfully_connected(4)",
        "from trainium_edu.fabric import *\nt = torus(4, 4)\n"
        "busiest_link_chunks(plan(t, 'all_reduce', 'ring'), t)\n"
        "hbm_touches(plan(t, 'all_reduce', 'ring'))",
        "import trainium_edu.fabric as f\nf.inf2_48xlarge(), f.ultraserver()",
    ],
    "nki": [
        _RUN + "run.with_buffers(2)",
        _RUN + "run.save('saved.run')\nnki.load('saved.run')",
        _RUN + "from trainium_edu.nki.collectives import ReplicaGroup\nReplicaGroup([[0, 1]])",
    ],
    "xla": [
        *(_LAZY + f"xnp.{call}" for call in (
            "exp(x)", "add(x, x)", "logical_and(x, x)", "logical_not(x)", "astype(x, 'bfloat16')",
            "where(x > 0, x, 0.0)", "clip(x, 0.0, 1.0)", "max(x, 0)", "min(x, 0)", "mean(x, 0)",
            "var(x, 0)", "argmax(x, 0)", "any(x)", "all(x)", "softmax(x)", "cross_entropy(x, n)",
            "layer_norm(x, x[0], x[0])", "matmul(x, x)", "conv2d(image, image)",
            "reshape(x, (2, 8))", "transpose(x, (1, 0))", "swapaxes(x, 0, 1)", "expand_dims(x, 0)",
            "squeeze(image, 0)", "broadcast_to(x, (2, 4, 4))", "concatenate([x, x])",
            "stack([x, x])", "split(x, 2)", "flip(x, 0)", "pad(x, 1)", "zeros(4, device=device)",
            "ones(4, device=device)", "zeros_like(x)", "ones_like(x)",
            "arange(4, device=device)", "one_hot(n, 4)", "take(x, n)",
        )),
        _LAZY + "x.reshape(2, 8), x.set_(x + 1.0), device.add_step_closure(print, ())",
        _LAZY + "with xla.world(xm.World(0, 1)):\n    xm.mark_step(), xm.add_step_closure(print)",
        _LAZY + "xm.all_reduce('sum', x), xm.mesh_reduce('a', 1.0, sum), xm.save(x, 'saved')",
        _LAZY + "model = nn.Linear(4, 4).to(device)\n"
        "optimizer = optim.SGD(model.parameters(), lr=0.1)\n"
        "model(x).sum().backward(), xm.optimizer_step(optimizer, True)",
        _LAZY + "xm.is_master_ordinal()\n"
        "metrics.metric_data('CompileTime'), metrics.counter_value('MarkStep')\n"
        "metrics.short_metrics_report()",
        _LAZY + "kept = cache.open_cache('cache')\nkept.get_or_compile(12, 'd41d8cd9', bytes)\n"
        "kept.get(12, 'd41d8cd9')\n"
        "kept.put_graph(14, 'd41d8cd9', 'a graph'), kept.graph_of(kept.entries()[0])",
        _LAZY + "parallel_compile.analyze(cache.CompileCache('none', '1.0'), [])",
        _LAZY + "none = cache.CompileCache('none', '1.0')\n"
        "parallel_compile.compile_collected(none, xla.Compiler)",
    ],
    "training": [
        _LAZY + "nn.manual_seed(0)",
        *(_LAZY + f"nn.{call}" for call in (
            "Conv2d(1, 1, 2).to(device)(image)", "MaxPool2d(2)(image)",
            "Dropout(0.5)(x)", "Embedding(4, 4).to(device)(n)", "Flatten()(image)", "GELU()(x)",
            "Linear(4, 4).train()",
            "Decoder(4, 4, 4, 1, 1, 4).to(device)(xnp.reshape(n, (1, 4)))",
            "ViT(image=4, patch=2, channels=1, width=4, depth=1, heads=1, hidden=4, classes=2)"
            ".to(device)(image)",
            "Linear(4, 4).load_state_dict(nn.Linear(4, 4).state_dict())",
        )),
        _LAZY + "model = nn.Linear(4, 4).to(device)\nmodel(x).sum().backward()\n"
        "optim.AdamW(model.parameters()), optim.clip_grad_norm_(model.parameters(), 1.0)",
        _LAZY + "optim.warmup_cosine(1, peak=1.0, warmup=2, steps=4)",
        _LAZY + "lazy_digits.what_recompiles(device)",
        _TRAINED + "trainer.load_state(trainer.state()), trainer.upset(1)",
        _TRAINED + "kept = training.Checkpoints('kept')\n"
        "kept.newest(trainer.job), kept.after(100, trainer.state)",
        _TRAINED + "run = training.fit(trainer, 2)\ntraining.flip(run, 1, '2.weight[3, 4]')",
        _LAZY + "nn.Encoder(4, 4, 2, 4, 1, 1, 4).to(device)(xnp.reshape(n, (1, 4)))",
    ],
    "widgets": [
        *(_LAZY + "from trainium_edu.widgets import compiled_steps as shown\n"
          f"y = x + 1.0\ndevice.mark_step()\nmade = device.executable\nshown.{call}"
          for call in (
            "history(device)", "explore(device)", "open_alone(made)", "where_time_goes(made)",
            "fusion_table(made)", "time_on_chip(device)", "size_of(made)",
        )),
        *(_RUN + f"from trainium_edu.widgets import {module}\n{module}.{call}"
        for module, call in (
            ("accumulation", "quick_test_explorer(runs=50, seed=1)"),
            ("collective_player",
             "collective_explorer('Trn1 (16 chips, 32 ranks)', 'kangaring', '16 MiB')"),
            ("collectives", "selection_explorer('trn1.32xlarge')"),
            ("kernel_view", "kernel_view(run, memory=True, sliders=True)"),
            ("systolic_array", "reuse_explorer(m=64, n=64)"),
            ("systolic_array", "stationary_explorer(k=64, rows=1, columns=256)"),
            ("topology", "topology_explorer()"),
            ("topology", "topology_picture(chips)"),
            ("topology", "cycles_picture(chips)"),
            ("training_player", "first_training_run(0.1, passes=1)"),
            ("training_cost", "faster_panel(optimizer='adam', utilisation=0.4)"),
        )),
    ],
    "viz": [
        _RUN + "from trainium_edu.viz import topology as view\nview.plot_topology(chips)",
        _RUN + "from trainium_edu.viz import roofline as view\nview.plot_roofline(())",
        "from trainium_edu.viz import collectives as view\n"
        "two, times, names = [1e6, 2e6], [[1e3, 2e3]], ['ring']\n"
        "view.plot_times(two, times, names)\nview.plot_bus_bandwidth(two, times, names, 1.5)\n"
        "view.plot_scaling([2, 4], times, names)\nview.plot_link_use([[0.1, 0.2]], names)",
        _ARRAY + "from trainium_edu.viz import systolic_array as view\n"
        "view.plot_reuse(64, m=64)",
    ],
    "tools": [_PROGRAM + "from trainium_edu.tools import perfetto\n"
              "perfetto.write(timeline, 'run.json')"],
    "exercises": ["from trainium_edu import exercises\nexercises.find('02/spacing')"],
}  # fmt: skip

if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
