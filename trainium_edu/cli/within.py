"""The grader's end in a submission's process: ``python -m trainium_edu.cli.within MODULE BYTES``.

It reads a line, calls the function of MODULE that this names, and answers with a line, both of
``plain_data``.  The two pipes are its own: what a submission starts has none of them, and what it
prints goes nowhere and is counted.  No expected result is known here, and nothing that is computed
here is believed but an answer's value; the checks are in the grader's process.
"""

import importlib
import os
import sys
from typing import TextIO

from trainium_edu.exercises import plain_data
from trainium_edu.exercises.answers import Printed, PrintedTooMuch, line_of

__all__ = ["own_pipes", "reply"]


def reply(functions, line: str) -> str:
    """Return the line that answers one: what a function returned, or what it raised.

    Parameters
    ----------
    functions : module
    line : str
        A function's name and its arguments.
    """
    name, *arguments = plain_data.loads(line)
    try:
        return plain_data.dumps(("value", getattr(functions, name)(*arguments)))
    except PrintedTooMuch:
        told = ["printed"]
    except plain_data.NotPlain as error:
        told = ["raised", "TypeError", f"it is {error}; plain data is asked for"]
    except BaseException as error:
        code = line_of(error)[:120]
        where = f' (in the line "{code}")' if code else ""
        told = ["raised", type(error).__name__, f"{str(error)[:500]}{where}"]
    return plain_data.dumps(told)


def own_pipes() -> tuple[TextIO, TextIO]:
    """Take the ends that this process is asked and answers by; prints and children have neither."""
    asked, told = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nothing, descriptor)
    return asked, told


def main():
    """Answer lines until there are no more."""
    asked, told = own_pipes()
    module, most = sys.argv[1:]
    functions, stdout = importlib.import_module(module), sys.stdout
    print(plain_data.dumps("ready"), file=told, flush=True)
    for line in asked:
        sys.stdout = Printed(stdout, int(most))
        print(reply(functions, line), file=told, flush=True)


if __name__ == "__main__":
    main()
