"""Judge of the checks: the emulator itself, which places the plans and runs the races."""

import itertools

import pytest

from tests.for_each import for_each
from trainium_edu.exercises import neuroncore as check
from trainium_edu.exercises.exercise import Status
from trainium_edu.neuroncore import NeuronCore
from trainium_edu.neuroncore.recording.engine import Memory
from trainium_edu.neuroncore.timing.placement import place
from trainium_edu.specs import TRN1
from trainium_edu.specs.errors import NkiValidationError


def placed(plan, buffers):
    """Record turns in which all tiles of a plan are alive at once, and place them."""
    core = NeuronCore(values=False)
    allocate = [  # a site of its own for each line of the plan
        lambda *a: core.sbuf(*a, name="one"),
        lambda *a: core.sbuf(*a, name="two"),
        lambda *a: core.sbuf(*a, name="three"),
    ]
    for _ in range(9):
        tiles = [
            allocate[i]((p, c), d) for i, (p, c, d, alive) in enumerate(plan) for _ in range(alive)
        ]
        for tile in tiles:
            core.memset(dst=tile, value=1)
        for tile in tiles:
            core.tensor_copy(dst=tile, src=tile)
    return place(core.program, buffers=buffers).high_water_bytes[Memory.SBUF]


@for_each("seed", range(12))
def test_sbuf_plans_are_what_place_gives(seed):
    plan = check.sbuf_plan.numbers(f"student {seed}").tiles
    one = check.needed_bytes(plan)
    assert placed(plan, 1) == one
    buffers, total = check.plan_that_fits(one)
    assert total == max(1, buffers) * one
    if buffers > 1:
        assert placed(plan, buffers) == total
    assert TRN1.sbuf.bytes_per_partition.value == check.SBUF_BYTES


def test_a_plan_that_fits_no_buffer_is_refused_by_place():
    with pytest.raises(NkiValidationError):
        placed([(128, 24 * 1024, "float32", 1), (128, 24 * 1024 + 4, "float32", 1)], 1)


def run_plan(tiles, steps, *, stated):
    """Execute a plan: each step looks at what it reads and writes a number of its own."""
    core = NeuronCore()
    views = {}
    for name, (address, nbytes, first, partitions) in tiles.items():
        views[name] = core.sbuf(
            (partitions, nbytes // 4), address=address if stated else None, start_partition=first,
            name=name,
        )  # fmt: skip
    seen = []
    for number, (written, reads) in enumerate(steps):
        seen += [(number, name, core.value(views[name]).tobytes()) for name in reads]
        core.memset(dst=views[written], value=float(number + 1))
    return seen


@for_each("seed", range(25))
def test_a_race_is_where_real_bytes_change(seed):
    """Exactly the destroyed tile reads other numbers than with bytes of its own."""
    tiles, steps = check.racing_plan(seed)
    ((destroyed, destroyer),) = check.races(tiles, steps)
    alone, shared = (run_plan(tiles, steps, stated=s) for s in (False, True))
    first = next(a for a, b in zip(alone, shared, strict=True) if a != b)
    assert first[1] == destroyed
    assert [w for w, _ in steps].index(destroyer) < first[0]


def test_every_race_plan_has_its_near_misses():
    for seed in range(50):
        tiles, steps = check.racing_plan(seed)
        assert check.has_decoys(tiles, check.races(tiles, steps))


def test_idle_share_falls_when_the_order_works_ahead():
    """A law: with enough room the Vector Engine's stream has no gaps."""

    def ahead(tiles, room):
        steps = [(n, k) for k in range(room) for n in ("square", "exp")]
        for k in range(tiles):
            steps.append(("scale", k))
            if k + room < tiles:
                steps += [("square", k + room), ("exp", k + room)]
        return steps

    idle = [check.vector_idle_share(ahead(10, room), 512) for room in (1, 2, 3)]
    assert idle[0] > 5 * check.MOST_IDLE
    assert idle[1] < check.MOST_IDLE
    assert idle[2] == pytest.approx(0, abs=1e-9)
    assert [check.most_alive(ahead(10, room)) for room in (1, 2, 3)] == [1, 2, 3]


def test_cause_tables_hide_pairs():
    """Judge: the smallest time among all sets, sought here; five students get eight tables each."""
    given = []

    def smallest(times, budget):
        given.append(times)
        return min((c for c in times if len(c) <= budget), key=lambda c: (times[c], len(c), c))

    for student in "abcde":
        assert check.remove_first(smallest, student).status is Status.PASSED
    hidden = 0
    tables = given[::2]  # each is given once with a budget of 1, once with 2
    assert len(tables) == 40
    for times in tables:
        causes = sorted(cause for some in times if len(some) == 1 for cause in some)
        assert len(causes) == 4
        assert set(times) == {c for n in (0, 1, 2) for c in itertools.combinations(causes, n)}
        hidden += smallest(times, 1)[0] not in smallest(times, 2)
    assert 20 < hidden < 40
