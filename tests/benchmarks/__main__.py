"""Run the benchmarks (or those named): ``python -m tests.benchmarks [numerics fabric ...]``.

Each prints one Markdown table of ratios to a named peer, measured side by side in this one run.
"""

import importlib
import platform
import sys
from pathlib import Path


def processor():
    """Return the processor's name, as Linux tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), "unknown")


def main(names):
    every = sorted(p.stem.removeprefix("bench_") for p in Path(__file__).parent.glob("bench_*.py"))
    unknown = set(names) - set(every)
    if unknown:
        sys.exit(f"no benchmark called {', '.join(sorted(unknown))}; there are {', '.join(every)}")
    print(f"{processor()}, Python {platform.python_version()}")
    for name in names or every:
        print(f"\n## {name}\n")
        importlib.import_module(f"tests.benchmarks.bench_{name}").main()


if __name__ == "__main__":
    main(sys.argv[1:])
