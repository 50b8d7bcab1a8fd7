"""The commands and their arguments: ``arguments.toml`` lists them as argparse takes them."""

import argparse
import importlib
from pathlib import Path

from trainium_edu.files import tables

__all__ = ["COMMANDS", "add", "named"]

_TABLES = tables(__file__)
#: Each command's table: ``help``; ``run``, its function of the options, or ``main``, which reads
#: the arguments as the real tool does; and its arguments.
COMMANDS = {name: table for name, table in _TABLES.items() if "help" in table}
_KINDS = {"Path": Path, "float": float, "int": int, "lower": str.lower}


def named(place: str):
    """Return the object at a place of the package, such as ``"cli.run:command"``."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(f"trainium_edu.{module}"), name)


class _Absent(argparse.Action):
    """A flag that does nothing here: refused with its reason, or accepted where there is none."""

    def __call__(self, parser, namespace, values, option_string=None):
        if self.const:
            parser.error(f"{option_string} is not here: {self.const}")


def add(parser, command: str) -> None:
    """Give a parser the arguments of a command.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    command : str
        Its table in ``arguments.toml``.
    """
    for flags, words in _TABLES[command].get("arguments", {}).items():
        if flags.startswith("@"):
            add(parser, flags)
            continue
        how = {key: _meant(key, value) for key, value in words.items()}
        parser.add_argument(*flags.split(), **how)
    for reason, flags in _TABLES[command].get("absent", {}).items():
        for flag in flags:
            how = {"const": reason, "nargs": None if flag.endswith("=") else 0}
            names = flag.rstrip("=").split()
            parser.add_argument(*names, action=_Absent, help=argparse.SUPPRESS, **how)


def _meant(key: str, value):
    """Return what a value of the table means to argparse."""
    if key in ("type", "choices") and isinstance(value, str):
        return named(value) if ":" in value else _KINDS[value]
    if key == "help" and value[:1] == ":":
        return ", ".join(named(value[1:]))
    return value
