"""Watch the array work: every frame is one cycle of a recorded run."""

import math
import zlib
from collections.abc import Sequence

import numpy as np
import traitlets

from trainium_edu.neuroncore.systolic_array import (
    TRN1_ARRAY,
    Dataflow,
    SystolicArray,
    choice_cycles,
    run,
    run_dataflow,
)
from trainium_edu.neuroncore.systolic_array.frames import Frames, frames_of_run
from trainium_edu.neuroncore.systolic_array.operands import check_operands
from trainium_edu.specs.arguments import whole
from trainium_edu.specs.signatures import checked
from trainium_edu.viz import systolic_array as picture
from trainium_edu.viz.bars import draw_rows
from trainium_edu.viz.packing import pack
from trainium_edu.widgets.page_widget import PageWidget
from trainium_edu.widgets.picture import Panel
from trainium_edu.widgets.sketch import Page, sketch

__all__ = ["SystolicArrayPlayer", "array_player", "reuse_explorer", "stationary_explorer"]

_WITH_NUMBERS_MAX = 32  # larger arrays are heat maps
_MATRIX_MAX = 16  # larger operands are not drawn beside the array
_LABEL_FORMAT = "fp16"  # holds the whole numbers up to 256 = 16 x 16
#: The bits of a PE's state, from the lowest.
_STATE = ("stays_valid", "across_valid", "down_valid", "working", "waiting_valid", "leaving_valid")
_LIMIT_BYTES = 200 * 2**20
_TILE = 128  # columns of W that a step of its slider adds


@checked
def array_player(
    stationary,
    moving,
    *,
    array: SystolicArray,
    fmt="bf16",
    dataflow: Dataflow = Dataflow.WEIGHT,
    skew: Sequence[int] | None = None,
    cycle: int | None = None,
    follow: tuple[int, int] | None = None,
) -> "SystolicArrayPlayer":
    """Run a product cycle by cycle and make a player of it.

    Parameters
    ----------
    stationary : array [K, M]
    moving : array [K, N]
    array : SystolicArray
    fmt : Format or str
    dataflow : Dataflow or str
        Other than weight-stationary: one tile that fits.
    skew : sequence of int, optional
        A wrong delay of each row's feed, to see what goes wrong.
    cycle : int, optional
        Where the player stands first.
    follow : (m, n), optional
        The result whose life the table shows first.

    Returns
    -------
    SystolicArrayPlayer

    Examples
    --------
    >>> array_player([[1.0]], [[2.0, 3.0]], array=SystolicArray(1, 1))
    SystolicArrayPlayer(weight-stationary, 1 x 1, K=1 M=1 N=2, 3 cycles)
    """
    is_usual = Dataflow(dataflow) is Dataflow.WEIGHT
    if not is_usual and skew is not None:
        raise ValueError("a skew of your own goes with the weight-stationary array only")

    def play(w, x, fmt) -> Frames:
        if not is_usual:
            return run_dataflow(dataflow, w, x, array=array, fmt=fmt)[1]
        return frames_of_run(run(w, x, array=array, fmt=fmt, skew=skew, record=True))

    frames = play(stationary, moving, fmt)
    matrices = _matrices(check_operands(stationary, moving, fmt), play)
    return SystolicArrayPlayer(frames, cycle=cycle, follow=follow, matrices=matrices)


def _matrices(operands, play) -> dict | None:
    """Return both operands, and by labels which element each PE holds; None for large ones.

    Parameters
    ----------
    operands : Operands
    play : callable
        Runs two operands in a format and returns the frames: the same plan on labels 1, 2, ... in
        place of numbers says where each element is, whatever the skew or the dataflow.
    """
    if max(operands.shape) > _MATRIX_MAX or len(operands.passes) > 1:
        return None
    labels = [
        np.arange(1.0, 1 + x.size).reshape(x.shape) for x in (operands.stationary, operands.moving)
    ]
    places = play(*labels, _LABEL_FORMAT)
    names = ["stays", "across", "waiting"]
    if places.leaving is not None:  # the sums stay, and both operands march
        names = ["across", "down"]
    held = {f"of_{name}": getattr(places, name).astype(np.uint16) for name in names}
    return {"w": operands.stationary, "x": operands.moving, **held}


