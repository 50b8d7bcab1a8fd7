"""An executable as bytes: both graphs, and what was found out about its time, as plain data.

No program is in it: a section's is made again from the graph when someone opens it, the same to the
last instruction.  One of a custom call is made only where that was called; so all that is asked of
its time is worked out before.  So a large model loads in the time that its numbers take to be read.
"""

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trainium_edu.sealed import BROKEN, Damaged, OtherVersion, sealed, split, unsealed
from trainium_edu.specs import INF2, TRN1, TRN2
from trainium_edu.specs.record import Record
from trainium_edu.xla.executable.sections import Section, sections_of
from trainium_edu.xla.executable.times import Times, with_advice, with_band
from trainium_edu.xla.graph import Graph, Node
from trainium_edu.xla.operations.custom import calls

__all__ = ["CHIPS", "Kept", "pack", "unpack"]

KIND, VERSION = "trainium_edu executable", 3
CHIPS = {chip.name: chip for chip in (TRN1, INF2, TRN2)}
_MAX_BYTES = 2**29  #: of JSON that it unpacks to


@dataclass(frozen=True)
class Kept:
    """What bytes hold; graphs and sections are made of it when first asked for."""

    name: str
    auto_cast: str
    auto_cast_type: str
    is_fused: bool
    chip: str
    donated: tuple[tuple[int, int], ...]
    hbm_bytes: int
    recorded_text: str
    final_text: str
    passes: tuple[tuple[str, int, int], ...]  #: name, nodes before, nodes after
    serves: tuple[tuple[int, ...], ...]  #: by node of the final graph: numbers of recorded nodes
    members: tuple[tuple[int, ...], ...]  #: by section: numbers of its operations
    body_of: tuple[int, ...]  #: by section
    collective: tuple[bool, ...]  #: by body
    times: tuple[Times | None, ...]  #: by body; None of a collective

    @cached_property
    def graph(self) -> Graph:
        """The graph as recorded."""
        return Graph.from_json(self.recorded_text)

    @cached_property
    def final(self) -> Graph:
        """The graph after its passes."""
        return Graph.from_json(self.final_text)

    @property
    def spec(self) -> Record:
        """The chip."""
        return CHIPS[self.chip]

    def stands_for(self, recorded: Graph) -> dict[Node, tuple[Node, ...]]:
        """Return each final node's recorded ones."""
        old = list(recorded._all)
        return {
            node: tuple(old[i] for i in numbers)
            for node, numbers in zip(self.final.nodes, self.serves, strict=True)
        }

    def sections(self) -> list[Section]:
        """Return the sections, those with the same body sharing it."""
        nodes = self.final.nodes
        return sections_of(
            self.final, self.spec, [tuple(nodes[i] for i in one) for one in self.members],
            self.body_of, self.collective,
        )  # fmt: skip


def pack(executable) -> bytes:
    """Return an executable's bytes; makespans that nobody asked for yet are timed first."""
    final, sections = executable.final, executable.sections
    place = {node: i for i, node in enumerate(final.nodes)}
    old = {node: i for i, node in enumerate(executable.graph._all)}
    bodies = {section.body: None for section in sections}
    number = {body: i for i, body in enumerate(bodies)}

    def whole(times, body):
        return with_advice(with_band(times, body), body)

    plain = {
        "name": executable.name, "auto_cast": executable.flags.auto_cast,
        "auto_cast_type": executable.flags.auto_cast_type, "is_fused": executable.is_fused,
        "chip": executable.spec.name, "donated": list(executable.donated.items()),
        "hbm_bytes": executable.hbm_bytes, "recorded_text": executable.graph.to_json(),
        "final_text": final.to_json(), "passes": list(executable.passes),
        "serves": [[old[o] for o in executable.stands_for[n]] for n in final.nodes],
        "members": [[place[n] for n in section.nodes] for section in sections],
        "body_of": [number[section.body] for section in sections],
        "collective": [body.is_collective for body in bodies],
        "times": [
            None if body.is_collective
            else executable.times_of(body, whole if calls(body.own) else None).to_plain()
            for body in bodies
        ],
    }  # fmt: skip
    text = zlib.compress(json.dumps(plain, separators=(",", ":")).encode(), 6)
    arrays: dict[str, np.ndarray] = {}
    return sealed(KIND, VERSION, split(np.frombuffer(text, np.uint8), "zlib", arrays), arrays)


def unpack(data: bytes) -> Kept:
    """Read what :func:`pack` wrote.

    Raises
    ------
    ValueError
        If it is damaged, or of another format.
    """
    try:
        packed = unsealed(data, KIND, VERSION).tobytes()
        text = zlib.decompressobj().decompress(packed, _MAX_BYTES)
        plain = json.loads(text)
        for key in ("donated", "passes", "serves", "members"):
            plain[key] = _tuples(plain[key])
        for key in ("body_of", "collective"):
            plain[key] = tuple(plain[key])
        plain["times"] = tuple(one and Times.from_plain(one) for one in plain["times"])
        return Kept(**plain)
    except (Damaged, OtherVersion, zlib.error, *BROKEN) as problem:
        raise ValueError(f"the saved executable {problem}; compile again") from None


def _tuples(rows: Iterable[Iterable]) -> tuple[tuple, ...]:
    return tuple(tuple(row) for row in rows)
