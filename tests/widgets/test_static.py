"""Joining of the browser's modules; judges: small modules of known names."""

import pytest

from trainium_edu.widgets.static import load


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


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"entry": 'import { a } from "./gone.js";'}, "gone.js, which is no file"),
        ({"entry": 'import { a } from "./b.js";', "b": "const a = 1;"}, "b.js exports no such"),
        (
            {"entry": 'import { b } from "./b.js";', "b": 'import { e } from "./entry.js";'},
            "entry.js → b.js → entry.js",
        ),
        ({"entry": "export let a = 1;"}, "export let a = 1;"),
        ({"entry": 'import a from "./b.js";', "b": ""}, 'import a from "./b.js";'),
        ({"entry": 'import { a } from "https://example.org/a.js";'}, "https://example.org"),
    ],
)
def test_what_cannot_be_joined_is_refused_by_name(tmp_path, files, says):
    with pytest.raises(ValueError, match=says):
        load("entry.js", folder=written(tmp_path, **files))
