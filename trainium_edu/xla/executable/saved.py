"""An executable as bytes: the recorded graph, its sections and their times, as plain data.

No program is in it: passes run again when the final graph is asked for, and a section's program is
made again, the same to the last instruction, when someone opens it.  A custom call's program is
made only where the call was recorded, so all that is asked of its time is worked out before.  Thus
a large model loads in the time that its numbers take to be read.
"""

import json
import zlib
from dataclasses import asdict, dataclass

import numpy as np

from trainium_edu.sealed import BROKEN, Damaged, OtherVersion, sealed, split, unsealed
from trainium_edu.specs.instances import TARGETS
from trainium_edu.xla.executable.sections import Section, sections_of
from trainium_edu.xla.executable.times import Times, with_advice, with_band
from trainium_edu.xla.graph import Graph
from trainium_edu.xla.operations.custom import calls

__all__ = ["CHIPS", "Kept", "pack", "unpack"]

KIND, VERSION = "trainium_edu executable", 3
CHIPS = {chip.name: chip for chip in TARGETS.values()}
_MAX_BYTES = 2**29  #: most JSON that is unpacked


@dataclass(frozen=True)
class Kept:
    """The content of saved bytes; graphs and sections are made of it when first asked for."""

    name: str
    auto_cast: str
    auto_cast_type: str
    is_fused: bool
    chip: str
    hbm_bytes: int
    recorded: str  #: the graph as recorded, as JSON
    members: list[list[int]]  #: by section: the positions of its operations in the final graph
    body_of: list[int]  #: by section: the number of its body
    collective: list[bool]  #: by body: whether ranks take part together
    times: list[Times | None]  #: by body; a collective has None

    def sections(self, final: Graph) -> list[Section]:
        """Return the sections of the final graph, those with the same body sharing it."""
        members = [tuple(final.nodes[i] for i in positions) for positions in self.members]
        return sections_of(final, CHIPS[self.chip], members, self.body_of, self.collective)


def pack(executable) -> bytes:
    """Return an executable's bytes; sections without a time are timed first."""
    sections = executable.sections
    position = {node: i for i, node in enumerate(executable.final.nodes)}
    bodies = {section.body: None for section in sections}
    body_number = {body: i for i, body in enumerate(bodies)}

    def whole(times, body):
        return with_advice(with_band(times, body), body)

    plain = {
        "name": executable.name, "auto_cast": executable.flags.auto_cast,
        "auto_cast_type": executable.flags.auto_cast_type, "is_fused": executable.is_fused,
        "chip": executable.spec.name, "hbm_bytes": executable.hbm_bytes,
        "recorded": executable.graph.to_json(),
        "members": [[position[n] for n in section.nodes] for section in sections],
        "body_of": [body_number[section.body] for section in sections],
        "collective": [body.is_collective for body in bodies],
        "times": [
            None if body.is_collective
            else asdict(executable.times_of(body, whole if calls(body.own) else None))
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
        plain["times"] = [times and Times.from_plain(times) for times in plain["times"]]
        return Kept(**plain)
    except (Damaged, OtherVersion, zlib.error, *BROKEN) as problem:
        raise ValueError(f"the saved executable {problem}; compile again") from None
