"""``python -m trainium_edu COMMAND``: reads arguments; ``cli`` and ``doctor`` do the work.

Nothing heavy is imported before the command is known.  A command's module has ``add(commands)``,
which adds its arguments and the function to call.
"""

import argparse
import importlib
import os
import sys

__all__ = ["main"]

#: Command, and the module that knows its arguments.
COMMANDS = {
    "lab": "cli.learner",
    "update": "cli.learner",
    "warm": "cli.learner",
    "doctor": "doctor",
    "grade": "cli.instructor",
    "leaderboard": "cli.instructor",
    "export": "cli.instructor",
    "nccom-test": "cli.nccom_test",
    "neuron-profile": "cli.neuron_profile",
    "neuron-explorer": "cli.neuron_profile",
    "neuron_parallel_compile": "cli.neuron_parallel_compile",
    "neuron-ls": "cli.neuron_tools",
    "neuron-top": "cli.neuron_tools",
    "neuron-monitor": "cli.neuron_tools",
    "run": "cli.run",
    "torchrun": "cli.torchrun",
}
#: Commands that read their arguments as the real tools do: the function to call, and what it does.
_BY_THEMSELVES = {
    "nccom-test": ("main", "time collectives, in the real tool's table"),
    "neuron-profile": ("main", "capture and view profiles of kernels"),
    "neuron-explorer": ("explorer", "the same by its newer name"),
}


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
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    chosen = arguments[0] if arguments else ""
    try:
        if chosen in _BY_THEMSELVES:
            module = importlib.import_module(f"trainium_edu.{COMMANDS[chosen]}")
            return getattr(module, _BY_THEMSELVES[chosen][0])(arguments[1:])
        options = _read(arguments, chosen)
        return options.run(options) or 0
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # who read along has seen enough (`... | head`)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OSError, ValueError) as error:
        print(f"{_sentence(error)}", file=sys.stderr)
        return 1


def _read(arguments, chosen):
    """Return what the arguments ask for; what makes no sense ends the process with 2."""
    parser = argparse.ArgumentParser(
        prog="python -m trainium_edu", description="The trainium_edu lessons, from the shell."
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    shared = (module for name, module in COMMANDS.items() if name not in _BY_THEMSELVES)
    modules = [COMMANDS[chosen]] if chosen in COMMANDS else dict.fromkeys(shared)
    for name in modules:
        importlib.import_module(f"trainium_edu.{name}").add(commands)
    if chosen not in COMMANDS:
        for name, (_, said) in _BY_THEMSELVES.items():
            commands.add_parser(name, help=said)
    options, rest = parser.parse_known_args(arguments)
    if rest and options.command != "lab":
        parser.error(f"unknown argument: {' '.join(rest)}")
    options.rest = [argument for argument in rest if argument != "--"]
    return options


def _sentence(error):
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'this computer'}: {error.strerror}"
    return str(error)


if __name__ == "__main__":
    sys.exit(main())
