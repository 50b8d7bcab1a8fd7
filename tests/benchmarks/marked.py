"""Rewrite the measured rows of a page, and nothing else on it.

``<!-- measured -->`` and ``<!-- end of measured -->`` enclose what a run may write: a line on the
run, and a table whose first column names rows.  The page chooses the rows, the run fills them.
"""

import re

__all__ = ["rewritten"]

_BLOCK = re.compile(r"(?<=<!-- measured -->\n)(.*?)(?=<!-- end of measured -->)", re.DOTALL)
_RULE = re.compile(r"\|[\s:|-]+\|")  # between a table's header and its rows


def rewritten(page: str, rows: dict, run: str) -> str:
    """Return a page with its measured rows as of one run.

    Parameters
    ----------
    page : str
    rows : dict
        Name of a row to its other cells, as they were measured.
    run : str
        What the rows were measured on, and when; it stands above the table.

    Raises
    ------
    ValueError
        If nothing is marked, or for a row that this run did not measure: one table never shows two
        runs.
    """
    if not _BLOCK.search(page):
        raise ValueError(
            "nothing to rewrite: no line says <!-- measured --> with <!-- end of measured --> below"
        )
    return _BLOCK.sub(lambda block: _filled(block[1], rows, run), page)


def _filled(block, rows, run):
    lines = [line for line in block.splitlines() if line.startswith("|")]
    rule = next((i for i, line in enumerate(lines) if _RULE.fullmatch(line.strip())), None)
    if rule is None:
        raise ValueError("a measured block has no table: write its header and the rows you want")
    names = [line.split("|")[1].strip() for line in lines[rule + 1 :]]
    missing = [name for name in names if name not in rows]
    if missing:
        raise ValueError(
            f"this run did not measure {'; '.join(missing)}: run all benchmarks with their peers "
            f"installed, or take the row out of the page. Measured: {'; '.join(rows)}"
        )
    filled = (f"| {' | '.join((name, *rows[name]))} |" for name in names)
    return "\n".join([run, "", *lines[: rule + 1], *filled]) + "\n"
