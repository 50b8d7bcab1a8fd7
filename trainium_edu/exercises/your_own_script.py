"""Exercises of lesson 10: what cuts a script, equal batches, a port, workers for a chip."""

import ast
import tempfile
from importlib.util import find_spec
from pathlib import Path

from trainium_edu import files
from trainium_edu.exercises.exercise import exercise, words_of
from trainium_edu.exercises.judge import NotAttempted, compare, has_form, reject, reject_if
from trainium_edu.exercises.scripts import Script, draw_scripts, find_the_lines

# --- the line that cuts the step ------------------------------------------------------------------

_WORDS = words_of(__file__)["scripts"]


def scripts(student: str = "") -> list[Script]:
    """Return the three loops of a student."""
    return cuts.numbers(student).scripts


@exercise("10/cuts", numbers=lambda draw: {"scripts": draw_scripts(draw, _WORDS, harmless=3)})
def cuts(answer, numbers):
    """Compare with the line at which the chip runs early."""
    find_the_lines(answer, numbers.scripts, _WORDS)


# --- batches of one length ------------------------------------------------------------------------


@exercise("10/batches")
def equal_batches(answer, numbers):
    """Count shapes, and how often each sample weighs."""
    for n, size in numbers.cases:
        made = answer(n, size)
        _check_form(made, n, size)
        lengths = {len(indices) for indices, _ in made}
        if lengths - {size}:
            other = sorted(lengths - {size})[0]
            reject("short last batch", n=n, other=other, size=size)
        weights = [0] * n
        for indices, ones in made:
            for i, weight in zip(indices, ones, strict=True):
                weights[i] += weight
        if twice := [i for i, weight in enumerate(weights) if weight > 1]:
            reject("counted twice", n=n, size=size, sample=twice[0])
        reject_if(0 in weights, "left out", n=n, size=size, left=weights.count(0))
        reject_if(len(made) > -(-n // size), "too many", count=len(made), enough=-(-n // size))


def _check_form(made, n, size):
    """Refuse what is no list of pairs of lists."""
    for one in made if isinstance(made, list | tuple) else [None]:
        fits = has_form(one, (list, tuple), (list, tuple))
        if not fits or len(one[0]) != len(one[1]) or {type(k) for k in (*one[0], *one[1])} - {int}:
            reject("wrong form", n=n, size=size, returned=made)
        if any(not 0 <= i < n for i in one[0]) or any(w not in (0, 1) for w in one[1]):
            reject("no such sample", last=n - 1)


# --- a port ---------------------------------------------------------------------------------------


def cuda_script(student: str = "") -> str:
    """Return the script of a student, for a GPU."""
    return _for_gpu(port.numbers(student).width)


def _for_gpu(width):
    return words_of(__file__)["programs"]["cuda"].replace("WIDTH", str(width))


def faults(script: str) -> list[tuple[str, dict]]:
    r"""Read a script, without running it, for what keeps it from running well on the chip.

    Parameters
    ----------
    script : str
        One training loop.

    Returns
    -------
    list of (name, values)
        In the order of the checklist, with what their sentences name; empty if nothing is found.

    Examples
    --------
    >>> [name for name, _ in faults("for x in data:\n    y = model(x.cuda())")]
    ['cuda is left', 'no device', 'no mark']
    """
    return list(_faults(ast.parse(script)))


def _faults(tree):
    left = [n.lineno for n in _all(tree, ast.expr) if "cuda" in _own_name(n) or _is_text(n, "cuda")]
    if left:
        yield "cuda is left", {"line": min(left)}
    is_named = any(_is_text(n, "xla") for n in _all(tree, ast.Constant))
    if not _called(tree) & {"xla_device", "device"} and not is_named:
        yield "no device", {}
    if _uses(tree, "xm") and not any(n.asname == "xm" for n in _all(tree, ast.alias)):
        yield "no import", {}
    inner = [n for n in _all(tree, ast.For) if len(_all(n, ast.For)) == 1]
    if inner:
        yield from _faults_in_loop(tree, inner[0])


def _all(node, kind) -> list:
    """Return the nodes of a kind in a tree."""
    return [n for n in ast.walk(node) if isinstance(n, kind)]


def _faults_in_loop(tree, loop):
    assigned = [n for n in _all(tree, ast.Assign) if "to" in _called(n.value)]
    moved = {n.targets[0].id for n in assigned if isinstance(n.targets[0], ast.Name)}
    slices = [n for n in _all(loop, ast.Subscript) if getattr(n.value, "id", None) in moved]
    if slices:
        yield "slices on the chip", {"line": slices[0].lineno}
    read = [n for n in _all(loop, ast.Assign) if _all(n.value, ast.Slice)]
    still = [
        n for n in read if not slices and "to" not in _called(n.value) and not _moved_later(loop, n)
    ]
    if still:
        yield "not moved", {"line": still[0].lineno}
    marks = [k for k, part in enumerate(loop.body) if _marks(part)]
    if not marks:
        within = any(_called(part) & {"mark_step", "sync"} for part in tree.body)
        yield "one giant graph" if within else "no mark", {}
        return
    steps = [k for k, part in enumerate(loop.body) if _called(part) & {"step", "optimizer_step"}]
    if steps and marks[0] < steps[-1]:
        yield "marked too early", {}
    asking = [part.lineno for part in loop.body[: marks[0]] if _asks(part)]
    if asking:
        yield "cut in two", {"line": asking[0]}
    if not _uses(loop, "print"):
        yield "says nothing", {}


def _own_name(node) -> tuple:
    return getattr(node, "attr", ""), getattr(node, "id", "")


def _is_text(node, text) -> bool:
    value = getattr(node, "value", None)
    return isinstance(node, ast.Constant) and isinstance(value, str) and value.startswith(text)


def _uses(node, name) -> bool:
    return any(n.id == name for n in _all(node, ast.Name))


def _called(node) -> set[str]:
    """Return the names of what is called in a statement."""
    calls = _all(node, ast.Call)
    return {getattr(call.func, "attr", getattr(call.func, "id", "")) for call in calls}


def _marks(part) -> bool:
    """Whether a statement marks a step."""
    called = _called(part)
    with_barrier = "optimizer_step" in called and "barrier" in ast.unparse(part)
    return with_barrier or bool(called & {"mark_step", "sync"})


def _moved_later(loop, assigned) -> bool:
    """Whether a later statement of the loop moves what this one assigns."""
    names = {n.id for target in assigned.targets for n in _all(target, ast.Name)}
    moves = (call.func for call in _all(loop, ast.Call) if "to" in _own_name(call.func))
    return names <= {getattr(getattr(move, "value", None), "id", "") for move in moves}


def _asks(part) -> bool:
    """Whether a statement needs the value of a tensor."""
    if "add_step_closure" in _called(part):
        return False
    asks = {"item", "float", "int", "tolist", "numpy", "cpu"}
    printed = [n for n in _all(part, ast.Call) if getattr(n.func, "id", "") == "print"]
    return bool(_called(part) & asks) or any(_uses(n, "loss") for n in printed)


def try_it(script: str) -> str:
    """Run a script on the emulated chip where PyTorch is, and return what came of it.

    Parameters
    ----------
    script : str

    Returns
    -------
    str
        Three lines of its report; where PyTorch is not installed, that it was not run.
    """
    if find_spec("torch") is None:
        return "Not run: PyTorch is not installed here. The check reads the text only."
    from trainium_edu.torch import programs
    from trainium_edu.training.run_numbers import summary_lines

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "script.py")
        files.write(path, script)
        try:
            outcome = programs.run(path)
        except RuntimeError as problem:
            return f"Run, and stopped: {problem}"
        return "\n".join(["Run:", *summary_lines(outcome.record)[1:4]])


@exercise("10/port")
def port(answer, numbers):
    """Read the script's text for what is left to do, in the order of the checklist."""
    reject_if(not isinstance(answer, str), "no text")
    if answer.strip() == _for_gpu(numbers.width).strip():
        raise NotAttempted("The script is still the one for a GPU.")
    try:
        found = faults(answer)
    except SyntaxError as problem:
        reject("no Python", problem=problem)
    if found:
        reject(found[0][0], **found[0][1])
    reject_if(f"64, {numbers.width})" not in answer, "another script")


# --- workers for a chip ---------------------------------------------------------------------------


def workers(batch, decode_ms, step_ms, ranks, vcpus):
    """Return the workers that a rank needs, or "none" where there are too few vCPUs."""
    needed = -(-batch * decode_ms // step_ms)
    return needed if needed * ranks <= vcpus else "none"


_SHORT_CUTS = {
    "rounded down": lambda b, d, s, r, v: (
        max(1, b * d // s) if max(1, b * d // s) * r <= v else "none"
    ),
    "one rank only": lambda b, d, s, r, v: workers(b, d, s, 1, v),
    "all ranks together": lambda b, d, s, r, v: n if (n := -(-b * d * r // s)) <= v else "none",
    "no limit": lambda b, d, s, r, v: -(-b * d // s),
    "one sample": lambda b, d, s, r, v: 1,
}


@exercise("10/workers")
def feed(answer, numbers):
    """Try instances with enough vCPUs and without; recognise the usual short cuts."""
    form = "no number", lambda got: got == "none" or (type(got) is int and got >= 1)
    compare(answer, numbers.cases, workers, _SHORT_CUTS, form, what="cases")
