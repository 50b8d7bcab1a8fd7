"""Run lessons from clean and store them: outputs kept, all that changes by itself removed.

What Python draws is stored as Python drew it; of what the page draws, Chromium takes a picture.  On
one machine the same lesson gives the same bytes; another Chromium, or other fonts, may not.

Usage: python .ci/notebooks.py [--check] notebooks/*.ipynb

With ``--check`` nothing runs or is written; the exit code says whether all are in normal form.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import nbclient
import nbformat
from pictures import VIEW, add_pictures, chromium

KEPT_CELL_METADATA = {"tags", "trainium_edu", "nbgrader", "jupyter", "collapsed"}


def normalise(notebook):
    """Drop run times, widget state and random widget ids; sort the rest; fix the kernel's name."""
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {
                "display_name": "Python 3 (ipykernel)",
                "language": "python",
                "name": "python3",
            },
            "language_info": {"name": "python"},
        }
    )
    count = 0
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict(
            {k: v for k, v in sorted(cell.metadata.items()) if k in KEPT_CELL_METADATA}
        )
        if cell.cell_type != "code":
            continue
        count += 1
        if cell.outputs or cell.execution_count is not None:
            cell.execution_count = count
        for output in cell.outputs:
            output.get("data", {}).pop(VIEW, None)
            if "execution_count" in output:
                output.execution_count = count
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def run(path, browser):
    """Execute one notebook, predictions committed, progress folder empty; add its pictures."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"TRAINIUM_EDU_COMMITTED": "1", "TRAINIUM_EDU_HOME": home}
        client = nbclient.NotebookClient(
            notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": "."}}
        )
        client.execute()
    add_pictures(notebook, client.widget_state, client.widget_buffers, browser)
    return notebook


def stored(notebook) -> str:
    """Return a notebook as the text of its file, in normal form."""
    notebook = normalise(notebook)
    nbformat.validate(notebook)
    return nbformat.writes(notebook) + "\n"


def check(paths):
    """Exit with a sentence if a notebook is not in normal form."""
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    loose = [str(p) for p, t in texts.items() if stored(nbformat.reads(t, as_version=4)) != t]
    if loose:
        sys.exit("not in normal form, run `make notebooks`: " + ", ".join(loose))


def main(arguments):
    paths = [Path(a) for a in arguments if a != "--check"]
    if "--check" in arguments:
        return check(paths)
    with chromium() as browser:
        for path in paths:
            start = time.perf_counter()
            path.write_text(stored(run(path, browser)), encoding="utf-8")
            print(f"{path}: {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
