"""``python -m trainium_edu nccom-test``: the look-alike of AWS's collective benchmark."""

import argparse
import sys
from itertools import groupby

from trainium_edu.cli.arguments import add
from trainium_edu.fabric import FabricError, compare, nccom_test
from trainium_edu.fabric.nccom import OPERATIONS

__all__ = ["main"]


def main(arguments: list[str]) -> int:
    """Run the command by itself.

    Parameters
    ----------
    arguments : list of str

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
    options = parser.parse_args(sorted(arguments, key=lambda word: word not in OPERATIONS))
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
