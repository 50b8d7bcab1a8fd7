"""Expressions of ``expressions.toml`` as functions."""

import tomllib
from pathlib import Path

import numpy as np
import torch
from torch import nn

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
SCOPE = {"np": np, "torch": torch, "nn": nn, "F": nn.functional}


def expressions(table, arguments):
    """Return a function of the named arguments for each name of a table."""
    return {name: eval(f"lambda {arguments}: {text}", SCOPE) for name, text in rows(table)}


def rows(table):
    return [(name, row if isinstance(row, str) else row[0]) for name, row in TABLES[table].items()]
