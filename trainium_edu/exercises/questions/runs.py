"""Runs of kernels in a question: time, bytes and instructions, of several in a row together."""


def _each(run):
    return run if isinstance(run, tuple) else (run,)


def ns(run):
    """Return the time of a run."""
    return sum(r.timeline.makespan_ns for r in _each(run))


def nbytes(run):
    """Return the bytes that travel to and from HBM."""
    return sum(r.timeline.hbm_bytes for r in _each(run))


def count(run, name=""):
    """Return how many instructions there are, of a name if one is given."""
    return sum(name in ("", i.name) for r in _each(run) for i in r.timeline.program.instructions)


def times(slow, fast, digits=1, of=ns):
    """Return how many times as much time, or anything else, a run takes, as tables have it."""
    return round(of(slow) / of(fast), digits)


def us(run, engine=""):
    """Return the µs that a run takes, or that an engine works in it, as prose has them."""
    time_ns = run.timeline.busy_ns(engine) if engine else run.timeline.makespan_ns
    return f"{time_ns / 1e3:,.0f}"
