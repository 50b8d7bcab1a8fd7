"""What a run leaves behind: its steps in emulated time, as plain data that reports read.

The runner of a script fills it in, with torch or without; ``run_numbers.py`` counts, the command
line draws (``cli/report.py``).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace

from trainium_edu.neuroncore.recording.source import SourceLine
from trainium_edu.training.parallel.collectives import Links, links
from trainium_edu.xla.compiler import Event
from trainium_edu.xla.executable import Executable
from trainium_edu.xla.flags import parse
from trainium_edu.xla.graph import Graph

__all__ = ["RunRecord", "StepRecord", "from_json", "to_json"]

FORMAT = 1  #: version of saved records


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One piece of work that the device was given; times count from the run's beginning."""

    number: int  #: of the ``mark_step`` that it belongs to, from 0
    begin_ns: float  #: when the device began
    end_ns: float  #: and was done
    kind: str = "step"  #: or "value" (one that was asked for early), "fallback"
    executable: Executable | None = None  #: None if nothing ran, or what ran was not kept
    line: SourceLine | str | None = None  #: of the script, that marked it or asked for it
    why: str = ""  #: why its graph was new; "" for one that was known
    operation: str = ""  #: name of a fall-back, ``"aten::nonzero"``


@dataclass(frozen=True)
class RunRecord:
    """One run of a script."""

    script: str
    command: str = ""
    instance: str = "trn1.2xlarge"
    nodes: int = 1  #: instances
    ranks: int = 1
    values: str = "all"  #: which were computed: "all", "none", or those of the first N steps
    steps: Sequence[StepRecord] = ()  #: of one rank, in order; all ranks do the same
    history: Sequence[Event] = ()  #: the compiler's
    counters: Mapping[str, int] = field(
        default_factory=dict
    )  #: counters of ``metrics``, ``aten::...`` too
    #: (begin, end, for what) in ns: what the script waited for besides the chip's executions,
    #: "loader", "transfer", "sleep"
    waits: Sequence[tuple[float, float, str]] = ()
    wall_s: float = 0.0  #: what the run took here
    links: Links | None = None  #: None for one rank
    losses: Sequence[float] = ()
    samples: int = 0  #: samples of all ranks per step; 0 if unknown
    problem: str = ""  #: in one sentence, if the run ended with an error

    @property
    def marked(self) -> list[StepRecord]:
        """The steps that were marked."""
        return [one for one in self.steps if one.kind == "step"]


def to_json(record: RunRecord) -> str:
    """Return a record as JSON, with its graphs and without their times, which follow from them.

    Parameters
    ----------
    record : RunRecord
        Links are kept as their number of ranks on the instance.
    """
    graphs: dict[int, str] = {}
    flags = ""
    steps = []
    for step in record.steps:
        one, found = step.executable, asdict(replace(step, executable=None))
        if one is not None:
            found["executable"] = one.graph.fingerprint
            graphs.setdefault(one.graph.fingerprint, one.graph.to_json())
            flags = getattr(one.flags, "text", "")
        found["line"] = list(step.line[:3]) if isinstance(step.line, SourceLine) else step.line
        steps.append(found)
    plain = {f.name: getattr(record, f.name) for f in fields(record)
             if f.name not in ("steps", "history", "links", "counters")}  # fmt: skip
    return json.dumps({
        "format": FORMAT, "flags": flags, "graphs": graphs, "steps": steps,
        "history": [[e.step, e.kind, e.graph, e.why] for e in record.history],
        "counters": dict(record.counters), "record": plain,
    })  # fmt: skip


def from_json(text: str) -> RunRecord:
    """Read what :func:`to_json` wrote; graphs are compiled again when their times are asked for.

    Raises
    ------
    ValueError
        If it is damaged, or of another format.

    Examples
    --------
    >>> from_json(to_json(RunRecord("train.py", ranks=2))).ranks
    2
    """
    try:
        saved = json.loads(text)
        if saved["format"] != FORMAT:
            raise ValueError(f"its format is {saved['format']}, and this release reads {FORMAT}")
        plain, flags = saved["record"], parse(saved["flags"])
        ranks = plain["ranks"] * plain["nodes"]
        reached = links(ranks, plain["instance"]) if ranks > 1 else None
        graphs = {int(number): Executable(Graph.from_json(graph), flags, times=reached)
                  for number, graph in saved["graphs"].items()}  # fmt: skip
        steps = []
        for row in saved["steps"]:
            where = row["line"]
            row["line"] = SourceLine(*where) if isinstance(where, list) else where
            row["executable"] = graphs.get(row["executable"])
            steps.append(StepRecord(**row))
        history = [Event(*row) for row in saved["history"]]
        plain |= {"waits": [tuple(one) for one in plain["waits"]]}
        plain.pop("how", None)  # of releases whose ranks ran in two ways
        return RunRecord(**plain, steps=steps, history=history, counters=saved["counters"],
                         links=reached)  # fmt: skip
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as problem:
        raise ValueError(f"this is not a saved run: {problem}") from None
