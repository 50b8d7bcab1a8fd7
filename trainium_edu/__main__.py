"""``python -m trainium_edu COMMAND``: reads arguments; ``cli`` and ``doctor`` do the work.

Nothing heavy is imported before the command is known: ``cli/arguments.toml`` lists the commands.
"""

import argparse
import os
import sys

__all__ = ["main"]


def main(arguments=None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the process by default.

    Returns
    -------
    code : int
        0 if all went well, 1 if not, 2 if the arguments make no sense.
    """
    if sys.version_info < (3, 11):  # noqa: UP036  (a clone can be run by any Python)
        have = ".".join(str(part) for part in sys.version_info[:2])
        sys.exit(f"trainium_edu needs Python 3.11 or later, and this is {have}")
    from trainium_edu.cli.arguments import COMMANDS, named

    arguments = list(sys.argv[1:] if arguments is None else arguments)
    chosen = arguments[0] if arguments else ""
    try:
        command = COMMANDS.get(chosen, {})
        if "main" in command:
            return named(command["main"])(arguments[1:])
        options = _read(arguments)
        return named(COMMANDS[chosen]["run"])(options) or 0
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # who read along has seen enough (`... | head`)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OSError, ValueError) as error:
        from trainium_edu.cli.refusals import sentence_of

        print(sentence_of(error), file=sys.stderr)
        return 1


def _read(arguments):
    """Return what the arguments ask for; what makes no sense ends the process with 2."""
    from trainium_edu.cli.arguments import COMMANDS, add

    parser = argparse.ArgumentParser(
        prog="python -m trainium_edu", description="The trainium_edu lessons, from the shell."
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        chosen = commands.add_parser(name, help=command["help"])
        if arguments[:1] == [name]:
            add(chosen, name)
    options, rest = parser.parse_known_args(arguments)
    if rest and options.command != "lab":
        parser.error(f"unknown argument: {' '.join(rest)}")
    options.rest = [argument for argument in rest if argument != "--"]
    return options


if __name__ == "__main__":
    sys.exit(main())
