"""Loops that AWS's compiler traced once, and Python here runs turn by turn: where that matters.

The compiler read the body of ``nl.affine_range`` (and ``sequential_range``) once, with the loop
variable as a symbol.  A Python name that the body rebinds changed once there, and changes in
every turn here; a ``return`` in the body ended the tracing after all turns were recorded.  Both are
found in the source and said as warnings.

An address is the exception: a tile placed by ``nki.compiler`` in such a body has the address that
its line was given in the first turn, however far Python has counted since.
"""

import ast
import inspect
import textwrap
import warnings
from functools import lru_cache

from trainium_edu.nki.asking import warn_at_kernel
from trainium_edu.nki.mistakes import frame_where, is_ours
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["annotations_of", "begin_loop", "check_annotations", "first_turn",
           "turns_of", "warn_below_top_level", "warn_of_loops"]  # fmt: skip

_LOOPS = frozenset({"affine_range", "sequential_range"})
_seen: set = set()  #: code of the functions that were looked at


def warn_of_loops(function) -> None:
    """Warn, once, of what a function's loops do differently from AWS's compiler."""
    code = getattr(function, "__code__", None)
    if code is None or code in _seen:
        return
    _seen.add(code)
    tree, first = _parsed(function)
    for line, text in _found(tree):
        warnings.warn_explicit(text, UserWarning, code.co_filename, line + first - 1)


def _parsed(function) -> tuple[ast.AST, int]:
    """Return a function's syntax tree and first line; an empty tree without readable source."""
    try:
        lines, first = inspect.getsourcelines(function)
        return ast.parse(textwrap.dedent("".join(lines))), first
    except (OSError, SyntaxError, TypeError):  # typed at a prompt, or made by code
        return ast.Module([], []), 1


def _found(tree):
    """Yield (line, text) of what to warn of."""
    for loop in ast.walk(tree):
        if not isinstance(loop, ast.For) or _name(loop.iter) not in _LOOPS:
            continue
        what = f"the body of nl.{_name(loop.iter)} was traced once by AWS's compiler"
        for node in _inside(loop):
            if isinstance(node, ast.Return):
                yield node.lineno, what + _RETURN
        for name, line in sorted(_bound(loop, tree).items()):
            yield line, what + _REBOUND.format(name)
    yield from _out_of_scope(tree)


#: What makes no tile.
_NO_TILES = frozenset({
    *_LOOPS, "arange", "device_print", "ds", "dslice", "get_nc_version", "loop_reduce",
    "num_programs", "par_dim", "program_id", "program_ndim", "spmd_dim", "static_range", "store",
})  # fmt: skip
_BLOCKS = ast.For | ast.If | ast.While


def _out_of_scope(tree):
    """Yield (line, text) of tiles that an ``if`` makes and that are read outside of it."""
    inside: dict = {}  #: name -> innermost blocks that bind it; None: the function itself
    reads: dict = {}  #: name -> (line, the blocks around it)

    def visit(node, blocks, is_tile):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            inside.setdefault(node.id, []).append((blocks[-1:], is_tile))
        elif isinstance(node, ast.Name):
            reads.setdefault(node.id, []).append((node.lineno, blocks))
        is_tile = isinstance(node, ast.Assign) and _makes_tile(node.value)
        blocks = (*blocks, node) if isinstance(node, _BLOCKS) else blocks
        for child in ast.iter_child_nodes(node):
            visit(child, blocks, is_tile)

    visit(tree, (), False)
    for name, bindings in inside.items():
        homes = {block for blocks, _ in bindings for block in blocks}
        is_in_ifs = all(blocks and isinstance(blocks[0], ast.If) for blocks, _ in bindings)
        if is_in_ifs and all(is_tile for _, is_tile in bindings):
            outside = [line for line, blocks in reads.get(name, ()) if homes.isdisjoint(blocks)]
            for line in outside[:1]:
                yield line, _OUT_OF_SCOPE.format(name)


