"""Exercises of lesson 04: an order, a plan of SBUF, a race of two tiles, the cause to remove first.

The expected answers come from the emulator itself (placement, schedule) or from a rule that the
tests hold to it.
"""

import itertools
import math

import numpy as np

from trainium_edu.exercises.exercise import exercise, words_of
from trainium_edu.exercises.judge import has_form, recognise, reject, reject_if

_STEPS = ("square", "exp", "scale")
MOST_IDLE = 0.05  #: share of the time that Vector may wait
SBUF_BYTES = 192 * 1024
_DTYPE_BYTES = {"float32": 4, "bfloat16": 2, "uint8": 1}


# -- 1: an order that keeps Vector busy -------------------------------------------------------


@exercise("04/keep-vector-busy")
def keep_vector_busy(answer, numbers):
    """Time the learner's order on the emulator and look how long the Vector Engine waits."""
    for tiles, room in ((numbers.tiles, numbers.room), (6, 2)):
        steps = _checked_order(answer(tiles, room), tiles)
        needed = most_alive(steps)
        idle = vector_idle_share(steps, numbers.columns)
        reject_if(needed > room, "too many tiles at once", needed=needed, room=room)
        if idle > MOST_IDLE:
            _explain_idle(steps, idle)
    return lambda: f"Your order for {tiles} tiles in {room} places: Vector waits {idle:.1%}."


def _checked_order(steps, tiles):
    reject_if(not isinstance(steps, list | tuple) or not steps, "no list")
    for step in steps:
        if not has_form(step, str, float) or step[0] not in _STEPS or step[1] != int(step[1]):
            reject("not a pair", step=step)
    steps = [(name, int(k)) for name, k in steps]
    wanted = {(name, k) for name in _STEPS for k in range(tiles)}
    if len(steps) != len(set(steps)) or set(steps) != wanted:
        has = len(set(steps) & wanted)
        reject("not all of them", tiles=tiles, all=len(wanted), has=has, lines=len(steps))
    at = {step: number for number, step in enumerate(steps)}
    for k in range(tiles):
        if not at["square", k] < at["exp", k] < at["scale", k]:
            reject("reads before it is written", tile=k)
    return steps


