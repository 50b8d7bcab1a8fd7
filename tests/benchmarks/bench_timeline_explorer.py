"""How long a slider of the timeline explorer waits for Python, by size of the program."""

import statistics
import time

from tests.benchmarks.timed import Table, best_of
from tests.viz.programs import gelu_linear
from trainium_edu.neuroncore import measure
from trainium_edu.widgets.timeline_explorer import timeline_explorer

TURNS = (40, 400, 2000)  # 5 instructions a turn
_FACTORS = (0.5, 0.71, 1.41, 2.0, 2.83)


def answers_ms(shown):
    """Return the milliseconds of each answer to a moved slider."""
    return [1e3 * best_of(1, lambda dma=dma: shown.set(dma=dma)) for dma in _FACTORS]


def main():
    """Print the table; return its answers as rows for pages."""
    table = Table(
        "instructions", "first picture's data, ms", "an answer, ms", "of 100 ms", "film, KiB"
    )
    for turns in TURNS:
        core = measure(gelu_linear(turns), buffers=2)
        begin = time.perf_counter()
        shown = timeline_explorer(core)
        first = 1e3 * (time.perf_counter() - begin)
        shown.set(buffers=3)  # placed once
        answer = statistics.median(answers_ms(shown))
        about = f"a slider of the timeline, {5 * turns:,} instructions, Python's part"
        table.row(about, f"{first:.0f}", f"{answer:.0f}", f"{answer / 100:.2f}",
                  f"{len(shown.film) / 1024:.0f}", page=(f"{answer:.0f} ms", ""))  # fmt: skip
    return table.found
