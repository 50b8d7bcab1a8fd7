"""Exercises of lesson 13: a race, a histogram in 16 KB, and which engine should look numbers up.

The first two answers are C++, compiled and run on numbers of the check's own (``exercises.cpp``).
"""

import numpy as np

from trainium_edu.exercises.cpp import shape_source, tried
from trainium_edu.exercises.exercise import exercise, words_of
from trainium_edu.exercises.judge import compare, reject, reject_if
from trainium_edu.specs import CUSTOM_OPERATORS

# --- the race -------------------------------------------------------------------------------------

#: Adds up rows on eight processors, and all of them write the whole result.
RACING = words_of(__file__)["programs"]["sums"]
_MOST_OF_ONE = 0.4  # of all bytes that are copied; an eighth is a processor's share


@exercise("13/race")
def sums(answer, numbers):
    """Compare with NumPy's sums on three shapes; look at who copied how much."""
    rng = np.random.default_rng(numbers.seed)
    cases = [(rng.integers(-9, 10, shape).astype(np.float32),) for shape in numbers.shapes]
    shape = shape_source("sums", result="{x.size(1)}, torch::kFloat")
    found = tried(answer, RACING, "sums", shape, cases, multicore=True)
    for (x,), one in zip(cases, found, strict=True):
        missing = int(np.isnan(one.output).sum())
        reject_if(missing, "columns left out", rows=x.shape[0], columns=x.shape[1], missing=missing)
        if not np.array_equal(one.output, x.sum(0)):
            reject("wrong sums", rows=x.shape[0], columns=x.shape[1])
    copied = [work.copied_bytes for work in found[0].works]
    if max(copied) > _MOST_OF_ONE * sum(copied):
        reject("one for all", processor=copied.index(max(copied)), share=max(copied) / sum(copied))
    took = found[0].ns / 1e3
    return lambda: f"Your operator takes {took:.0f} µs for {len(cases[0][0])} rows."


# --- a histogram ----------------------------------------------------------------------------------

#: Counts all values at once, in more memory than there is.
COUNTING = words_of(__file__)["programs"]["histogram"]
ASKED_NS = 100  #: a value


@exercise("13/histogram")
def histogram(answer, numbers):
    """Compare with NumPy's counts, with one value very often; look at the time for a value."""
    rng = np.random.default_rng(numbers.seed)
    given = [(rng.integers(0, bins, n).astype(np.int32), float(bins)) for n, bins in numbers.cases]
    for (values, bins), at in zip(given, (0, -1), strict=True):
        values[at] = bins - 1  # the last bin is never empty
    bins = numbers.cases[0][1]
    given.append((np.full(numbers.often, bins // 2, np.int32), float(bins)))
    shape = shape_source(
        "histogram", "torch::Tensor values, double bins", "{(int64_t)bins}, torch::kInt"
    )
    found = tried(answer, COUNTING, "histogram", shape, given)
    for (values, many), one in zip(given, found, strict=True):
        right = np.bincount(values, minlength=int(many))
        if np.array_equal(one.output, right):
            continue
        wrong = np.flatnonzero(one.output != right)
        first = f"bin {wrong[0]} has {one.output[wrong[0]]} where {right[wrong[0]]} is right"
        reject_if(right.max() > 65_535, "sixteen bits", largest=right.max(), first=first)
        if len(wrong) < 0.6 * int(many) and wrong[-1] == int(many) - 1:
            reject("last bins", many=int(many), first=first)
        reject("wrong counts", values=len(values), many=int(many), first=first)
    values, one = given[0][0], found[0]
    ns = one.ns / len(values)
    if ns <= ASKED_NS:
        return lambda: f"Your operator takes {ns:.0f} ns for a value."
    (work,) = one.works
    reject_if(work.elements, "element accessor", ns=ns, asked=ASKED_NS, elements=work.elements)
    each = work.copied_bytes // max(1, work.copies)
    reject("short copies", ns=ns, asked=ASKED_NS, copies=work.copies, each=each)


# --- the engine -----------------------------------------------------------------------------------

VECTOR_NS, VECTOR_ENTRY_NS, VECTOR_COLUMN_NS = 4000, 350, 2.4
OPERATOR_NS, SHARED_NS, TRIP_NS = 2500, 3.8, 257
BUFFERS_BYTES = 8 * 1024
_TCM_BYTES = int(CUSTOM_OPERATORS.tcm_bytes)
_PROCESSORS = int(CUSTOM_OPERATORS.processors)


def _vector_ns(numbers, entries):
    return VECTOR_NS + entries * (VECTOR_ENTRY_NS + VECTOR_COLUMN_NS * numbers / 128)


def _operator_ns(numbers, entries, *, fits=True, processors=_PROCESSORS):
    if fits and 4 * entries + BUFFERS_BYTES > _TCM_BYTES:
        return TRIP_NS * numbers
    return OPERATOR_NS + SHARED_NS * numbers / processors


def best(numbers: int, entries: int) -> str:
    """Return which is faster: "vector" or "operator"."""
    faster = _vector_ns(numbers, entries) < _operator_ns(numbers, entries)
    return "vector" if faster else "operator"


def _believed(**wrong):
    return lambda n, e: "vector" if _vector_ns(n, e) < _operator_ns(n, e, **wrong) else "operator"


@exercise("13/engine")
def choose(answer, numbers):
    """Compare with the shorter time for some two dozen jobs, of which none is nearly a tie."""
    jobs = [*numbers.jobs, (65_536, numbers.few), (65_536, 3000)]
    jobs = [job for job in jobs if not 0.9 < _vector_ns(*job) / _operator_ns(*job) < 1.1]
    beliefs = {
        "always vector": lambda n, e: "vector",
        "always operator": lambda n, e: "operator",
        "fits anyway": _believed(fits=False),
        "one processor": _believed(processors=1),
        "by the table alone": lambda n, e: "operator" if e <= 2048 else "vector",
    }
    form = "no such engine", lambda one: one in ("vector", "operator")
    compare(answer, jobs, best, beliefs, form, what="jobs")
