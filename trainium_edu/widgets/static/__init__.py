"""The browser's half of the widgets: plain ES modules and styles, nothing fetched or built.

`shared/` holds what all players stand on.  A player's entry file imports the rest, and `load`
follows those imports and joins what it finds into the one text that anywidget hands to the page.
"""

import posixpath
import re
from pathlib import Path

__all__ = ["load"]

IMPORT = re.compile(r'^import (?:\{([^}]*)\}|\* as (\w+)) from "(\.\.?/[^"]+)";$', re.MULTILINE)
EXPORT = re.compile(r"^export ((?:async )?function\*? |class |const )(\w+)", re.MULTILINE)
DEFAULT = re.compile(r"^export default (.+);$", re.MULTILINE)
UNREAD = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


def load(*names: str, folder: Path = Path(__file__).parent) -> str:
    """Join files of this folder into one style sheet, or one entry and its imports into one module.

    Parameters
    ----------
    names : str
        Style sheets in order, or one JavaScript file.
    folder : Path, optional

    Returns
    -------
    text : str
        For JavaScript, one ES module that imports nothing and has the entry's default export.

    Raises
    ------
    ValueError
        If an import is not found or runs in a circle, or if an import or export has a form that
        is not read here.

    Notes
    -----
    Each module becomes one function that returns its exports, so that its own names stay its own.
    The forms read are `import { a, b as c } from "./x.js";`, `import * as x from "./x.js";`, and
    `export` before a function, a class or one `const`; no `let`, because values are handed on once.
    """
    if not names[0].endswith(".js"):
        return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)
    modules: dict[str, tuple[set, str]] = {}
    _add(names[0], folder, modules, ())
    default = "default" in modules[names[0]][0]
    last = f'export default $modules["{names[0]}"].default;\n' if default else ""
    return "\n".join(["const $modules = {};", *(text for _, text in modules.values()), last])


def _add(name, folder, modules, importers):
    """Put a module behind what it imports: its exported names, and its text as one function."""
    if name in importers:
        raise ValueError(f"imports run in a circle: {' → '.join((*importers, name))}")
    if name in modules:
        return
    body = (folder / name).read_text(encoding="utf-8")
    body = IMPORT.sub(lambda found: _bind(found, name, folder, modules, (*importers, name)), body)
    exports = [found[1] for found in EXPORT.findall(body)]
    body = EXPORT.sub(r"\1\2", body)
    body, defaults = DEFAULT.subn(r"const $default = \1;", body)
    unread = UNREAD.search(body)
    if unread:
        raise ValueError(f"{name} has a line that is not read here: {unread[0]}")
    given = ", ".join(exports + ["default: $default"] * defaults)
    body = f'$modules["{name}"] = (() => {{\n{body}\nreturn {{ {given} }};\n}})();'
    modules[name] = ({*exports, *["default"] * defaults}, body)


def _bind(found, name, folder, modules, importers):
    """Return one import of a module as a constant, with the module that it names put in front."""
    listed, whole, path = found.groups()
    other = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
    if not (folder / other).is_file():
        raise ValueError(f"{name} imports {path}, which is no file of {folder.name}")
    _add(other, folder, modules, importers)
    if whole:
        return f'const {whole} = $modules["{other}"];'
    pairs = [part.split(" as ") for part in re.split(r"\s*,\s*", listed.strip()) if part]
    missing = {pair[0] for pair in pairs} - modules[other][0]
    if missing:
        raise ValueError(f"{name} imports {', '.join(sorted(missing))}; {other} exports no such")
    return f'const {{ {", ".join(": ".join(pair) for pair in pairs)} }} = $modules["{other}"];'
