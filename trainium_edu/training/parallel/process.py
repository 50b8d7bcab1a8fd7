"""What a process has one of, so that ranks of one process look like processes of their own.

Each rank has its own ``os.environ``, ``sys.argv``, output streams, ``__main__``, warning filters
and state of ``random`` and ``np.random``; they take the place of this process's while it runs.
Imported modules, the working directory and what started programs inherit are shared.
"""

import os
import random
import sys
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

__all__ = ["Process"]

#: Where the state is: the environment, arguments and filters first.
_PLACES = ((vars(os.environ), "_data"), (vars(sys), "argv"), (vars(warnings), "filters"),
           (vars(warnings), "showwarning"), (vars(sys), "stdout"), (vars(sys), "stderr"),
           (sys.modules, "__main__"))  # fmt: skip


class Process:
    """The state of one process; at first, of this one."""

    def __init__(self):
        self.keep()

    def keep(self) -> None:
        """Take over the state as it is."""
        self._values: list[Any] = [place[key] for place, key in _PLACES]
        self._random, self._numpy = random.getstate(), np.random.get_state(legacy=False)  # noqa: NPY002

    @property
    def environment(self) -> dict:
        """Its variables, as ``os.environ`` keeps them."""
        return self._values[0]

    def take_back(self, others: Iterable["Process"]) -> None:
        """Export its variables to C code and started programs again, whatever others have set."""
        changed = (other.environment.items() ^ self.environment.items() for other in others)
        for name in {name for items in changed for name, _ in items}:
            if name in self.environment:
                os.putenv(name, self.environment[name])
            else:
                os.unsetenv(name)

    def show(self) -> None:
        """Make it the state of the process that runs."""
        for (place, key), value in zip(_PLACES, self._values, strict=True):
            place[key] = value
        random.setstate(self._random)
        np.random.set_state(self._numpy)  # noqa: NPY002

    @classmethod
    def started(cls, number: int, variables: Mapping[str, str]) -> "Process":
        """Return a process that this one starts, with more variables.

        A real one begins with unforeseeable random numbers; here its number is the seed.
        """
        process = cls()
        environment, arguments, filters, *rest = process._values
        more = {os.environ.encodekey(name): os.environ.encodevalue(value)
                for name, value in variables.items()}  # fmt: skip
        process._values = [{**environment, **more}, list(arguments), list(filters), *rest]
        process._random = random.Random(number).getstate()
        process._numpy = np.random.RandomState(number).get_state(legacy=False)
        return process
