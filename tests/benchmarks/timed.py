"""Times that benchmarks measure, and the tables that they print."""

import time


def best_of(times, call, prepare=lambda: None):
    """Return the shortest of several runs in seconds."""
    shortest = float("inf")
    for _ in range(times):
        prepare()
        start = time.perf_counter()
        call()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest


def alternating(*calls, turns=40, steps=5):
    """Return the shortest time of each call in seconds, each some times in a row by turns."""
    for call in calls:
        call()
    times = [[best_of(1, lambda call=call: [call() for _ in range(steps)]) for call in calls]
             for _ in range(turns)]  # fmt: skip
    return [min(column) / steps for column in zip(*times, strict=True)]


class Table:
    """A Markdown table, printed row by row; `found` has the rows that pages may show."""

    def __init__(self, *heads):
        self.found = {}
        print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")

    def row(self, what, *cells, page=()):
        """Print a row, and keep its first and last cells, or what a page shows instead."""
        print(f"| {' | '.join((what, *cells))} |")
        self.found[what] = tuple(page) or (cells[0], cells[-1])

    def timed(self, what, seconds, limit_s, beside=""):
        """Print the time of something beside its limit."""
        ms = f"{seconds * 1e3:,.2f} ms"
        self.row(what, ms, f"{limit_s * 1e3:,.2f} ms", f"{limit_s / seconds:.1f} x", beside)
