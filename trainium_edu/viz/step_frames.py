"""One training step for the page: two timelines, and what links carry while a bucket travels.

The page moves a cursor over this and computes nothing but where to draw.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from trainium_edu.viz.packing import pack
from trainium_edu.viz.topology import layouts, wires_of

__all__ = ["COMPUTE", "LINKS", "MOST_CHIPS", "exposed", "step_frames"]

#: The two tracks of a step's spans.
COMPUTE, LINKS = "compute", "links"
#: More chips than these are too small to see.
MOST_CHIPS = 64


def exposed(spans) -> np.ndarray:
    """Return when links work and no engine does.

    Parameters
    ----------
    spans : sequence of (name, track, start_ns, end_ns)

    Returns
    -------
    float64[intervals, 2]
        Begins and ends, in ns.

    Examples
    --------
    >>> exposed([("a", "compute", 0, 5), ("sum", "links", 3, 9)]).tolist()
    [[5.0, 9.0]]
    """
    moments = sorted({float(t) for span in spans for t in span[2:]})
    found: list[list[float]] = []
    for begin, end in pairwise(moments):
        at_work = {track for _, track, start, stop in spans if start <= begin and end <= stop}
        if at_work != {LINKS}:
            continue
        if found and found[-1][1] == begin:
            found[-1][1] = end
        else:
            found.append([begin, end])
    return np.array(found, float).reshape(-1, 2)


def step_frames(overlapped: Sequence, apart: Sequence, bills: Sequence = (), topology=None):
    """Pack a step's timelines and its collectives into one run of bytes.

    Parameters
    ----------
    overlapped, apart : sequence of (name, track, start_ns, end_ns)
        The same step, with sums that travel during the backward pass and after it.
    bills : sequence of fabric.Account
        Of the spans on the track of links, in order of their start.
    topology : fabric.Topology, optional
        Left out of the picture with more than 64 chips.

    Returns
    -------
    bytes
        ``monitor/step_film.js`` reads them.
    """
    lines = {"on": overlapped, "off": apart}
    names = list(dict.fromkeys(span[0] for spans in lines.values() for span in spans))
    header: dict = {"names": names, "lines": list(lines), "bills": [], "chips": 0, "switches": 0,
                    "ranks_per_chip": 1}  # fmt: skip
    arrays: dict[str, np.ndarray] = {}
    for line, spans in lines.items():
        spans = sorted(spans, key=lambda span: span[2])
        arrays[f"{line}_ns"] = np.array([span[2:] for span in spans], float).reshape(-1, 2)
        arrays[f"{line}_name"] = np.array([names.index(span[0]) for span in spans], np.uint16)
        arrays[f"{line}_links"] = np.array([span[1] == LINKS for span in spans], np.uint8)
        arrays[f"{line}_exposed"] = exposed(spans)
    if topology is not None and 1 < topology.chips <= MOST_CHIPS:
        _add_machine(header, arrays, topology)
        _add_bills(header, arrays, bills)
    return pack(header, arrays, prefix=4)


def _add_machine(header, arrays, topology):
    """Add chips, cables and their places."""
    wires = wires_of(topology)
    number = {tuple(pair): k for k, pair in enumerate(wires.tolist())}
    ends = np.stack([topology.src, topology.dst], axis=1)
    wire = [number[tuple(sorted(pair))] for pair in ends.tolist()]
    layout = next(iter(layouts(topology, wires).values()))
    header |= {
        "chips": topology.chips, "switches": topology.switches,
        "ranks_per_chip": topology.ranks_per_chip,
        "layout": {"xy": np.round(layout.xy, 4).tolist(), "bend": np.round(layout.bend, 4).tolist(),
                   "room": layout.room, "notes": layout.notes},
    }  # fmt: skip
    arrays["wires"] = wires.astype(np.uint16)
    arrays["links"] = np.column_stack([ends, wire]).astype(np.uint16)


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