def _makes_tile(value) -> bool:
    """Return whether an expression calls a function of ``nl`` or ``nisa`` that makes a tile."""
    home = getattr(getattr(value, "func", None), "value", None)
    return getattr(home, "id", "") in ("nl", "nisa") and _name(value) not in _NO_TILES


_OUT_OF_SCOPE = (
    "{0} is a tile that an `if` makes, and is read outside of it, which AWS's compiler refused: "
    "make it before the `if` ({0} = nl.ndarray(...)) and write {0}[...] = ... inside "
    "(err_local_variable_used_out_of_scope)"
)


_RETURN = (
    ", which recorded all turns before this return; here it ends the first turn: put the return "
    "after the loop"
)
_REBOUND = (
    ", so {0}, which is bound anew in it and read after it, changed once there and in every turn "
    "here; keep what turns hand on in a tile made before the loop ({0}[...] = ..., +=), or use "
    "nl.loop_reduce (err_local_variable_used_out_of_scope)"
)


def _name(call):
    """Return the name of what a call calls: nl.affine_range(n) -> "affine_range"."""
    function = getattr(call, "func", None)
    return getattr(function, "attr", getattr(function, "id", None))


def _inside(loop):
    """Yield the statements of a loop, without those of functions defined in it."""
    waiting = list(loop.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def _bound(loop, tree) -> dict:
    """Return {name: line} of the names that a loop's body rebinds and that are read after it.

    A name counts where its first use behind the loop reads it; one that counts turns (``n += 1``,
    begun at a constant) also where the body reads it.
    """
    numbers = {target.id for node in ast.walk(tree) for target in _numbered(node)}
    line_by_name: dict = {}
    for node in _inside(loop):
        if isinstance(node, ast.Assign) and _name(node.value) != "loop_reduce":
            for target in node.targets:
                if isinstance(target, ast.Name) and _is_read_behind(tree, loop, target.id):
                    line_by_name.setdefault(target.id, node.lineno)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            name = node.target.id  # a tile's += writes the tile
            if name in numbers and _readers(tree, name, loop.lineno):
                line_by_name.setdefault(name, node.lineno)
    return line_by_name


def _numbered(node):
    """Yield the names that a statement binds to constants: ``n = 0``, ``n, best = 0, None``."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            names, values = [target], [node.value]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                names, values = target.elts, node.value.elts
            for name, value in zip(names, values, strict=False):
                if isinstance(name, ast.Name) and isinstance(value, ast.Constant):
                    yield name


def _readers(tree, name, line) -> list:
    """Return the places below a line that read a name."""
    uses = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == name]
    return [n for n in uses if n.lineno > line and isinstance(n.ctx, ast.Load)]


def _is_read_behind(tree, loop, name) -> bool:
    """Return whether a name's first use behind a loop reads it."""
    behind = loop.end_lineno
    uses = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == name]
    after = [(n.lineno, isinstance(n.ctx, ast.Store)) for n in uses if n.lineno > behind]
    return bool(after) and not min(after)[1]


# -- annotations ------------------------------------------------------------------------------


@lru_cache(256)
def annotations_of(code, file) -> tuple:
    """Return (name, code of its shape) of what a function annotates once: ``t: tensor[128, n]``.

    Its file is part of the question: an annotation leaves no trace in code, and makes none unequal.
    """
    tree, _ = _parsed(code)
    names = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and type(n.ctx) is ast.Store]
    annotations = []
    for node in ast.walk(tree):
        kind = getattr(node, "annotation", None)
        if not (isinstance(node, ast.AnnAssign) and isinstance(kind, ast.Subscript)):
            continue
        is_tensor = ast.unparse(kind.value).rpartition(".")[2] in ("tensor", "mutable_tensor")
        if is_tensor and isinstance(node.target, ast.Name) and names.count(node.target.id) == 1:
            shape = compile(ast.Expression(kind.slice), file, "eval")
            annotations.append((node.target.id, shape))
    return tuple(annotations)


