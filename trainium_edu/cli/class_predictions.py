"""Collect a class's predictions from its notebooks, and show them as histograms.

A committed prediction stands in the notebook's own output (see ``widgets/prediction.py``), so
nothing is run here.  What counts is what was committed before the answer was shown.
"""

import json
import math
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from io import BytesIO
from itertools import pairwise
from pathlib import Path

from trainium_edu import files
from trainium_edu.cli.grade_one import read_submission
from trainium_edu.cli.limits import Unreadable
from trainium_edu.cli.page import rendered
from trainium_edu.exercises.cells import shown_by, text_of
from trainium_edu.files import tables
from trainium_edu.tools.schema import checked
from trainium_edu.widgets.prediction import MIME, RECOGNISED

__all__ = ["ClassPrediction", "collect", "plot_predictions", "show"]

_SCHEMA = tables(__file__)


@dataclass
class ClassPrediction:
    """All answers to one question."""

    key: str
    question: str
    kind: str
    unit: str
    options: list
    values: list = field(default_factory=list)
    changed_after_answer: int = 0
    misconceptions: Counter = field(default_factory=Counter)  #: by name, as the reveals knew them
    answers: Counter = field(default_factory=Counter)  #: the right one, as the reveals spell it

    @property
    def answer(self) -> str:
        """The right answer, as most notebooks spell it; empty if no notebook reveals it."""
        return next((text for text, _ in self.answers.most_common(1)), "")

    def _given(self) -> list:
        return self.values if self.kind == "number" else [_spelled(value) for value in self.values]

    def _bins(self) -> list[tuple]:
        """Return the label, the least and the greatest value of each bin."""
        if self.kind == "number":
            return _number_bins(sorted(set(self.values)))
        given = [text for text, _ in Counter(self._given()).most_common()]
        return [(text, text, text) for text in (self.options if self.kind == "choice" else given)]

    def right_bin(self) -> int | None:
        """Return the place of the right answer among the bins, or None."""
        right: str | float = self.answer
        if self.kind == "number":
            number = re.match(r"[-+.e\d]+", self.answer.replace(",", ""))
            right = float(number[0]) if number else math.nan
        places = (i for i, (_, low, high) in enumerate(self._bins()) if low <= right <= high)
        return next(places, None)

    def bins(self) -> list[tuple[str, int]]:
        """Return (label, count), in the order of the options or of the numbers."""
        given = self._given()
        return [(label, sum(a <= value <= b for value in given)) for label, a, b in self._bins()]

    def __str__(self):
        return rendered("prediction.txt", asked=self, bins=self.bins(), right=self.right_bin())


def collect(paths) -> dict[str, ClassPrediction]:
    """Read the predictions of many notebooks; say on stderr which cannot be read.

    Parameters
    ----------
    paths : iterable of Path

    Returns
    -------
    predictions : dict
        By key, in order of keys.
    """
    found: dict[str, ClassPrediction] = {}
    for path in map(Path, paths):
        try:
            cells = read_submission(path)["cells"]
        except Unreadable as error:
            print(f"{path}: {error}", file=sys.stderr)
            continue
        records, slips, answers = {}, {}, {}
        for cell in cells:
            shown = [out["data"] for out in shown_by(cell)]
            for data in shown:
                if record := _sound(data.get(MIME)):
                    records[record["key"]] = record
                if isinstance(known := data.get(RECOGNISED), dict):
                    slips[str(known.get("key"))] = str(known.get("misconception"))[:80]
            answers |= _revealed(text_of(cell), shown)
        for key, record in records.items():
            about = (record[name] for name in ("key", "question", "kind", "unit", "options"))
            question = found.setdefault(key, ClassPrediction(*about))
            if question.kind == record["kind"]:
                question.values.append(record["value"])
                question.changed_after_answer += bool(record["changes_after_answer"])
                question.misconceptions.update([slips[key]] if key in slips else ())
                question.answers.update([answers[key]] if key in answers else ())
    return dict(sorted(found.items()))


def show(paths, *, as_json: bool, folder) -> None:
    """Print the predictions of many notebooks, and draw a histogram of each into a folder."""
    found = collect(paths)
    if as_json:
        data = [{**vars(p), "bins": p.bins(), "answer": p.answer} for p in found.values()]
        print(json.dumps(data, indent=1))
    else:
        print("\n\n".join(map(str, found.values())) or "no committed predictions found")
    for key, asked in found.items() if folder else ():
        picture = BytesIO()
        plot_predictions(asked).savefig(picture, dpi=150)
        out = Path(folder, f"{key.replace('/', '-')}.png")
        files.write(out, picture.getvalue(), makes_folder=True)


def plot_predictions(prediction: ClassPrediction):
    """Draw one histogram.

    Parameters
    ----------
    prediction : ClassPrediction

    Returns
    -------
    fig : matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    from trainium_edu.viz.colours import COLOURS

    bins = prediction.bins()
    fig = Figure((7.0, 0.9 + 0.42 * max(len(bins), 2)), layout="constrained")
    ax = fig.subplots()
    labels, counts = zip(*bins, strict=True)
    right = prediction.right_bin()
    colours = [COLOURS["green" if i == right else "blue"] for i in range(len(bins))]
    ax.barh(range(len(bins)), counts, tick_label=labels, color=colours)
    ax.invert_yaxis()
    ax.locator_params(axis="x", integer=True)
    unit = f" ({prediction.unit})" if prediction.unit else ""
    answer = f"; the answer (green): {prediction.answer}" if prediction.answer else ""
    ax.set_xlabel(f"{len(prediction.values)} predictions{answer}")
    ax.set_title(f"{prediction.question}{unit}", loc="left", wrap=True)
    return fig


def _revealed(source: str, shown: list[dict]) -> dict[str, str]:
    """Return the answers that a cell's outputs state, by the keys that its source reveals."""
    keys = re.findall(r"predict\.reveal\(\s*[\"']([^\"']+)", source)
    text = "\n".join(str(data.get("text/plain")) for data in shown)
    stated = re.findall(r"^Answer: (.*)$", text, re.M)
    return dict(zip(keys, stated, strict=True)) if len(keys) == len(stated) else {}


def _sound(record) -> dict:
    """Return a record that has the form that the widget writes; else an empty one."""
    try:
        record = checked(record, _SCHEMA)
    except ValueError:
        return {}
    value, options = record["value"], record["options"]
    if isinstance(value, list):
        return record if sorted(value) == sorted(options) else {}
    return record if record["kind"] == "number" or value in options else {}


def _spelled(value) -> str:
    return value if isinstance(value, str) else " → ".join(value)


def _number_bins(different: list[float]) -> list[tuple[str, float, float]]:
    """Return bins of numbers: by value if few differ, over a decade by powers of two."""
    if len(different) <= 8:
        return [(f"{number:g}", number, number) for number in different]
    low, high = different[0], different[-1]
    edges = [low + (high - low) * i / 8 for i in range(9)]
    if low > 0 and high / low > 10:
        first, last = math.log2(low), math.log2(high)
        step = max(1, math.ceil((last - first) / 12))
        edges = [2.0**e for e in range(math.floor(first), math.floor(last) + step + 1, step)]
    ends = [*(math.nextafter(edge, -math.inf) for edge in edges[1:-1]), edges[-1]]
    labels = [f"{low:g} to {high:g}" for low, high in pairwise(edges)]
    return list(zip(labels, edges[:-1], ends, strict=True))
