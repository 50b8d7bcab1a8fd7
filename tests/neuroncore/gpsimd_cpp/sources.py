"""C++ that tests compile, each in a file of its own in the folder ``programs``."""

from pathlib import Path


def program(name: str) -> str:
    """Return the text of a file."""
    return Path(__file__).with_name("programs").joinpath(name).read_text("utf-8")
