"""Record what lesson 13's operators give, for machines without a C++ compiler.

Usage: python tests/golden/make_operator_outcomes.py

Runs the lesson with a compiler and keeps every outcome that it asks for.  Needed whenever a program
of the lesson, or what is counted of programs, changes.
"""

import os
import tempfile
from pathlib import Path

import nbclient
import nbformat

ROOT = Path(__file__).parents[2]
LESSON = ROOT / "notebooks" / "13_your_own_operator.ipynb"
OUTCOMES = ROOT / "trainium_edu" / "exercises" / "your_own_operator.json.xz"
BEGIN = """
from trainium_edu.exercises import cpp
from trainium_edu.neuroncore.gpsimd_cpp.stored import Stored

_recorder = Stored({path!r}, recording=True)
cpp.stored = lambda: _recorder
"""


def main():
    book = nbformat.read(LESSON, as_version=4)
    with tempfile.TemporaryDirectory() as home:
        made = Path(home) / OUTCOMES.name
        book.cells.insert(0, nbformat.v4.new_code_cell(BEGIN.format(path=str(made))))
        environment = {**os.environ, "TRAINIUM_EDU_COMMITTED": "1", "TRAINIUM_EDU_HOME": home,
                       "PYTHONPATH": str(ROOT)}  # fmt: skip
        nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute(env=environment)
        OUTCOMES.write_bytes(made.read_bytes())
    print(f"{OUTCOMES.name}: {OUTCOMES.stat().st_size / 1024:.1f} KiB")


if __name__ == "__main__":
    main()