def check_annotations(code, waiting: list, is_tile) -> None:
    """Raise where a kernel's variable has another shape than its annotation says.

    Parameters
    ----------
    code : code
        The kernel's.
    waiting : list
        Of ``annotations_of``; those that were found are taken out.
    is_tile : callable
    """
    frame = frame_where(lambda other: other is code)
    if frame is None:
        return
    values = frame.f_locals
    for name, shape in [pair for pair in waiting if is_tile(values.get(pair[0]))]:
        waiting.remove((name, shape))
        try:
            sizes = eval(shape, frame.f_globals, values)
        except Exception:  # an annotation of another kind
            continue
        sizes = sizes if isinstance(sizes, tuple) else (sizes,)
        if tuple(values[name].shape) != sizes:
            raise NkiValidationError(
                f"{name} is annotated as tensor{list(sizes)}, and {values[name]!r} is assigned: "
                "correct one of them (err_annotation_shape_mismatch)"
            )


# -- addresses --------------------------------------------------------------------------------


@lru_cache(256)
def _loops(code) -> tuple:
    """Return (first line, last line, whether traced once, its variables) of each loop of a code."""
    tree, first = _parsed(code)
    loops = []
    for loop in ast.walk(tree):
        if isinstance(loop, ast.For | ast.While):
            last = (loop.end_lineno or loop.lineno) + first - 1
            target = getattr(loop, "target", ast.Tuple([]))
            names = tuple(n.id for n in ast.walk(target) if isinstance(n, ast.Name))
            is_traced = _name(getattr(loop, "iter", None)) in _LOOPS
            loops.append((loop.lineno + first - 1, last, is_traced, names))
    return tuple(loops)


def warn_below_top_level(frame, source) -> None:
    """Warn of a tensor in ``nl.shared_hbm`` that a loop makes, or a function that is called.

    Parameters
    ----------
    frame : frame
        Of this package; the line that asks is outside of it.
    source : code or None
        The kernel's.
    """
    frame = frame_where(lambda code: code is source or not is_ours(code.co_filename), frame)
    if frame is None or source is None:
        return
    if frame.f_code is not source or _around(frame):
        warn_at_kernel(
            "a tensor in nl.shared_hbm is made inside a loop, or in a function that the kernel "
            "calls, which AWS's compiler refused: make it at the kernel's top level "
            "(err_shared_hbm_must_in_kernel_level)"
        )


def _around(frame) -> list:
    line = frame.f_lineno
    return [loop for loop in _loops(frame.f_code) if loop[0] <= line <= loop[1]]


def turns_of(frame) -> dict:
    """Return {(code, line, variable): value} of the loops that a line stands in, outermost first.

    Callers count too, up to where the kernel was launched.
    """
    turns: list = []
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("trainium_edu.nki.launching"):
            break
        if not module.startswith("trainium_edu.nki."):
            here = [((frame.f_code, first, name), frame.f_locals.get(name))
                    for first, *_, names in sorted(_around(frame)) for name in names]  # fmt: skip
            turns = here + turns
        frame = frame.f_back
    return dict(turns)


def begin_loop(frame, addresses: dict) -> None:
    """Forget the addresses of a function whose outermost traced loop begins now."""
    if addresses and sum(loop[2] for loop in _around(frame)) <= 1:
        for key in [key for key in addresses if key[0] is frame.f_code]:
            del addresses[key]


def first_turn(frame, addresses: dict, place):
    """Return the place that this line was given in the first turn of a body traced once.

    Parameters
    ----------
    frame : frame
        Of the kernel.
    addresses : dict
        Kept while a program runs.
    place : callable
        What the line gives now.
    """
    loops = _around(frame)
    if not any(is_traced for _, _, is_traced, _ in loops):
        return place
    turn = tuple(frame.f_locals.get(name) for *_, is_traced, names in loops if not is_traced
                 for name in names)  # fmt: skip
    return addresses.setdefault((frame.f_code, frame.f_lasti, turn), place)
