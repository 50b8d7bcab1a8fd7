"""``python -m trainium_edu nccom-test``: the look-alike of AWS's collective benchmark."""

import argparse
import sys

__all__ = ["add", "main"]


def add(commands) -> None:
    """Add the command to the dispatcher's list.

    Parameters
    ----------
    commands : argparse subparsers
    """
    parser = commands.add_parser("nccom-test", help="benchmark a collective on the fabric model")
    _add_arguments(parser)
    parser.set_defaults(run=_run)
    _accept_any_order(parser)


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
    _add_arguments(parser)
    _accept_any_order(parser)
    try:
        return _run(parser.parse_args(argv))
    except SystemExit as stop:
        return int(stop.code or 0)


def _add_arguments(parser):
    from trainium_edu.fabric.nccom import DATATYPES, OPERATIONS

    add_argument = parser.add_argument
    add_argument("operation", choices=tuple(OPERATIONS), metavar="operation",
                 help=", ".join(OPERATIONS))  # fmt: skip
    add_argument("-r", "--nworkers", type=int, required=True, help="ranks in all")
    add_argument("-N", "--nnodes", type=int, default=1, help="instances")
    add_argument("-b", "--minbytes", default="32M", help="first size: 1024, 1kb, 32M")
    add_argument("-e", "--maxbytes", default="32M", help="last size")
    add_argument("-f", "--stepfactor", type=float, help="sizes grow by this factor")
    add_argument("-i", "--stepbytes", help="or by this many bytes")
    add_argument("-d", "--datatype", default="uint8", metavar="TYPE", help=", ".join(DATATYPES))
    add_argument("-n", "--iters", type=int, default=20, help="accepted; a model never varies")
    add_argument("-w", "--warmup_iters", type=int, default=5, help="accepted likewise")
    add_argument("-c", "--check", nargs="?", const="random", default=False,
                 choices=("random", "all_ones"), help="run on data and compare")  # fmt: skip
    add_argument("-t", "--stats", nargs="+", default=["avg"], help="avg, p50, p99, ...")
    add_argument("--show-algorithm", action="store_true")
    add_argument("--show-input-output-size", action="store_true")
    add_argument("--report-to-json-file", metavar="FILE")
    add_argument("--non-interactive", action="store_true", help="accepted; it never asks")
    add_argument("--compare", action="store_true",
                 help="then show every published table beside the model")  # fmt: skip


def _accept_any_order(parser):
    """Let the operation stand anywhere, as in the tool: ``--check allg`` must not swallow it."""
    parse = parser.parse_known_args

    def parse_known_args(args=None, namespace=None, **more):
        from trainium_edu.fabric.nccom import OPERATIONS

        words = list(sys.argv[1:] if args is None else args)
        at = [i for i, word in enumerate(words) if word in OPERATIONS][:1]
        return parse([words[i] for i in at] + [w for i, w in enumerate(words) if i not in at],
                     namespace, **more)  # fmt: skip

    parser.parse_known_args = parse_known_args


def _run(options) -> int:
    from trainium_edu.fabric import FabricError, compare, nccom_test

    taken = ("nworkers", "nnodes", "minbytes", "maxbytes", "stepfactor", "stepbytes", "datatype",
             "check", "show_algorithm", "show_input_output_size", "stats",
             "report_to_json_file")  # fmt: skip
    try:
        given = {name: getattr(options, name) for name in taken}
        print(nccom_test(options.operation, **given))
    except (FabricError, OSError) as error:
        print(f"nccom-test: {error}", file=sys.stderr)
        return 2
    if options.compare:
        table = ""
        for line in compare():
            if line.table != table:
                table = line.table
                print(
                    f"\n{table}\n{'size(B)':>12} {'published us':>12} {'model us':>12}      error"
                )
            print(line)
    return 0
