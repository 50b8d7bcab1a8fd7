"""Questions of lesson 04: one partition, the knee of a DMA, buffers, the cause to remove first."""

from trainium_edu.exercises.predict import Answer, Misconception, question
from trainium_edu.neuroncore import causes_table, measure
from trainium_edu.neuroncore.timing.waits import CAUSES
from trainium_edu.specs import SOURCES
from trainium_edu.widgets.card import Prose
from trainium_edu.widgets.timeline_explorer import timeline_explorer


@question(
    "04/one-partition",
    "And how long for the same 32 768 numbers on one partition, [1, 32768]?",
    unit="µs",
    wrong=[
        Misconception("same work, same time", lambda time: round(time(128), 1), "That is the time"
                      " with all 128 lanes at work. A lane takes only what lies in its own"
                      " partition."),
        Misconception("128 times all of it", lambda time: round(128 * time(128), 1), "That pays"
                      " the fixed cost of an instruction 128 times. There is still one"
                      " instruction: only its work is 128 times as long."),
    ],
)  # fmt: skip
def one_partition(time):
    """Return the µs that `time` (partitions -> µs) gives for one partition."""
    return Answer(
        round(time(1), 1),
        "127 of 128 lanes have nothing to do. An empty partition costs as much as a full one.",
        lambda guess: "\n".join(
            f"on {p:3} partitions: {time(p):6.2f} µs" for p in (128, 64, 32, 1)
        ),
    )


def _knee_alone(curve):
    """Return the knee of one transfer at a time."""
    rows = zip(curve.row_bytes, curve.alone, strict=True)
    return next(b for b, rate in rows if rate >= 0.9 * max(curve.alone))


@question(
    "04/knee",
    "At how many bytes per row does the stream reach 90 % of its best rate? (a power of two)",
    unit="bytes",
    whole=True,
    wrong=[
        Misconception("all rows together", lambda curve: 128 * curve.knee(0.9), "That is a whole"
                      " transfer of 128 rows. Each row is a piece of its own for the queues."),
        Misconception("one transfer alone", _knee_alone, "A transfer alone needs rows that long,"
                      " to make up for its start. In a stream the starts overlap."),
        Misconception("half of the best", lambda curve: curve.knee(0.5), "There it passes half of"
                      " its best rate: one step further."),
    ],
)  # fmt: skip
def knee(curve):
    """Return the knee of a payload curve."""
    at = curve.row_bytes.index(curve.knee(0.9))
    held = curve.row_bytes[0] / curve.stream[0] * curve.stream[at] / curve.row_bytes[at]
    return Answer(
        curve.knee(0.9),
        f"A row of {curve.row_bytes[0]} bytes holds its queue {held:.0%} as long as one of"
        f" {curve.row_bytes[at] // 1024} KiB: most of what it costs is being a row.",
        lambda guess: [
            curve.picture(),
            Prose(
                "The blue band is what we do *not* know. The curve is that of a figure in AWS's DMA"
                " overview, which prints no numbers on its axis; at 4 KiB long streams in published"
                " profiles agree with it, at 1 KiB a figure inferred from matmul times. Short runs"
                " are faster than this: the queues were seen at 385 to 400 GB/s for up to some"
                f" 0.1 ms ({SOURCES['course-traces'].cited}); how long that lasts is **assumed**,"
                " and the band has it. Whoever quotes a number from that end should quote the band"
                " with it.",
            ),
            str(curve),
        ],
    )


_SLOTS = (1, 2, 4)
_ON_AND_ON = "two halve the time, four halve it again"
_A_LITTLE = "two nearly halve the time, four bring a little more"
_TWO_DO = "two halve the time, four bring nothing more"
_NOTHING = "neither changes it: the work is the same"


def _told(one, two, four):
    """Return the option that tells of three times."""
    if two > 0.95 * one:
        return _NOTHING
    if four > 0.98 * two:
        return _TWO_DO
    return _ON_AND_ON if four < 0.6 * two else _A_LITTLE


def _times(run):
    return [measure(run.program, buffers=n).makespan_ns for n in _SLOTS]


def _with_buffers(run, n):
    t = measure(run.program, buffers=n)
    busy, sbuf = t.busy_ns("vector") / t.makespan_ns, t.placement.high_water_bytes["sbuf"]
    time = f"{t.makespan_ns / 1e3:6.1f} µs"
    count = "1 buffer:" if n == 1 else f"{n} buffers:"
    return f"{count:10} {time}, Vector busy {busy:.0%}, SBUF {sbuf:,} bytes"


