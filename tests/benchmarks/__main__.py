"""Run the benchmarks (or those named): ``python -m tests.benchmarks [numerics fabric ...]``.

Each prints Markdown tables of ratios to a named peer, measured side by side in this one run, and
returns the rows that pages may show.  ``--write README.md .github/docs/speed.md`` puts the rows of
this run into those pages, with processor, Python and date; it needs all benchmarks.
"""

import argparse
import datetime
import importlib
import os
import platform
import sys
from pathlib import Path

from tests.benchmarks.marked import rewritten


def processor():
    """Return the processor's name, as Linux tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), "unknown")


def every():
    """Return the names of all benchmarks."""
    return sorted(p.stem.removeprefix("bench_") for p in Path(__file__).parent.glob("bench_*.py"))


def main(arguments):
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--write", nargs="+", type=Path, default=(), metavar="PAGE")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(every())
    if unknown:
        sys.exit(
            f"no benchmark called {', '.join(sorted(unknown))}; there are {', '.join(every())}"
        )
    if options.names and options.write:
        sys.exit("--write needs all benchmarks, so that a page shows one run: leave out the names")
    pages = {page: page.read_text(encoding="utf-8") for page in options.write}
    run = (
        f"{processor()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, "
        f"{datetime.date.today().isoformat()}"
    )
    print(run)
    rows = {}
    for name in options.names or every():
        print(f"\n## {name}\n")
        rows |= importlib.import_module(f"tests.benchmarks.bench_{name}").main()
    for page, text in pages.items():
        page.write_text(rewritten(text, rows, run), encoding="utf-8")
        print(f"\nwrote the measured rows of {page}")


if __name__ == "__main__":
    main(sys.argv[1:])