class SystolicArrayPlayer(PageWidget, page="systolic_array"):
    """Play a recorded run: the array, its utilisation, and the life of one result.

    Up to 32 x 32 PEs it shows numbers, above that a heat map.  The frames go to the page once, as
    bytes; after that everything happens in the browser.

    Parameters
    ----------
    frames : Frames
    cycle : int, optional
        Where it stands first; a third of the way if not given.
    follow : (m, n), optional
        The result whose life the table shows first.
    matrices : dict, optional
        What `_matrices` returns.
    """

    film = traitlets.Bytes().tag(sync=True)
    label = traitlets.Unicode().tag(sync=True)
    cycle = traitlets.Int(0).tag(sync=True)

    def __init__(self, frames: Frames, *, cycle: int | None = None, follow=None, matrices=None):
        cycle = frames.cycles // 3 if cycle is None else cycle
        cycle = whole(cycle, "cycle", 0, frames.cycles - 1)
        k, m_all, n_all = frames.shape
        m, n = (m_all // 2, n_all // 2) if follow is None else map(int, follow)
        if not (0 <= m < m_all and 0 <= n < n_all):
            raise ValueError(f"there is no dst[{m}, {n}] to follow; dst is [{m_all}, {n_all}]")
        self.frames = frames
        film = packed(frames, follow=(m, n), matrices=matrices)
        if len(film) > _LIMIT_BYTES:
            raise ValueError(
                f"{frames.cycles} cycles of {frames.rows} x {frames.columns} PEs are "
                f"{len(film) >> 20} MiB for the page; play fewer vectors or a smaller array"
            )
        size = f"{frames.rows} × {frames.columns} PEs"
        label = f"{frames.dataflow} array of {size}, K = {k}, M = {m_all}, N = {n_all}"
        super().__init__(film=film, label=label, cycle=cycle)

    def __repr__(self):
        return repr(self.frames).replace("Frames(", "SystolicArrayPlayer(", 1)


def packed(frames: Frames, *, follow=(0, 0), matrices=None) -> bytes:
    """Pack frames for the page: a header in JSON, plain arrays behind it, deflated.

    Parameters
    ----------
    frames : Frames
    follow : (m, n)
    matrices : dict, optional

    Returns
    -------
    bytes
        Above 32 x 32, sums travel in half precision and weights once, as colours and a hovering
        mouse need no more; the page then says "about".
    """
    exact = max(frames.rows, frames.columns) <= _WITH_NUMBERS_MAX
    state = np.zeros(frames.working.shape, np.uint8)
    for bit, name in enumerate(_STATE):
        if (valid := getattr(frames, name)) is not None:
            state |= valid.astype(np.uint8) << bit
    numbers: dict = {"down": frames.down, "stays": frames.stays, "across": frames.across}
    if exact:
        numbers |= {"waiting": frames.waiting, "leaving": frames.leaving, **(matrices or {})}
    else:
        numbers["stays"] = frames.stays[frames.cycles // 2]
        with np.errstate(over="ignore"):
            numbers = {name: plane.astype(np.float16) for name, plane in numbers.items()}
    arrays = {"state": state} | {n: plane for n, plane in numbers.items() if plane is not None}
    lane, queues = ("cycle", "lane", "value"), ("left_queue", "top_queue", "load_queue")
    left, top, load = (getattr(frames, name) if exact else () for name in queues)
    arrays |= _columns("q", lane, left) | _columns("t", lane, top)
    arrays |= _columns("l", ("cycle", "lane", "column", "value"), load)
    arrays |= _columns("r", ("cycle", "column", "m", "n", "value"), frames.results)
    arrays["r_adds"] = _adds(frames)
    arrays["busy"] = frames.working.sum(axis=(1, 2)).astype(np.uint32)
    sums = frames.down if frames.leaving is None else frames.stays
    finite = np.abs(sums[np.isfinite(sums)])
    header = {name: getattr(frames, name) for name in ("rows", "columns", "cycles", "loads")}
    header |= zip("kmn", frames.shape, strict=True)
    header |= {"dataflow": str(frames.dataflow), "exact": exact, "follow": follow}
    header["scale"] = float(finite.max()) if finite.any() else 1.0
    header["utilisation"] = float(frames.utilisation.mean())
    slow = 2 if frames.cycles <= 60 else 8
    header["cycles_per_second"] = slow if exact else 30
    return zlib.compress(pack(header, arrays), 1)


def _columns(prefix: str, names: Sequence[str], rows: Sequence[tuple]) -> dict[str, np.ndarray]:
    """Return rows as one array per column; only values are no whole numbers."""
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return {
        f"{prefix}_{name}": np.array(column, np.float32 if name == "value" else np.uint32)
        for name, column in zip(names, columns, strict=True)
    }


def _adds(frames: Frames) -> np.ndarray:
    """Return whether each result is added to what PSUM holds (not the first of its element)."""
    elements = [(m, n) for _, _, m, n, _ in frames.results]
    first = {element: i for i, element in reversed([*enumerate(elements)])}
    return np.array([first[element] < i for i, element in enumerate(elements)], np.uint8)


@checked
def reuse_explorer(
    *, m: int = 128, array: SystolicArray = TRN1_ARRAY, guess: float | None = None
) -> Panel:
    """Show what the number of moving vectors does to utilisation, with a slider from 1 to 512.

    Parameters
    ----------
    m : int
        Columns of the stationary.
    array : SystolicArray
    guess : float, optional
        A learner's N, marked in the picture; the slider stands there first.

    Returns
    -------
    Panel
    """
    steps = sorted({round(2 ** (k / 4)) for k in range(37)})  # even steps on the picture's axis
    first = min(steps, key=lambda step: abs(math.log(step / max(guess or 64, 1))))

    def draw(values) -> Page:
        n = steps[values["step"]]
        scene = picture.draw_reuse(n, m=m, array=array, guess=guess, width=values["width"])
        return Page(scene, outputs={"step": str(n)})

    shown = sketch("reuse", draw, step={"max": len(steps) - 1, "value": steps.index(first)})
    return Panel([shown], f"utilisation against N, M = {m}, N from 1 to 512")


@checked
def stationary_explorer(*, k: int = 128, rows: int = 1, columns: int = 4096) -> Panel:
    """Compare the two choices of the stationary operand for ``x[rows, k] @ W[k, columns]``.

    Parameters
    ----------
    k, rows, columns : int
        Where the sliders stand first, as near as they come.

    Returns
    -------
    Panel
    """

    def draw(values) -> Page:
        rows, columns = values["rows"], _TILE * values["columns"]
        prices = choice_cycles(k, rows, columns)
        bars = {f"{n}, {how}": {"": p[how]} for n, p in prices.items() for how in p}
        title = f"x[{rows}, {k}] @ W[{k}, {columns}], in cycles"
        scene = draw_rows(title, bars, width=values["width"])
        return Page(scene, outputs={"columns": str(columns)})

    first = {"rows": min(max(rows, 1), 512), "columns": min(max(columns // _TILE, 1), 64)}
    return Panel([sketch("stationary", draw, **first)], "which operand should stay")
