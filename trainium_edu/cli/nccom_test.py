"""``python -m trainium_edu nccom-test``: the look-alike of AWS's collective benchmark."""

import argparse
import sys
from itertools import groupby

from trainium_edu.cli.arguments import add
from trainium_edu.fabric import FabricError, compare, nccom_test
from trainium_edu.fabric.nccom import OPERATIONS

__all__ = ["main"]


def main(argv=None) -> int:
    """Run the command by itself.

    Parameters
    ----------
    argv : list of str, optional
        Those of the process by default.

    Returns
    -------
    int
        0 if all went well, 2 for arguments that it cannot use.
    """
    parser = argparse.ArgumentParser(
        prog="nccom-test",
        description="Benchmark a collective on the emulated fabric; times are modelled.",
    )
    add(parser, "nccom-test")
    # The operation may stand anywhere, as in the tool: `--check allg` must not swallow it.
    words = list(sys.argv[1:] if argv is None else argv)
    at = [i for i, word in enumerate(words) if word in OPERATIONS][:1]
    words = [words[i] for i in at] + [w for i, w in enumerate(words) if i not in at]
    try:
        return _run(parser.parse_args(words))
    except SystemExit as stop:
        return int(stop.code or 0)


def _run(options) -> int:
    others = ("compare", "iters", "non_interactive", "warmup_iters")
    try:
        print(nccom_test(**{k: v for k, v in vars(options).items() if k not in others}))
    except (FabricError, OSError) as error:
        print(f"nccom-test: {error}", file=sys.stderr)
        return 2
    if options.compare:
        for table, lines in groupby(compare(), key=lambda line: line.table):
            print(f"\n{table}\n{'size(B)':>12} {'published us':>12} {'model us':>12}      error")
            print(*lines, sep="\n")
    return 0
