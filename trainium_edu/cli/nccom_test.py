"""``python -m trainium_edu nccom-test``: the look-alike of AWS's collective benchmark."""

import argparse
import sys

__all__ = ["main"]


def main(argv=None) -> int:
    """Run the command; return 0, or 2 for arguments that it cannot use.

    Parameters
    ----------
    argv : list of str, optional

    Returns
    -------
    int
    """
    from trainium_edu.fabric import FabricError, nccom_test
    from trainium_edu.fabric.nccom import DATATYPES, OPERATIONS
    from trainium_edu.fabric.published import compare

    parser = argparse.ArgumentParser(
        prog="nccom-test",
        description="Benchmark a collective on the emulated fabric; times are modelled.",
    )
    parser.add_argument("operation", choices=tuple(OPERATIONS), metavar="operation",
                        help=", ".join(OPERATIONS))  # fmt: skip
    parser.add_argument("-r", "--nworkers", type=int, required=True, help="ranks in all")
    parser.add_argument("-N", "--nnodes", type=int, default=1, help="instances")
    parser.add_argument("-b", "--minbytes", default="32M")
    parser.add_argument("-e", "--maxbytes", default="32M")
    parser.add_argument("-f", "--stepfactor", type=float)
    parser.add_argument("-i", "--stepbytes")
    parser.add_argument("-d", "--datatype", default="uint8", metavar="TYPE",
                        help=", ".join(DATATYPES))  # fmt: skip
    parser.add_argument(
        "-n", "--iters", type=int, default=20, help="accepted; a model never varies"
    )
    parser.add_argument("-w", "--warmup_iters", type=int, default=5, help="accepted likewise")
    parser.add_argument("-c", "--check", nargs="?", const="random", default=False,
                        choices=("random", "all_ones"))  # fmt: skip
    parser.add_argument("-t", "--stats", nargs="+", default=["avg"])
    parser.add_argument("--show-algorithm", action="store_true")
    parser.add_argument("--show-input-output-size", action="store_true")
    parser.add_argument("--report-to-json-file", metavar="FILE")
    parser.add_argument("--non-interactive", action="store_true", help="accepted; it never asks")
    parser.add_argument("--compare", action="store_true",
                        help="then show the published tables beside the model")  # fmt: skip
    try:
        given = vars(parser.parse_args(_operation_last(argv)))
    except SystemExit as stop:
        return int(stop.code or 0)
    for unused in ("iters", "warmup_iters", "non_interactive"):
        given.pop(unused)
    beside = given.pop("compare")
    try:
        print(nccom_test(given.pop("operation"), **given))
    except (FabricError, OSError) as error:
        print(f"nccom-test: {error}", file=sys.stderr)
        return 2
    if beside:
        table = ""
        for line in compare():
            if line.table != table:
                table = line.table
                print(
                    f"\n{table}\n{'size(B)':>12} {'published us':>12} {'model us':>12}      error"
                )
            print(line)
    return 0


def _operation_last(argv):
    """Move the operation to the front, where ``--check allg`` cannot swallow it."""
    from trainium_edu.fabric.nccom import OPERATIONS

    argv = list(sys.argv[1:] if argv is None else argv)
    at = [i for i, word in enumerate(argv) if word in OPERATIONS]
    return argv if not at else [argv[at[0]], *argv[: at[0]], *argv[at[0] + 1 :]]
