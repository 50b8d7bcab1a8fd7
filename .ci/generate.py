"""Write what is made from the package: the glossary, Colab's notebook, tables, links, the floors.

Usage: python .ci/generate.py [--check]

From: ``specs/glossary.toml``, ``specs/named.toml``, ``specs.SOURCES``,
``exercises.lessons.COURSE``, the exercises, and the package's own imports: README's pages link
names like ``nki.run`` to the files that define them, and its buttons to the repository that
``pyproject.toml`` names.  Colab's notebook is lesson 00 after a cell that installs.
With ``--check`` nothing is written; the exit code says whether all of it is as it would be written.
"""

import json
import os
import re
import runpy
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from trainium_edu import exercises  # noqa: E402
from trainium_edu.cli.working_copy import stripped  # noqa: E402
from trainium_edu.exercises.lessons import COURSE  # noqa: E402
from trainium_edu.specs import SOURCES  # noqa: E402
from trainium_edu.specs.glossary import glossary, named  # noqa: E402

DOCS = runpy.run_path(str(ROOT / ".ci" / "docs.py"))
FLOORS = DOCS["FLOORS"]
URLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
WORDS_A_MINUTE, LOOK_MINUTES, EXERCISE_MINUTES = 180, 0.7, 5
HEARING_MINUTES = 1.5  # to open a headline's seals one by one
SENTENCE_WORDS = 16  # a shown line of so many words is no row of a table, but what a reveal says


def counted(path) -> tuple[float, float]:
    """Return minutes to read a lesson and look at its pictures, and for its exercises."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [c for c in cells if c["cell_type"] == "code"]
    asked = sum("exercise" in (c["metadata"].get("tags") or ()) for c in code)
    text = " ".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    outputs = [out.get("data", {}).get("text/plain", ()) for c in code for out in c["outputs"]]
    lines = "\n".join("".join(said) for said in outputs).splitlines()
    text += " ".join(line for line in lines if len(line.split()) >= SENTENCE_WORDS)
    words = len(re.findall(r"\w+", re.sub(r"\]\([^)]*\)", "", text)))
    reading = words / WORDS_A_MINUTE + LOOK_MINUTES * (len(code) - 2 * asked)
    hearings = sum("hearing(" in "".join(c["source"]) for c in code)
    return reading + HEARING_MINUTES * hearings, EXERCISE_MINUTES * asked


def readme_rows():
    """Yield README's table of lessons."""
    yield "| | lesson | minutes | core path |"
    yield "| --- | --- | ---: | :---: |"
    for x in COURSE:
        title = f"[{x.title}](notebooks/{x.stem}.ipynb)"
        yield f"| {x.number} | {title}: {x.about} | {x.takes} | {'● ' if x.core else ''}|"


def lesson_rows():
    """Yield the instructors' table of lessons."""
    yield "| lesson | core | stated min | counted min |"
    yield "| --- | --- | --- | --- |"
    for x in COURSE:
        reading, more = counted(ROOT / "notebooks" / f"{x.stem}.ipynb")
        apart = f"{reading:.0f} + {more}"
        said = apart if x.exercise_minutes else f"{reading + more:.0f}"
        yield f"| {x.stem} | {'yes' if x.core else ''} | {x.takes} | {said} |"


def exercise_rows():
    """Yield the instructors' table of exercises."""
    yield "| exercise | points | what it tests |"
    yield "| --- | --- | --- |"
    for lesson in exercises.LESSONS:
        for e in exercises.of_lesson(lesson):
            yield f"| `{e.key}` | {e.points} | {e.tests} |"


def with_table(text, rows) -> str:
    """Return a page with the table of the same header replaced."""
    rows = list(rows)
    begin = text.index(rows[0] + "\n")
    end = text.index("\n\n", begin)
    return text[:begin] + "\n".join(rows) + text[end:]


def linked_pages() -> list[Path]:
    """Return the pages whose links on names are kept right."""
    return [ROOT / "README.md", *sorted((ROOT / ".github" / "docs").glob("*.md"))]


