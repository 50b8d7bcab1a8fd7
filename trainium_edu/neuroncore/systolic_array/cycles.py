"""Closed forms: how many cycles, without running anything.

With rows R, columns C, load speed s, and S = ceil(M / s) cycles per load:

* one tile: ``S + N + (R - 1) + (M - 1)``: load, feed, fall, and the skew of the last column;
* a further tile with new weights costs ``max(N, S)`` when they load in the background, and
  ``N + S`` when they cannot; with the same weights it costs N;
* the documented price of a moving tile is ``max(N, 64)``, four times that for FP32.

`stream_cycles` is exact for any list of passes of equal width; `gemm_cycles` counts the passes of
a whole product without listing them.
"""

from trainium_edu.neuroncore.systolic_array.array import TRN1_ARRAY, SystolicArray, whole
from trainium_edu.specs import arguments
from trainium_edu.specs.signatures import checked

__all__ = [
    "documented_issue_cycles", "gemm_cycles", "load_cycles", "steady_interval", "stream_cycles",
    "tile_cycles", "utilisation",
]  # fmt: skip


@checked
def load_cycles(m: int, array: SystolicArray = TRN1_ARRAY) -> int:
    """Return the cycles in which a stationary of M columns enters: ``ceil(M / load_speed)``.

    Examples
    --------
    >>> load_cycles(128)
    32
    """
    return -(-whole(m, "M") // array.load_speed)


@checked
def tile_cycles(m: int, n: int, array: SystolicArray = TRN1_ARRAY, *, loaded: bool = False) -> int:
    """Return the cycles of one tile alone, from the first weight in to the last result out.

    K does not appear: sums fall through all rows of the array, used or not.

    Parameters
    ----------
    m, n : int
        Columns of the stationary and of the moving operand.
    array : SystolicArray
    loaded : bool
        Whether the stationary is there already.

    Examples
    --------
    >>> tile_cycles(128, 512)
    798
    """
    m, n = whole(m, "M"), whole(n, "N")
    return (0 if loaded else load_cycles(m, array)) + n + (array.rows - 1) + (m - 1)


@checked
def steady_interval(
    m: int, n: int, array: SystolicArray = TRN1_ARRAY, *, reuse: bool = False
) -> int:
    """Return the cycles from one tile to the next in a long stream of equal tiles.

    Examples
    --------
    >>> steady_interval(128, 512), steady_interval(128, 16), steady_interval(128, 16, reuse=True)
    (512, 32, 16)
    """
    n = max(whole(n, "N"), 1)
    issue = max(n, array.min_issue_cycles)
    if reuse:
        return issue
    load = load_cycles(m, array)
    return max(issue, load if array.background_load else n + load)


@checked
def stream_cycles(
    tiles: int, m: int, n: int, array: SystolicArray = TRN1_ARRAY, *, reuse: bool = False
) -> int:
    """Return the cycles of equal tiles back to back: one alone, plus an interval for each further.

    Examples
    --------
    >>> stream_cycles(8, 128, 512)
    4382
    """
    further = (whole(tiles, "tiles") - 1) * steady_interval(m, n, array, reuse=reuse)
    return tile_cycles(m, n, array) + further


@checked
def gemm_cycles(
    k: int, m: int, n: int, array: SystolicArray = TRN1_ARRAY, *, passes: int = 1,
    moving_max: int | None = None,
) -> int:  # fmt: skip
    """Return the cycles of a whole product in the order of ``plan_gemm(reuse=True)``.

    Parameters
    ----------
    k, m, n : int
    array : SystolicArray
    passes : int
        1, or 4 for FP32.
    moving_max : int
        Longest moving tile; default: the columns of a PSUM bank.

    Notes
    -----
    Every load but the first adds ``max(B, S)``: B is what the tile before it feeds, S its own load
    (``B + S`` without background load).  Then come one tile's drain and skew.

    Examples
    --------
    >>> gemm_cycles(1024, 512, 2048)
    65822
    """
    k, m, n = whole(k, "K"), whole(m, "M"), whole(n, "N")
    most = array.moving_max
    moving_max = arguments.whole(most if moving_max is None else moving_max, "moving_max", 1, most)
    per_column = -(-k // array.rows) * whole(passes, "passes")
    full, last_m = divmod(m - 1, array.columns)
    last_m += 1  # 1 to columns: the width of the last column of tiles
    widths = [(array.columns, full)] * (full > 0) + [(last_m, 1)]

    def fed(columns):  # (until the next tile may start, until the last vector is in)
        tail = (columns - 1) % moving_max + 1
        issue = array.min_issue_cycles
        early = (columns - tail) // moving_max * max(moving_max, issue)
        return early + max(tail, issue), early + tail

    def advance(before, width):
        wires, last_in = before
        load = load_cycles(width, array)
        return max(wires, load if array.background_load else last_in + load)

    in_psum = array.banks * moving_max
    blocks, last_n = divmod(n - 1, in_psum)
    total = load_cycles(widths[0][0], array)
    for count, columns, before in (
        (1 if blocks else 0, in_psum, None),
        (max(blocks - 1, 0), in_psum, in_psum),
        (1, last_n + 1, in_psum if blocks else None),
    ):
        inside = 0
        for width, tiles in widths:
            inside += tiles * per_column * advance(fed(columns), width)
        inside -= advance(
            fed(columns), widths[0][0]
        )  # the block's first load follows another block
        if before is not None:
            inside += advance(fed(before), widths[0][0])
        total += count * inside
    block = fed(last_n + 1)
    ends = [block[1] + last_m]
    if full:  # a wide tile just before a narrow one may finish after it
        ends.append(block[1] + array.columns - per_column * advance(block, last_m))
    return total + max(ends) + array.rows - 2


@checked
def documented_issue_cycles(n: int, fmt: str = "bf16", array: SystolicArray = TRN1_ARRAY) -> int:
    """Return what the NKI architecture guide charges for a moving tile: ``max(N, 64)``, FP32 x 4.

    Examples
    --------
    >>> documented_issue_cycles(512), documented_issue_cycles(1, "fp32")
    (512, 256)

    References
    ----------
    `nki-trn1-arch` in :data:`trainium_edu.specs.SOURCES`.
    """
    engine = array.chip.tensor_engine
    cycles = max(whole(n, "N"), int(engine.min_initiation_cycles))
    return cycles * (int(engine.fp32_factor) if fmt == "fp32" else 1)


@checked
def utilisation(
    k: int, m: int, n: int, array: SystolicArray = TRN1_ARRAY, *, tiles: int | None = None,
    reuse: bool = False,
) -> float:  # fmt: skip
    """Return the share of PE-cycles that do a multiply-add, for equal tiles.

    Parameters
    ----------
    k, m, n : int
        One tile.
    array : SystolicArray
    tiles : int, optional
        How many back to back; endlessly many if not given.
    reuse : bool
        Whether all share one stationary.

    Examples
    --------
    >>> utilisation(128, 128, 512), round(utilisation(128, 128, 512, tiles=1), 3)
    (1.0, 0.642)
    """
    if whole(k, "K") > array.rows or whole(m, "M") > array.columns:
        raise ValueError(f"one tile is at most {array.rows} x {array.columns}, this is {k} x {m}")
    if tiles is None:
        return k * m * n / (array.pes * steady_interval(m, n, array, reuse=reuse))
    return tiles * k * m * n / (array.pes * stream_cycles(tiles, m, n, array, reuse=reuse))
