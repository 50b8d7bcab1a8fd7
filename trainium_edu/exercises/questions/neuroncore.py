"""Questions of lesson 04: one partition, the knee of a DMA, buffers, the cause to remove first."""

from trainium_edu.exercises.predict import Answer, question, words_of
from trainium_edu.exercises.questions.tables import numbers
from trainium_edu.neuroncore import causes_table, measure
from trainium_edu.neuroncore.timing.waits import CAUSES
from trainium_edu.viz.numbers import Numbers
from trainium_edu.widgets.timeline_explorer import timeline_explorer

_WORDS = words_of(__file__)
_SHOWN = _WORDS["shown"]


@question("04/one-partition")
def one_partition(time):
    """Return the µs that `time` (partitions -> µs) gives for one partition."""
    times = {partitions: time(partitions) for partitions in (128, 64, 32, 1)}
    answer, same = round(times[1], 1), round(times[128], 1)
    return Answer(
        answer,
        wrong={
            "same work, same time": same,
            "128 times all of it": 128 * times[128],
            "128 times, rounded first": 128 * same,
            "two cycles for each element": 2 * answer,
        },
        show=lambda guess: numbers(_SHOWN["partitions"], times.items()),
    )


def _knee_alone(curve):
    """Return the knee of one transfer at a time."""
    rows = zip(curve.row_bytes, curve.alone, strict=True)
    return next(b for b, rate in rows if rate >= 0.9 * max(curve.alone))


@question("04/knee")
def knee(curve):
    """Return the knee of a payload curve."""
    answer = curve.knee(0.9)
    at = curve.row_bytes.index(answer)
    rate = {b: r / max(curve.stream) for b, r in zip(curve.row_bytes, curve.stream, strict=True)}
    held = curve.row_bytes[0] / curve.stream[0] * curve.stream[at] / curve.row_bytes[at]
    return Answer(
        answer,
        wrong={
            "one transfer alone": _knee_alone(curve),
            "all rows together": 128 * answer,
            "half of the best": curve.knee(0.5),
        },
        terms={
            "held": held,
            "kib": curve.row_bytes[at] // 1024,
            "rate": rate,
            "half": rate[curve.knee(0.5)],
        },
        show=lambda guess: [curve.picture(), Numbers(str(curve))],
    )


_SLOTS = (1, 2, 4)


def _told(one, two, four):
    """Return the place of the option that tells of three times."""
    if two > 0.95 * one:
        return 3
    if four > 0.98 * two:
        return 0
    return 1 if four < 0.6 * two else 2


def _times(run):
    return [measure(run.program, buffers=n).makespan_ns for n in _SLOTS]


def _with_buffers(run, n):
    """Return a line on a run with `n` buffers, and how long Vector works and waits."""
    t = measure(run.program, buffers=n)
    us, busy, sbuf = t.makespan_ns / 1e3, t.busy_ns("vector") / 1e3, t.placement.high_water_bytes
    line = _SHOWN["buffers"].format(us, busy / us, sbuf["sbuf"])
    return line, {"Vector works": busy, "Vector waits": us - busy}


@question("04/buffers")
def buffers(run):
    """Tell of a run's time with one, two and four buffers."""
    times = _times(run)
    one, two, four = (f"{ns / 1e3:.0f}" for ns in times)
    vector = run.busy_ns("vector") / 1e3
    tried = {f"{n} buffer{'s' * (n > 1)}": _with_buffers(run, n) for n in (1, 2, 3, 4, 8)}
    lines = [*(f"{name:9}: {line}" for name, (line, _) in tried.items()), str(run)]
    bars = {name: parts for name, (_, parts) in tried.items()}
    return Answer(
        _told(*times),
        wrong={
            "two hide everything": _told(*(_times(run)[0] / min(n, 2) for n in _SLOTS)),
            "buffers are workers": _told(*(_times(run)[0] / n for n in _SLOTS)),
            "work is time": _told(*(_times(run)[0] for _ in _SLOTS)),
        },
        terms={"one": one, "two": two, "four": four, "vector": vector},
        show=lambda guess: [Numbers(lines, "Sixteen tiles, in µs", bars), timeline_explorer(run)],
    )


_REMOVED = dict(zip(("dma", "buffers", "ports", "fixed"), _WORDS["cause"]["options"], strict=True))


def _table(run):
    """Return the times without each cause, for one buffer and for four."""
    found = [causes_table(measure(run.program, buffers=n)) for n in (1, 4)]
    rows = {"as it is": [t.makespan_ns for t in found]}
    rows |= {_REMOVED[c]: [t.alone_ns[c] for t in found] for c in CAUSES}
    rows["free transfers and endless buffers"] = [t.pairs_ns["dma", "buffers"] for t in found]
    return numbers(_SHOWN["causes"], [(name, a / 1e3, b / 1e3) for name, (a, b) in rows.items()])


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


@question("04/cause")
def cause(run):
    """Return the cause of a run that saves most."""
    found = causes_table(run)
    return Answer(
        _REMOVED[found.first],
        wrong={"the longest on the critical path": _longest_on_the_path(run)},
        show=lambda guess: _table(run),
    )