def with_links(text, page) -> str:
    """Return a page whose links on names like ``nki.run`` lead to where these are defined."""

    def link(found):
        if not (name := DOCS["NAME"].fullmatch(found[1])):
            return found[0]
        module, _ = DOCS["place_of"](name[1])
        path = ROOT.joinpath(*module.split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        return f"[{found[1]}]({Path(os.path.relpath(path, page.parent)).as_posix()})"

    return DOCS["LINK"].sub(link, text)


def with_addresses(text) -> str:
    """Return a page whose buttons lead to the repository, and whose pages are that repository's."""
    place = URLS["Repository"].removeprefix("https://github.com/")
    hosts = r"mybinder\.org/v2/gh|codespaces\.new|colab\.research\.google\.com/github"
    text = re.sub(rf"({hosts})/[\w.-]+/[\w.-]+", rf"\1/{place}", text)
    text = re.sub(r"git\+https://github\.com/[\w.-]+/[\w.-]+", f"git+{URLS['Repository']}", text)
    return re.sub(r"(\[read the lessons\]\()[^)]*", rf"\1{URLS['Lessons']}", text)


#: What Colab needs before a lesson, and what is otherwise there.
ON_COLAB = """# Lesson 00 on Google Colab

**Run the next cell first**: it installs the package and switches on the manager that players and
predictions need. Otherwise here: Colab fetches the code that displays widgets from other sites;
progress ends with the machine that Colab lends; links to the glossary lead nowhere.
[What works where](REPOSITORY/blob/HEAD/.github/docs/hosts.md)."""
INSTALL = """%pip install --quiet git+REPOSITORY
from google.colab import output

output.enable_custom_widget_manager()"""


def colab_notebook() -> dict:
    """Return lesson 00 without outputs, after a cell that makes Colab ready for it."""
    lesson = ROOT / "notebooks" / f"{COURSE[0].stem}.ipynb"
    book = stripped(json.loads(lesson.read_text(encoding="utf-8")))
    said, code = (text.replace("REPOSITORY", URLS["Repository"]) for text in (ON_COLAB, INSTALL))
    ready = cell("install", code) | {"cell_type": "code", "execution_count": None, "outputs": []}
    return book | {"cells": [cell("on-colab", said), ready, *book["cells"]]}


def cell(cell_id, text) -> dict:
    """Return a markdown cell."""
    lines = text.splitlines(keepends=True)
    return {"cell_type": "markdown", "id": cell_id, "metadata": {}, "source": lines}


def glossary_notebook() -> dict:
    """Return the glossary: one cell a term and one a source, so that a link finds it."""
    terms = glossary()
    by_name = sorted(terms.values(), key=lambda t: t.name.lower())
    index = " · ".join(f"[{t.name}](#cell-id=term-{t.slug})" for t in by_name)
    said = "The words of the lessons, one sentence each, with the source of the meaning."
    more = "then [what else the sources name](#cell-id=named), and what stands here for it."
    rest = "Nothing to run here: read what you came for, and close it."
    opening = f"# Glossary\n\n{said} [Sources](#cell-id=sources) follow, {more}\n{rest}"
    cells, group = [cell("title", opening), cell("index", index)], ""
    for term in terms.values():
        if term.group != group:
            group = term.group
            name = re.sub(r"[^a-z]+", "-", group.lower()).strip("-")
            cells.append(cell(f"group-{name}", f"## {group}"))
        cells.append(cell(f"term-{term.slug}", term.markdown))
    about = "What the lessons' short keys stand for, in the edition that was read."
    cells.append(cell("sources", f"## Sources\n\n{about}"))
    cells += [cell(f"source-{s.slug}", s.markdown) for s in SOURCES.values()]
    cells.append(cell("named", "\n".join(named_rows())))  # last: it is tall, and links scroll
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def named_rows():
    """Yield the lines of the glossary's last cell: all that the sources name."""
    yield "## Where the sources point to more\n"
    yield "Announcements and documents name much that no lesson is about. All of it stands here."
    yield "\n| name | what it is | here | named in |\n| --- | --- | --- | --- |"
    group = ""
    for row in named().values():
        if row.group != group:
            group = row.group
            yield f"| **{group}** | | | |"
        yield row.markdown


def generated() -> dict:
    """Return each generated file's path with its text."""
    readme, page = ROOT / "README.md", ROOT / ".github" / "INSTRUCTORS.md"
    tables = with_table(page.read_text(encoding="utf-8"), lesson_rows())
    books = {
        path: json.dumps(book, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
        for path, book in (
            (ROOT / "notebooks" / "glossary.ipynb", glossary_notebook()),
            (ROOT / ".github" / "colab.ipynb", colab_notebook()),
        )
    }
    linked = {p: with_links(p.read_text(encoding="utf-8"), p) for p in linked_pages()}
    floors = ROOT / ".github" / "docs" / "architecture.md"
    return {
        **linked,
        **books,
        readme: with_addresses(with_table(linked[readme], readme_rows())),
        floors: with_table(linked[floors], FLOORS["floors_table"](FLOORS["house"]())),
        page: with_table(tables, exercise_rows()),
    }


def main(arguments):
    """Write, or check."""
    loose = []
    for path, text in generated().items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        if "--check" in arguments:
            loose.append(str(path.relative_to(ROOT)))
        else:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    if loose:
        sys.exit("not as generated, run `python .ci/generate.py`: " + ", ".join(loose))


if __name__ == "__main__":
    main(sys.argv[1:])
