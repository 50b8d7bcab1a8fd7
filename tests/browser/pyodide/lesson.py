"""Run all cells of a lesson as Jupyter would; print how many ran, and what failed."""

import contextlib
import io
import json
import os
import warnings
from pathlib import Path

os.environ["MPLBACKEND"] = "agg"
os.chdir("/tmp")
warnings.simplefilter("ignore")

from IPython.core.interactiveshell import InteractiveShell  # noqa: E402

(notebook,) = Path("/project/notebooks").glob("07_*.ipynb")
shell = InteractiveShell.instance()
told = {"ran": 0, "failed": []}
for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
    if cell["cell_type"] == "code":
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            done = shell.run_cell("".join(cell["source"]), store_history=True)
        told["ran"] += done.success
        if not done.success:
            told["failed"].append([cell["source"], printed.getvalue()[-1500:]])
print(json.dumps(told))
