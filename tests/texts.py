"""Files that tests hand to the package (kernels, C++), each kept as the text that it is."""

import tomllib
from pathlib import Path


def text_beside(test: str, name: str) -> str:
    """Return the text of a file in the folder ``texts`` beside a test."""
    return Path(test).with_name("texts").joinpath(name).read_text("utf-8")


def table_beside(test: str, name: str) -> dict:
    """Return the tables of a TOML file beside a test."""
    return tomllib.loads(Path(test).with_name(name).read_text("utf-8"))
