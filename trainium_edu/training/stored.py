"""Tables that take minutes to measure, as JSON beside the modules whose commands measure them."""

import functools
import json
import sys
from collections.abc import Iterable
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from trainium_edu import files

__all__ = ["Scored", "path_of", "read", "write"]


class Scored:
    """A row with the accuracies of several seeds, in per cent."""

    __slots__ = ()
    accuracies: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Their mean, in per cent."""
        return float(np.mean(self.accuracies))

    @property
    def spread(self) -> float:
        """Their sample standard deviation, in points."""
        return float(np.std(self.accuracies, ddof=1)) if len(self.accuracies) > 1 else 0.0


def path_of(table: str, ending: str = "json") -> Path:
    """Return the file of a table, or of what else is stored here."""
    return Path(str(resources.files("trainium_edu.training"))) / f"{table}.{ending}"


@functools.cache
def read(table: str, kind: type) -> tuple:
    """Return a table's rows as records of a kind."""
    rows = json.loads(path_of(table).read_text(encoding="utf-8"))["rows"]
    return tuple(kind(**{name: tuple(value) if isinstance(value, list) else value
                         for name, value in row.items()}) for row in rows)  # fmt: skip


def write(table: str, rows: Iterable[Any], command: str = "", **head) -> None:
    """Store rows, each shown when it is measured, behind the command that measures them."""
    lines = []
    for row in rows:
        print(row, file=sys.stderr)
        lines.append("  " + json.dumps(asdict(row)))
    command = command or f"python -m trainium_edu.training.{table}"
    start = json.dumps({"command": command, **head})[:-1]
    files.write(path_of(table), start + ', "rows": [\n' + ",\n".join(lines) + "\n]}\n")
