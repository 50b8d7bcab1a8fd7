"""Files that tests hand to the package (kernels, C++), each kept as the text that it is."""

import json
import tomllib
from pathlib import Path


def text_beside(test: str, name: str) -> str:
    """Return the text of a file in the folder ``texts`` beside a test."""
    return Path(test).with_name("texts").joinpath(name).read_text("utf-8")


def table_beside(test: str, name: str) -> dict:
    """Return the tables of a TOML file beside a test."""
    return tomllib.loads(Path(test).with_name(name).read_text("utf-8"))


def rows_beside(test: str, name: str) -> dict:
    """Return the tables of a TOML file beside a test, with tuples for lists."""

    def fixed(value):
        if isinstance(value, dict):
            return {key: fixed(one) for key, one in value.items()}
        return tuple(map(fixed, value)) if isinstance(value, list) else value

    return fixed(table_beside(test, name))


def golden(name: str):
    """Return what a JSON file of the folder ``golden`` holds."""
    return json.loads(Path(__file__).with_name("golden").joinpath(name).read_text("utf-8"))
