"""What each colour means, the same in every picture: the tables of ``colours.toml``.

Data colours are those of Okabe and Ito's colour-blind-safe set, mid-toned so that they read on
white and on dark.
"""

from trainium_edu.files import tables

__all__ = ["COLOURS", "ENGINE", "FORMAT", "MEMORY", "ROUNDING", "STEP", "VERDICT", "looks"]

#: The file's tables, by their names.
TABLES = tables(__file__)
COLOURS: dict[str, str] = TABLES["colours"]
#: One colour for each engine, number format, part of memory, rounding mode, part of a step, and
#: verdict.
ENGINE, FORMAT, MEMORY, ROUNDING, STEP, VERDICT = (
    {part: COLOURS.get(name, name) for part, name in TABLES[table].items()}
    for table in ("engine", "format", "memory", "rounding", "step", "verdict")
)


def looks(table: str) -> dict[str, tuple]:
    """Return a table's rows with their colours, then the rest of each."""
    rows = TABLES[table].items()
    return {name: (COLOURS.get(colour, colour), *rest) for name, (colour, *rest) in rows}
