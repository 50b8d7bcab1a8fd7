"""An assignment and kernel files for it: right, slow, wrong, and worse."""

from pathlib import Path

from tests.texts import text_beside

SPEC = text_beside(__file__, "assignment.toml")
REFERENCE = """
import numpy as np

def product(lhsT, rhs):
    return lhsT.astype(np.float32).T @ rhs.astype(np.float32)
"""
HEAD = """
import nki
import nki.isa as nisa
import nki.language as nl
"""
KERNEL = text_beside(__file__, "product.py.txt")
RIGHT = HEAD + KERNEL
OLDER = text_beside(__file__, "older_product.py.txt")


def changed(*pairs: tuple[str, str]) -> str:
    """Return the right file with some of its text changed."""
    text = RIGHT
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def within(line: str) -> str:
    """Return the right file with a line at the kernel's beginning."""
    return changed(("    out = ", f"    {line}\n    out = "))


def above(text: str) -> str:
    """Return the right file with some lines above its kernel."""
    return f"{HEAD}\n{text}\n{KERNEL}"


MADE = {"change": lambda pairs: changed(*pairs), "within": within, "above": above,
        "below": RIGHT.__add__, "instead": HEAD.__add__}  # fmt: skip


def made(row: dict) -> str:
    """Return a kernel file as a row of ``kernels.toml`` describes it."""
    (how,) = MADE.keys() & row
    return MADE[how](row[how])


def write(folder: Path, spec: str = SPEC, **files: str) -> Path:
    """Write an assignment, and kernel files into its folder ``class``; return the former."""
    (folder / "spec.toml").write_text(spec)
    (folder / "reference.py").write_text(REFERENCE)
    (folder / "class").mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / "class" / f"{name}.py").write_text(text)
    return folder / "spec.toml"