def _explain_idle(steps, idle):
    vector = [step for step in steps if step[0] != "exp"]
    pairs = itertools.pairwise(vector)
    back_to_back = sum(a == ("square", b[1]) and b[0] == "scale" for a, b in pairs)
    reject_if(back_to_back > len(vector) // 4, "one tile after the other", idle=idle)
    reject("not far enough ahead", idle=idle)


def most_alive(steps) -> int:
    """Return how many tiles an order needs at once."""
    alive = most = 0
    for name, _ in steps:
        alive += name == "square"
        most = max(most, alive)
        alive -= name == "scale"
    return most


def vector_idle_share(steps, columns: int) -> float:
    """Return the share of its time that the Vector Engine waits, from its first to its last."""
    from trainium_edu.neuroncore import NeuronCore
    from trainium_edu.neuroncore.recording.engine import Engine
    from trainium_edu.neuroncore.timing.placement import place
    from trainium_edu.neuroncore.timing.scheduler import schedule

    core = NeuronCore(values=False)
    data = core.sbuf((128, columns), name="data")
    tiles = {}
    for name, k in steps:
        if name == "square":
            tiles[k] = core.sbuf((128, columns), name=f"tile {k}")
            core.tensor_tensor(dst=tiles[k], data1=data, data2=data, op="multiply")
        elif name == "exp":
            core.activation(dst=tiles[k], data=tiles[k], op="exp")
        else:
            core.tensor_scalar(dst=tiles[k], data=tiles[k], op0="multiply", operand0=0.5)
    # room was counted before; here every tile has bytes of its own
    timeline = schedule(core.program, place(core.program, endless=True))
    on_vector = timeline.rows_on(Engine.VECTOR)
    start, end = timeline.start_ns[on_vector], timeline.release_ns[on_vector]
    return float(1 - (end - start).sum() / (end[-1] - start[0]))


# -- 2: how much SBUF a plan needs ------------------------------------------------------------


@exercise("04/sbuf-plan")
def sbuf_plan(answer, numbers):
    """Check the student's plan, one that does not fit, and some near the edges."""
    for plan in (numbers.tiles, *words_of(__file__)["plans"]["edges"]):
        got = answer([tuple(line) for line in plan])
        reject_if(not isinstance(got, list | tuple) or len(got) != 2, "not a pair")
        reject_if(not has_form(got, int, int), "not whole numbers")
        _judge_plan(plan, tuple(got))


def needed_bytes(plan, *, alive=True, width=True, partitions=False) -> int:
    """Return the bytes per partition that a plan takes with one buffer, or a wrong count of it."""
    return sum(
        c * (_DTYPE_BYTES[d] if width else 1) * (a if alive else 1) * (p if partitions else 1)
        for p, c, d, a in plan
    )


def plan_that_fits(one: int, capacity: int = SBUF_BYTES) -> tuple[int, int]:
    """Return (buffers, bytes) for a plan that takes `one` byte per buffer."""
    for buffers in (4, 3, 2, 1):
        if buffers * one <= capacity:
            return buffers, buffers * one
    return 0, one


def _judge_plan(plan, got):
    one = needed_bytes(plan)
    if got == plan_that_fits(one):
        return
    everywhere = needed_bytes(plan, partitions=True)
    if got[1] in [b * everywhere for b in (1, 2, 3, 4)] or got == (
        plan_that_fits(everywhere, 128 * SBUF_BYTES)
    ):
        reject("all partitions together")
    beliefs = {
        "decimal kilobytes": plan_that_fits(one, 192_000),
        "one of each": plan_that_fits(needed_bytes(plan, alive=False)),
        "elements as bytes": plan_that_fits(needed_bytes(plan, width=False)),
        "bytes of one buffer": (plan_that_fits(one)[0], one),
    }
    recognise(got, beliefs)
    reject_if(plan_that_fits(one)[0] == 0, "does not fit", plan=plan)
    reject_if(got[1] > SBUF_BYTES, "over the edge", nbytes=got[1], most=SBUF_BYTES)
    reject("other", plan=plan)


# -- 3: the race ------------------------------------------------------------------------------


@exercise("04/race")
def race(answer, numbers):
    """Check several random plans with one race each, and near misses of every kind."""
    for turn in range(6):
        tiles, steps = racing_plan(numbers.seed + turn)
        got = answer(dict(tiles), [(w, list(r)) for w, r in steps])
        pair = tuple(got) if has_form(got, str, str) else ()
        reject_if(not pair or not all(name in tiles for name in pair), "not a pair")
        (wanted,) = races(tiles, steps)
        if pair == wanted:
            continue
        _judge_race(tiles, steps, pair, wanted)


def _judge_race(tiles, steps, pair, wanted):
    destroyed, destroyer = pair
    reject_if(pair == wanted[::-1], "the other way round")
    if not share_bytes(tiles[destroyed], tiles[destroyer]):
        a, b = tiles[destroyed], tiles[destroyer]
        if a[0] < b[0] + b[1] and b[0] < a[0] + a[1]:
            reject("other partitions", destroyed=destroyed, destroyer=destroyer)
        reject("neighbours", destroyed=destroyed, destroyer=destroyer)
    reject("nobody reads it any more", destroyer=destroyer, destroyed=destroyed)


def share_bytes(a, b) -> bool:
    """Whether two tiles (address, bytes, first partition, partitions) have a byte in common."""
    return a[0] < b[0] + b[1] and b[0] < a[0] + a[1] and a[2] < b[2] + b[3] and b[2] < a[2] + a[3]


def races(tiles, steps) -> set:
    """Return all pairs (destroyed, destroyer) of a plan."""
    found = set()
    for i, (written, _) in enumerate(steps):
        for other in tiles:
            if other == written or not share_bytes(tiles[other], tiles[written]):
                continue
            if not any(w == other for w, _ in steps[:i]):
                continue
            for later_written, reads in steps[i + 1 :]:
                if other in reads:
                    found.add((other, written))
                if other in reads or later_written == other:
                    break
    return found


def racing_plan(seed: int):
    """Return (tiles, steps) with exactly one race, and overlaps that are none.

    ``tiles[name]`` is (address, bytes per partition, first partition, partitions); a step is (tile
    written, tiles read).
    """
    names = ["x", "y", "mean", "scale", "sum", "mask", "bias", "out"]
    for attempt in range(10_000):
        rng = np.random.default_rng([seed, attempt])
        tiles = {name: _random_tile(rng) for name in names}
        steps = _random_steps(rng, names)
        found = races(tiles, steps)
        if len(found) == 1 and found != {p[::-1] for p in found} and has_decoys(tiles, found):
            return tiles, steps
    raise RuntimeError("no plan with one race was found")


def _random_tile(rng):
    address, size = (256 * int(rng.integers(*ends)) for ends in ((0, 12), (1, 4)))
    return address, size, *((0, 128), (0, 64), (64, 64))[int(rng.integers(3))]


def _random_steps(rng, names):
    steps, written = [], []
    for name in rng.permutation(names):
        recent = written[-3:]
        reads = [str(r) for r in rng.permutation(recent)[: int(rng.integers(1, 3))]]
        steps.append((str(name), reads))
        written.append(str(name))
    return steps


def has_decoys(tiles, found):
    """Whether some tiles share bytes without racing, and some only addresses, not partitions."""
    ((one, two),) = found
    pairs = [p for p in itertools.combinations(tiles, 2) if set(p) != {one, two}]
    overlap = [share_bytes(tiles[a], tiles[b]) for a, b in pairs]
    addresses = [share_bytes((*tiles[a][:2], 0, 1), (*tiles[b][:2], 0, 1)) for a, b in pairs]
    return any(overlap) and sum(addresses) > sum(overlap)  # bytes lie at shared addresses


# -- 4: which cause to remove first -----------------------------------------------------------

_CAUSES = ("dma", "ports", "buffers", "fixed")


@exercise("04/remove-first")
def remove_first(answer, numbers):
    """Check tables with hidden pairs, with causes that change nothing, and of budget 1 and 2."""
    for turn in range(8):
        times = cause_table(numbers.seed + turn)
        for budget in (1, 2):
            got = answer(dict(times), budget)
            reject_if(isinstance(got, str), "a name")
            if not isinstance(got, list | tuple) or not all(c in _CAUSES for c in got):
                reject("no causes", causes=", ".join(_CAUSES))
            reject_if(tuple(got) not in times, "no set of the table")
            _judge_causes(times, budget, tuple(got))


def best_removal(times, budget):
    """Return the set of causes that saves most; of equal ones the smallest."""
    return min((c for c in times if len(c) <= budget), key=lambda c: (times[c], len(c), c))


def _judge_causes(times, budget, got):
    best = best_removal(times, budget)
    reject_if(len(got) > budget, "over budget", budget=budget, got=got, count=len(got))
    if math.isclose(times[got], times[best]):
        if len(got) > len(best):
            reject("removes what does not matter", got=got, best=best or "removing nothing")
        return
    singles = sorted(_CAUSES, key=lambda c: times[c,])
    if budget == 2:
        reject_if(set(got) == set(singles[:2]), "adds up single savings", names=" and ".join(got))
        reject_if(singles[0] in got, "best single first", best=singles[0])
    reject_if(times[got] == max(times[c] for c in times if len(c) <= budget), "the slowest")
    reject("other", budget=budget, got=got)


def cause_table(seed):
    """Return {set of causes: time in us}: two resources in parallel, behind a serial one."""
    rng = np.random.default_rng(seed)
    hidden = seed % 4 != 3
    a, b, c, d = rng.permutation(_CAUSES)
    base = float(rng.integers(40, 60))
    first, second = float(rng.integers(18, 30)), float(rng.integers(3, 9))
    third = float(rng.integers(1, 3))
    alone = (0.0, 1.0) if hidden else (first, 0.0)  # hidden: the other one still holds
    by_both = {(True, True): first, (True, False): alone[0], (False, True): alone[1]}
    by_both[False, False] = 0.0
    times = {(): base}
    for n in (1, 2):
        for some in itertools.combinations(sorted(_CAUSES), n):
            saved = by_both[a in some, b in some] + second * (c in some)
            saved += third * (d in some and c not in some)  # c has saved that already
            times[some] = round(base - saved, 1)
    return times