@question(
    "04/buffers",
    "What do two buffers instead of one do to the time of the sixteen tiles, and what do four?",
    options=[_TWO_DO, _ON_AND_ON, _A_LITTLE, _NOTHING],
    wrong=[
        Misconception("two hide everything", lambda run: _told(*(
                          _times(run)[0] / min(n, 2) for n in _SLOTS)), "With two, a load can run"
                      " ahead by one tile only, and it takes 1.3 µs to start: Vector still has"
                      " gaps for a third one to fill."),
        Misconception("buffers are workers", lambda run: _told(*(
                          _times(run)[0] / n for n in _SLOTS)), "A buffer is a place, not an"
                      " engine. There is one Vector Engine, and its work alone takes nearly half of"
                      " what one buffer takes."),
        Misconception("work is time", lambda run: _told(*(_times(run)[0] for _ in _SLOTS)), "The"
                      " work is the same. With one buffer DMA and engines take turns; with two"
                      " they work at the same time."),
    ],
)  # fmt: skip
def buffers(run):
    """Tell of a run's time with one, two and four buffers."""
    times = _times(run)
    one, two, four = (f"{ns / 1e3:.0f}" for ns in times)
    vector = run.busy_ns("vector") / 1e3
    return Answer(
        _told(*times),
        f"With one, two and four buffers {one}, {two} and {four} µs: three are enough, with which"
        f" Vector, busy for {vector:.0f} µs, has hardly a gap left.",
        lambda guess: [
            "\n".join(_with_buffers(run, n) for n in (1, 2, 3, 4, 8)),
            str(run),
            Prose(
                "Read the run with one buffer as a chain: Vector waits for Scalar; Scalar waits for"
                " the next load, and then for *a place that a transfer still reads*; and load and"
                " store both waited for Vector. Everybody takes turns. Now drag **buffers**"
                " yourself, and watch the gaps on Vector and the SBUF map below.",
                "**Buffers buy time until the busiest engine has no gaps left**; more of them cost"
                " memory and bring nothing.",
            ),
            timeline_explorer(run),
        ],
    )


_REMOVED = {
    "dma": "transfers that take no time",
    "buffers": "buffers without end",
    "ports": "free ports",
    "fixed": "no fixed costs",
}


def _table(run):
    """Return the times without each cause, for one buffer and for four."""
    found = [causes_table(measure(run.program, buffers=n)) for n in (1, 4)]
    rows = [("as it is", [t.makespan_ns for t in found])]
    rows += [(_REMOVED[c], [t.alone_ns[c] for t in found]) for c in CAUSES]
    both = [t.pairs_ns["dma", "buffers"] for t in found]
    rows.append(("free transfers and endless buffers", both))
    lines = [f"{'time in µs with':34} {'one buffer':>12} {'four buffers':>14}"]
    for name, (one, four) in rows:
        lines.append(f"{name:34} {one / 1e3:12.1f} {four / 1e3:14.1f}")
    return "\n".join(lines)


def _longest_on_the_path(run):
    """Return the option that goes by shares of the critical path."""
    from trainium_edu.neuroncore import why

    shares = {"transfer": 0.0, "fixed": 0.0}
    for piece in why(run):
        if piece.what in ("DMA transfer", "DMA start"):
            shares["transfer"] += piece.duration_ns
        elif "overhead" in piece.what or "latency" in piece.what:
            shares["fixed"] += piece.duration_ns
    return _REMOVED["dma" if shares["transfer"] > shares["fixed"] else "fixed"]


@question(
    "04/cause",
    "Which one saves the most?",
    options=list(_REMOVED.values()),
    wrong=[
        Misconception("the longest on the critical path", _longest_on_the_path, "They are nearly"
                      " half of the critical path. But a cause can hide behind another: with one"
                      " buffer engines take turns, and with more of them transfers pass behind the"
                      " computation."),
        Misconception("engines in each other's way", lambda run: _REMOVED["ports"], "Vector and"
                      " Scalar do not share a port to SBUF, and nothing here lies in PSUM."),
        Misconception("starts are what hurts", lambda run: _REMOVED["fixed"], "Starts count, 1.3 µs"
                      " each, but only because everybody waits for each of them: with enough"
                      " places they overlap."),
    ],
)  # fmt: skip
def cause(run):
    """Return the cause of a run that saves most."""
    found = causes_table(run)
    return Answer(
        _REMOVED[found.first],
        "It saves even more than free transfers: while there is one buffer, engines take turns"
        " whatever each of them costs. With four, little is left to gain from any of them.",
        lambda guess: [
            _table(run),
            Prose(
                "A cause can hide behind another: take one away, and what was in its shadow costs"
                " nothing any more, or everything. **Remove a cause on paper before you remove it"
                " in the kernel.** (`neuroncore.causes_table(run)` has all pairs as well.)",
            ),
        ],
    )
