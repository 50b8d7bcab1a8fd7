"""One training step for the page: two timelines, and what links carry while a bucket travels.

The page moves a cursor over this and computes nothing but where to draw.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from trainium_edu.neuroncore.timing.timeline import levels
from trainium_edu.timeline import Span
from trainium_edu.viz.packing import Numbered, pack
from trainium_edu.viz.topology import layouts, links_of, machine_of, wires_of
from trainium_edu.xla.executable.tracks import ENGINES, LINKS

__all__ = ["HOST", "MOST_CHIPS", "exposed", "on_tracks", "step_frames"]

HOST = "host"
_TRACKS = (ENGINES, LINKS, HOST)  # as the page counts them
#: More chips than these are too small to see.
MOST_CHIPS = 64


def on_tracks(spans: Iterable[Span]) -> list[Span]:
    """Return what is drawn of a step's spans, in order of start."""
    drawn = [span for span in spans if span.track in _TRACKS]
    return sorted(drawn, key=lambda span: span.start_ns)


def exposed(spans: Iterable[Span]) -> np.ndarray:
    """Return when ranks sum and their engines stand still.

    Parameters
    ----------
    spans : iterable of Span
        Of one step.

    Returns
    -------
    float64[intervals, 2]
        Begins and ends, in ns.

    Examples
    --------
    >>> exposed([Span("engines", "dot", 0, 5), Span("CC-cores", "all_reduce", 3, 9)]).tolist()
    [[5.0, 9.0]]
    """
    spans = on_tracks(spans)
    start, end = np.array([(s.start_ns, s.end_ns) for s in spans], float).reshape(-1, 2).T
    others = len(spans) + 1  # counts for more than all links at work
    sizes = [1 if span.track == LINKS else others for span in spans]
    when, level = levels(start, end, sizes)
    alone = np.concatenate([[False], (level > 0) & (level < others)])
    return when[np.flatnonzero(np.diff(alone))].reshape(-1, 2)


def step_frames(timelines: Sequence, bills: Iterable = (), topology=None, shares=({}, {})) -> bytes:
    """Pack a step's timelines and its collectives into one run of bytes.

    Parameters
    ----------
    timelines : pair of iterable of Span
        The same step, with sums that travel beside the backward pass, and alone.
    bills : iterable of fabric.Account
        Of the collectives, in order of their start.
    topology : fabric.Topology, optional
        Left out of the picture with more than 64 chips.
    shares : pair of dict of str to float, optional
        With overlap and without: the share of the step in which each engine works.

    Returns
    -------
    bytes
        ``monitor/step_film.js`` reads them.
    """
    header: dict = {"bills": [], "chips": 0, "shares": [list(of.items()) for of in shares]}
    arrays: dict[str, np.ndarray] = {}
    names = Numbered()
    for line, given in zip(("on", "off"), timelines, strict=True):
        spans = on_tracks(given)
        ns = [(span.start_ns, span.end_ns) for span in spans]
        arrays[f"{line}_ns"] = np.array(ns, float).reshape(-1, 2)
        arrays[f"{line}_name"] = np.array([names[_name(span)] for span in spans], int)
        arrays[f"{line}_track"] = np.array([_TRACKS.index(s.track) for s in spans], int)
        arrays[f"{line}_exposed"] = exposed(spans)
    header["names"] = list(names)
    if topology is not None and 1 < topology.chips <= MOST_CHIPS:
        wires = wires_of(topology)
        arrays |= {"wires": wires, "links": links_of(topology, wires)}
        header |= machine_of(topology)
        header["layout"] = next(iter(layouts(topology, wires).values())).data()
        _add_bills(header, arrays, bills)
    return pack(header, arrays)


def _name(span) -> str:
    """Return a section's parts of the step or its operations, or the label of another span."""
    told = span.info.get("phases") or span.info.get("operations", (span.label,))
    names = list(dict.fromkeys(told))
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return (", ".join(names[:_MOST_NAMES]) + more).replace("_", " ")


_MOST_NAMES = 5


def _add_bills(header, arrays, bills):
    """Add each different bill once: when its steps end, and the bytes on each link."""
    known: dict[bytes, int] = {}
    for bill in bills:
        carried = bill.link_bytes.astype(np.float32)
        key = carried.tobytes()
        if key not in known:
            arrays[f"ends_{len(known)}"] = np.cumsum(bill.time_ns)
            arrays[f"bytes_{len(known)}"] = carried
        header["bills"].append(known.setdefault(key, len(known)))
