"""Other platforms: names that Windows or macOS lacks, and what a browser's Python lacks.

Judges: typeshed, which mypy has; a process from which threads and modules were taken.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

import mypy

from tests.for_each import for_each
from tests.texts import text_beside

ROOT = Path(__file__).parents[1]
TYPESHED = Path(mypy.__file__).parent / "typeshed" / "stdlib"
STUBS = {"os": "os/__init__.pyi", "signal": "signal.pyi", "socket": "socket.pyi",
         "time": "time.pyi"}  # fmt: skip
MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "termios", "tty"}
#: What is used there is reached through one question: its file, and the line that asks.
GUARDED = {
    "cli/sandbox.py": ("cli/sandbox.py", 'if os.name != "posix" or os.geteuid()'),
    "neuroncore/gpsimd_cpp": ("neuroncore/gpsimd_cpp/compiler.py", 'if not hasattr(os, "fork"):'),
    "torch/ranks": ("torch/ranks/processes.py", 'if not hasattr(os, "fork"):'),
}


def holds(test, platform):
    """Return whether a stub's condition holds on a platform, or None if it asks something else."""
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            return all(holds(v, platform) is not False for v in values)
        case ast.Compare(left=ast.Attribute(attr="platform"), ops=[op], comparators=[right]):
            same = right.value == platform
            return same if isinstance(op, ast.Eq) else not same
    return None


def defined(body, platform):
    """Return the names that a stub's body defines on a platform."""
    names = set()
    for node in body:
        match node:
            case ast.If():
                if holds(node.test, platform) is not False:
                    names |= defined(node.body, platform)
                if holds(node.test, platform) is not True:
                    names |= defined(node.orelse, platform)
            case ast.ImportFrom() | ast.Import():
                names |= {alias.asname or alias.name for alias in node.names}
            case ast.FunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.Assign(targets=targets):
                names |= {t.id for t in targets if isinstance(t, ast.Name)}
    return names


def missing_on(platform):
    """Return {module: names} that Linux has and a platform has not."""
    missing = {}
    for module, stub in STUBS.items():
        body = ast.parse((TYPESHED / stub).read_text(encoding="utf-8")).body
        missing[module] = defined(body, "linux") - defined(body, platform)
    return missing


def uses(tree, missing):
    """Yield each use of what is missing: its node, and its name."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                if name in missing.get(module, ()):
                    yield node, f"{module}.{name}"
            case ast.Import(names=names):
                for alias in names:
                    if alias.name in MODULES:
                        yield node, alias.name
            case ast.ImportFrom(module=module):
                if module in MODULES:
                    yield node, module


def asks(node):
    """Return whether a piece of code asks what the platform has."""
    text = ast.unparse(node)
    return any(w in text for w in ("hasattr(os", "hasattr(signal", "os.name", "sys.platform"))


def unguarded(text, missing):
    """Return what a module uses with nothing around it that asks for it, or expects its absence."""
    words = {*MODULES, *set().union(*missing.values())}
    if words.isdisjoint(re.findall(r"\w+", text)):  # most modules: nothing to read closely
        return []
    tree = ast.parse(text)
    used = list(uses(tree, missing))
    if not used:
        return []
    safe = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.If | ast.IfExp) and asks(node):
            safe |= {id(inner) for inner in ast.walk(node)}
        if isinstance(node, ast.Try):
            caught = " ".join(ast.unparse(h.type) for h in node.handlers if h.type)
            if any(error in caught for error in ("AttributeError", "ImportError")):
                safe |= {id(inner) for part in node.body for inner in ast.walk(part)}
    return [f"{name}, line {node.lineno}" for node, name in used if id(node) not in safe]


def test_what_typeshed_says_is_missing_on_windows():
    missing = missing_on("win32")
    assert {"fork", "killpg", "getuid", "sched_getaffinity", "register_at_fork"} <= missing["os"]
    assert {"SIGKILL", "SIGALRM", "setitimer"} <= missing["signal"]
    assert "kill" not in missing["os"]
    assert "sched_getaffinity" in missing_on("darwin")["os"]


def test_an_unguarded_call_is_seen_and_a_guarded_one_is_not():
    missing = missing_on("win32")
    bare = "import os\ndef f():\n    return os.getuid()\n"
    assert unguarded(bare, missing) == ["os.getuid, line 3"]
    assert not unguarded(bare.replace("()\n", "() if hasattr(os, 'getuid') else 0\n"), missing)
    assert unguarded("import fcntl", missing) == ["fcntl, line 1"]
    assert not unguarded("try:\n    import fcntl\nexcept ImportError:\n    fcntl = 0", missing)


def test_nothing_outside_a_guard_uses_what_a_platform_lacks():
    windows, mac = missing_on("win32"), missing_on("darwin")
    missing, found = {module: names | mac[module] for module, names in windows.items()}, {}
    for path in sorted((ROOT / "trainium_edu").rglob("*.py")):
        name = path.relative_to(ROOT / "trainium_edu").as_posix()
        lines = unguarded(path.read_text(encoding="utf-8"), missing)
        if lines and not name.startswith(tuple(GUARDED)):
            found[name] = lines
    assert found == {}


@for_each("path, line", GUARDED.values())
def test_what_needs_processes_of_linux_asks_for_them_once(path, line):
    assert (ROOT / "trainium_edu" / path).read_text(encoding="utf-8").count(line) == 1


# -- a browser's Python (WebAssembly) -----------------------------------------------------------

#: Run in a process that has what Pyodide has: no threads, and none of these modules.
IN_A_BROWSER = text_beside(__file__, "in_a_browser.py.txt")


def test_only_ranks_and_operators_in_c_need_modules_that_browsers_lack():
    run = [sys.executable, "-c", IN_A_BROWSER]
    done = subprocess.run(run, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines() == [
        "neuroncore.gpsimd_cpp.stored lzma",
        "training.parallel.lockstep greenlet",
    ]
