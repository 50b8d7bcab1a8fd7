"""How long a slider of the timeline explorer waits for Python, by size of the program."""

import statistics
import time

from tests.viz.programs import gelu_linear
from trainium_edu.neuroncore import measure
from trainium_edu.widgets.timeline_explorer import timeline_explorer

TURNS = (40, 400, 2000)  # 5 instructions a turn
_FACTORS = (0.5, 0.71, 1.41, 2.0, 2.83)


def answers_ms(shown):
    """Return the milliseconds of each answer to a moved slider."""
    spent = []
    for dma in _FACTORS:
        begin = time.perf_counter()
        shown.set(dma=dma)
        spent.append(1e3 * (time.perf_counter() - begin))
    return spent


def main():
    """Print the table; return its answers as rows for pages."""
    rows = {}
    print("| instructions | first picture's data, ms | an answer, ms | of 100 ms | film, KiB |")
    print("|---|---|---|---|---|")
    for turns in TURNS:
        core = measure(gelu_linear(turns), buffers=2)
        begin = time.perf_counter()
        shown = timeline_explorer(core)
        first = 1e3 * (time.perf_counter() - begin)
        shown.set(buffers=3)  # placed once
        answer = statistics.median(answers_ms(shown))
        print(
            f"| {core.rows} | {first:.0f} | {answer:.0f} | {answer / 100:.2f} "
            f"| {len(shown.film) / 1024:.0f} |"
        )
        about = f"a slider of the timeline, {5 * turns:,} instructions, Python's part"
        rows[about] = (f"{answer:.0f} ms", "")
    return rows


if __name__ == "__main__":
    main()
