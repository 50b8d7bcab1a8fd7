"""Judge: the rule that an error is one sentence: wrong arguments of every public function."""

import inspect
import itertools
import math
import sys
from dataclasses import replace

import numpy as np
import pytest

from tests.for_each import for_each, for_rows, raises
from trainium_edu import fabric
from trainium_edu.fabric import FabricError
from trainium_edu.specs import NCCOM_TABLES

T = fabric.torus(4, 4, ranks_per_chip=2)
CLUSTER = fabric.ultracluster(32)
RING = fabric.ring(4)
PLAN = fabric.plan(RING, "all_reduce", "ring")
LINE = fabric.Line("a", 1, 2)
DATA = np.ones((4, 8), np.float32)


class Anything:
    def __repr__(self):
        return "Anything()"


#: Values of every type; a kind of argument takes none of them but those it names.
MAX = sys.float_info.max
NOTHING, THING = None, Anything()
WRONG = [
    NOTHING, True, False, 0, -1, 2**70, -(2**70), 10**5000, 1.5, -0.5, math.nan, math.inf,
    -math.inf, 1e300, 1 + 2j, "x", "", "1", b"x", (), [], [1, "x"], [[1], [1, 2]], [math.nan],
    [-1], [2**70], [True], {}, {"x": 1}, {0: -1.0}, {99: 1.0}, set(), THING, object, len,
    np.zeros(0), np.zeros(3), np.full(3, np.nan), np.array(1.5), np.array(["x"]),
    np.ma.masked, np.ma.ones(3), np.float32(-1), np.int64(-1), slice(None), range(0),
    itertools.count(), Ellipsis,
]  # fmt: skip


def refuses(*good):
    """Return the wrong values without those of which a type or value is good here."""

    def fits(value):
        return any(
            g(value) if inspect.isfunction(g) else value is g if g is None else isinstance(value, g)
            for g in good
        )  # fmt: skip

    return [w for w in WRONG if not fits(w)]


def number(v):
    return isinstance(v, int | float | np.floating | np.integer) and not isinstance(v, bool)


def between(low, high):
    return lambda v: number(v) and low <= v <= high


def whole(low, high):
    return lambda v: number(v) and not isinstance(v, float | np.floating) and low <= v <= high


def listed(low, high, *shapes):
    """A list of numbers in range, of one of these lengths."""

    def fits(v):
        if not isinstance(v, list | tuple | range | np.ndarray) or isinstance(v, np.ma.MaskedArray):
            return False
        try:
            array = np.asarray(v, np.float64)
        except (ValueError, TypeError, OverflowError):
            return False
        bools = any(isinstance(x, bool) for x in v) if array.ndim else True
        ok = array.ndim and bool(np.all((array >= low) & (array <= high))) and not bools
        return ok and (not shapes or array.shape in shapes)

    return fits


def one(v):
    return isinstance(v, str) and v == "1"


def empty(*kinds):
    return lambda v: isinstance(v, kinds) and getattr(v, "ndim", 1) and len(v) == 0


#: By kind of argument, the wrong values.
KINDS = {
    "text": refuses(), "flag": refuses(bool), "none": refuses(None), "name": refuses(str),
    "bytes": refuses(whole(0, 2**50)), "chip": refuses(whole(0, 3)), "index": refuses(whole(0, 1)),
    "count": refuses(whole(1, 10**6)), "count>1": refuses(whole(2, 10**6)),
    "lanes": refuses(whole(1, 64)), "chips": refuses(whole(1, 1024)), "bits": refuses(whole(1, 19)),
    "capacity": refuses(whole(1, 2**60)), "seed": refuses(whole(0, 2**63 - 1)),
    "chunks": refuses(whole(1, 65536), None), "cycles": refuses(whole(1, 2), None),
    "real": refuses(between(0, 1e18)), "rate": refuses(between(1e-3, 1e18)),
    "speed": refuses(between(1e-300, 1e18)), "factor": refuses(between(1, 1e18)),
    "real?": refuses(between(0, 1e18), None), "speed?": refuses(between(1e-300, 1e18), None),
    "growth": refuses(between(1.0000001, 1e18), None), "step": refuses(whole(1, 2**40), one, None),
    "time": refuses(between(0, 1e30)), "room": refuses(between(0, 2**36)),
    "least": refuses(whole(1, 4), one), "most": refuses(whole(4, 2**40)),
    "ranks": refuses(whole(0, 31)), "step!": refuses(whole(1, 2**40), one),
    "columns": refuses(whole(0, 2**31 - 1), empty(range)),
    "two": refuses(whole(2, 10**6)), "index+1": refuses(whole(1, 2)), "owners": refuses(
        empty(list, tuple, range, np.ndarray), listed(0, 1)),
    "count>3": refuses(whole(4, 10**6)), "count0": refuses(whole(0, 10**6)),
    "late": refuses(None, empty(dict)), "check": refuses(bool), "path": refuses(None, str),
    "lines": refuses(empty(list, tuple)), "sizes": refuses(between(0, MAX), listed(0, MAX)),
    "sizes?": refuses(between(0, MAX), listed(0, MAX), None),
    "elements": refuses(whole(0, 2**53), listed(0, 2**53, (4,))),
    "shape": refuses(whole(1, 10**6)),
    "gray": refuses(whole(0, 2**62)),
    "wraps": refuses(lambda v: isinstance(v, list) and v == [True]),
    "moves": refuses(empty(list, tuple, range, set, dict, str, np.ndarray)),
    "outputs": [None, True, 5, 1.5, "x", b"x", (), [], {}, {0: 1}, set(), object, [{}],
                [[1], [1, 2]], [[1], [[1], [1, 2]]], np.array(1.5), np.ma.ones(3), np.ma.masked,
                np.zeros(0)],
}  # fmt: skip

OPTIONS = {"name": "name", "ranks_per_chip": "lanes", "link_bytes_per_s": "speed",
           "latency_ns": "real", "direction": "text", "hbm_bytes_per_s": "speed",
           "hbm_bytes": "capacity"}  # fmt: skip
GOOD = {"name": "x", "ranks_per_chip": 2, "link_bytes_per_s": 1e9, "latency_ns": 0,
        "direction": "one_way", "hbm_bytes_per_s": 1e9, "hbm_bytes": 2**30}  # fmt: skip
MADE = {k: v for k, v in OPTIONS.items() if k != "name"}
DEVICE = {k: GOOD[k] for k in MADE}
BILL = {"schedule": PLAN, "topology": RING, "nbytes": 64, "costs": None}
BILLED = {"schedule": "text", "topology": "text", "nbytes": "bytes", "costs": "none"}

# what to call, a good value for every argument, and the kind of each
CASES = [
    (fabric.product, {"shape": [4], "wrap": [True], **GOOD},
     {"shape": "text", "wrap": "wraps", **OPTIONS}),
    (fabric.ring, {"chips": 4, **GOOD}, {"chips": "count", **OPTIONS}),
    (lambda extent, **o: fabric.torus(4, extent, **o), {"extent": 4, **GOOD},
     {"extent": "count", **OPTIONS}),
    (lambda extent, **o: fabric.grid(extent, 4, **o), {"extent": 4, **GOOD},
     {"extent": "count", **OPTIONS}),
    (fabric.hypercube, {"dimension": 3, **GOOD}, {"dimension": "bits", **OPTIONS}),
    (fabric.fully_connected, {"chips": 4, **GOOD}, {"chips": "chips", **OPTIONS}),
    *((f, DEVICE, MADE) for f in (
        fabric.trn1_32xlarge, fabric.trn1n_32xlarge, fabric.ultraserver,
        fabric.inf2_48xlarge, fabric.trn2_48xlarge)),
    (fabric.machine, {"instance": "trn2.48xlarge", "shape": None, **DEVICE},
     {"instance": "text", "shape": "none", **MADE}),
    (fabric.group, {"ranks": 8, **DEVICE}, {"ranks": "text", **MADE}),
    (fabric.ultracluster,
     {"chips": 32, "instance": "trn1.32xlarge", "network_latency_ns": None, **DEVICE},
     {"chips": "none", "instance": "text", "network_latency_ns": "real?", **MADE}),
    (fabric.one_instance, {"topology": CLUSTER, "index": 1},
     {"topology": "text", "index": "index"}),
    (T.neighbours, {"chip": 1}, {"chip": "chip"}),
    (T.coordinates, {"chip": 1}, {"chip": "chip"}),
    (T.hops, {"chip": 1}, {"chip": "chip"}),
    (T.link, {"src": 0, "dst": 1}, {"src": "chip", "dst": "chip"}),
    (RING.with_links, {"bandwidth_bytes_per_s": 1e9, "latency_ns": 1.0, "direction": "one_way"},
     {"bandwidth_bytes_per_s": "speed?", "latency_ns": "real?", "direction": "none"}),
    (fabric.gray, {"i": 3}, {"i": "gray"}),
    (fabric.cube_addresses, {"topology": T}, {"topology": "text"}),
    (fabric.hamiltonian_cycles, {"topology": T}, {"topology": "text"}),
    (fabric.route, {"topology": T, "src": 0, "dst": 5, "ties": "balanced"},
     {"topology": "text", "src": "chip", "dst": "chip", "ties": "text"}),
    (fabric.routes, {"topology": T, "src": [0, 1], "dst": [1, 2], "ties": "balanced"},
     {"topology": "text", "src": "text", "dst": "text", "ties": "text"}),
    (fabric.plan, {"topology": T, "collective": "all_reduce", "algorithm": "ring", "cycles": 1},
     {"topology": "text", "collective": "text", "algorithm": "text", "cycles": "cycles"}),
    (fabric.plan, {"topology": RING, "collective": "all_reduce", "order": [0, 1, 2, 3]},
     {"order": "none"}),
    (lambda **o: fabric.plan(T, "all_reduce", "rdh", **o), {"axis_order": "same"},
     {"axis_order": "text"}),
    (lambda **o: fabric.plan(T, "all_reduce", "halving_doubling", **o),
     {"order": "gray", "low_first": True}, {"order": "text", "low_first": "flag"}),
    (lambda **o: fabric.plan(T, "all_reduce", "ring_by_dimension", **o),
     {"lanes": 1, "whole": False}, {"lanes": "index", "whole": "flag"}),
    (lambda **o: fabric.plan(CLUSTER, "all_reduce", "hierarchical", **o),
     {"intra": "ring", "inter": "mesh"}, {"intra": "text", "inter": "text"}),
    (lambda **o: fabric.plan(RING, "broadcast", "ring", **o), {"root": 1, "chunks": 4},
     {"root": "chip", "chunks": "chunks"}),
    (lambda **o: fabric.plan(RING, "permute", "mesh", **o), {"target": [1, 0, 3, 2]},
     {"target": "text"}),
    (fabric.run,
     {"topology": RING, "collective": "all_reduce", "inputs": DATA, "algorithm": "ring",
      "rounding": "nearest", "seed": 0, "upset_seed": None},
     {"topology": "text", "collective": "text", "inputs": "text", "algorithm": "text",
      "rounding": "text", "seed": "seed", "upset_seed": "none"}),
    (fabric.all_reduce, {"buffers": DATA, "topology": RING, "algorithm": "ring"},
     {"buffers": "text", "topology": "text", "algorithm": "text"}),
    (fabric.execute,
     {"schedule": PLAN, "inputs": DATA, "rounding": "nearest", "seed": 0, "upset_seed": None,
      "keep_states": False},
     {"schedule": "text", "inputs": "text", "rounding": "text", "seed": "seed",
      "upset_seed": "none", "keep_states": "flag"}),
    (fabric.check, {"schedule": PLAN}, {"schedule": "text"}),
    (fabric.check_agreement, {"outputs": DATA}, {"outputs": "outputs"}),
    (fabric.ring_all_reduce, {"buffers": DATA.copy()}, {"buffers": "text"}),
    (fabric.sum_rows,
     {"schedule": PLAN, "rows": np.ones((PLAN.ranks, 5), np.float32), "fmt": "fp32",
      "rounding": "nearest", "seed": 0},
     {"schedule": "text", "rows": "text", "fmt": "text", "rounding": "text", "seed": "seed"}),
    (fabric.sum_in_ring,
     {"rows": np.ones((4, 5), np.float32), "fmt": "bf16", "rounding": "nearest", "seed": 0},
     {"rows": "text", "fmt": "text", "rounding": "text", "seed": "seed"}),
    (fabric.item_sizes, {"schedule": PLAN, "elements": 5},
     {"schedule": "text", "elements": "elements"}),
    (fabric.Schedule.from_moves,
     {"collective": "reduce_scatter", "ranks": 2, "moves": [(0, 0, 1, 1, "add")],
      "algorithm": "mine", "chunks": 2, "ranks_per_chip": 1, "root": 0},
     {"collective": "text", "ranks": "text", "moves": "moves", "algorithm": "name",
      "chunks": "chunks", "ranks_per_chip": "text", "root": "index"}),
    (fabric.Costs,
     {"latency": "once", "hbm": "added", "ties": "balanced", "on_chip_latency_ns": 0},
     {"latency": "text", "hbm": "text", "ties": "text", "on_chip_latency_ns": "real"}),
    (fabric.account, BILL, BILLED),
    (fabric.timeline, BILL, BILLED),
    (fabric.inter_node, {"name": "ring", "instances": 4, "step_ns": 1, "bytes_per_s": 1e9},
     {"name": "text", "instances": "count>1", "step_ns": "real", "bytes_per_s": "rate"}),
    (fabric.single_step_break_even_bytes, {"instances": 4, "step_ns": 1, "bytes_per_s": 1e9},
     {"instances": "count>1", "step_ns": "real", "bytes_per_s": "rate"}),
    (fabric.link_loads,
     {"schedule": PLAN, "topology": RING, "sizes": None, "ties": "balanced"},
     {"schedule": "text", "topology": "text", "sizes": "none", "ties": "text"}),
    (fabric.memory_loads, {"schedule": PLAN, "sizes": None},
     {"schedule": "text", "sizes": "none"}),
    (fabric.busiest_link_chunks, {"schedule": PLAN, "topology": RING, "ties": "one_way"},
     {"schedule": "text", "topology": "text", "ties": "text"}),
    (fabric.hbm_touches, {"schedule": PLAN}, {"schedule": "text"}),
    (fabric.line, {k: BILL[k] for k in ("schedule", "topology", "costs")},
     {"schedule": "text", "topology": "text", "costs": "none"}),
    (fabric.Line, {"name": "a", "alpha_ns": 1, "ns_per_byte": 2.0},
     {"name": "name", "alpha_ns": "time", "ns_per_byte": "time"}),
    (LINE.at, {"nbytes": 5}, {"nbytes": "sizes"}),
    (fabric.calibrate().at, {"nbytes": 5}, {"nbytes": "sizes"}),
    (fabric.lower_bound,
     {"chips": 4, "links_per_chip": 4, "hop_ns": 1, "link_bytes_per_s": 1e9},
     {"chips": "count", "links_per_chip": "count", "hop_ns": "real", "link_bytes_per_s": "rate"}),
    (fabric.sweep, {"lines": [LINE], "sizes": [1]}, {"lines": "text", "sizes": "sizes"}),
    (fabric.crossovers, {"lines": [LINE]}, {"lines": "lines"}),
    (fabric.select,
     {"topology": T, "collective": "all_reduce", "algorithms": ["mesh"], "sizes": [5],
      "costs": None, "options": None},
     {"topology": "text", "collective": "text", "algorithms": "text", "sizes": "sizes?",
      "costs": "none", "options": "late"}),
    (fabric.choose,
     {"topology": T, "collective": "all_reduce", "nbytes": 64, "algorithms": None, "costs": None},
     {"topology": "text", "collective": "text", "nbytes": "bytes", "algorithms": "none",
      "costs": "none"}),
    (fabric.hierarchical_time,
     {"cluster": CLUSTER, "nbytes": 64, "intra": "mesh", "inter": "ring", "costs": None},
     {"cluster": "text", "nbytes": "bytes", "intra": "text", "inter": "text",
      "costs": "none"}),
    (fabric.flat_ring_time, {"cluster": CLUSTER, "nbytes": 64, "costs": None},
     {"cluster": "text", "nbytes": "bytes", "costs": "none"}),
    (fabric.without_link, {"topology": RING, "a": 0, "b": 1, "both_ways": True},
     {"topology": "text", "a": "none", "b": "none", "both_ways": "flag"}),
    (fabric.impact,
     {"healthy": RING, "damaged": fabric.without_link(RING, 0, 1), "nbytes": 64,
      "collective": "all_reduce", "algorithms": ["ring"], "costs": None},
     {"healthy": "text", "damaged": "text", "nbytes": "bytes", "collective": "text",
      "algorithms": "text", "costs": "none"}),
    (fabric.pool, {"topology": T, "home": 0, "spread": 2},
     {"topology": "text", "home": "chip", "spread": "none"}),
    (fabric.pool(T, 0, 2).read_ns, {"nbytes": 64}, {"nbytes": "room"}),
    (fabric.nccom_test,
     {"operation": "allr", "nworkers": 2, "nnodes": 1, "minbytes": 4, "maxbytes": 4,
      "stepfactor": None, "stepbytes": None, "datatype": "fp32", "check": False,
      "show_algorithm": False, "show_input_output_size": False, "stats": ("avg",),
      "report_to_json_file": None, "topology": None, "costs": None},
     {"operation": "text", "nworkers": "text", "nnodes": "none", "minbytes": "least",
      "maxbytes": "most", "stepfactor": "growth", "stepbytes": "step", "datatype": "text",
      "check": "check", "show_algorithm": "flag", "show_input_output_size": "flag",
      "stats": "text", "report_to_json_file": "path", "topology": "none",
      "costs": "none"}),
    (fabric.nccom.parse_bytes, {"text": 1, "name": "a"}, {"text": "step!"}),
    (fabric.nccom.bus_factor, {"operation": "allr", "ranks": 4},
     {"operation": "text", "ranks": "count"}),
    (fabric.published.model_time_ns,
     {"topology": RING, "collective": "all_reduce", "nbytes": 64, "costs": None},
     {"topology": "text", "collective": "text", "nbytes": "bytes", "costs": "none"}),
    (T.chip_of, {"rank": 3}, {"rank": "ranks"}),
    (lambda **o: fabric.Moves().add(**o), {"step": 0, "src": 0, "dst": 1, "item": 0, "op": 0},
     dict.fromkeys(("step", "src", "dst", "item", "op"), "columns")),
    (lambda **o: fabric.Moves().schedule("all_reduce", "mine", **o),
     {"ranks": 2, "ranks_per_chip": 1, "owner": [0, 1], "lanes": 1, "root": 0},
     {"ranks": "two", "ranks_per_chip": "index+1", "owner": "owners", "lanes": "index+1",
      "root": "index"}),
    (lambda **o: replace(RING, **o),
     {"chips": 4, "ranks_per_chip": 1, "instances": 1, "switches": 0, "src": RING.src,
      "dst": RING.dst, "bandwidth_bytes_per_s": RING.bandwidth_bytes_per_s,
      "latency_ns": RING.latency_ns},
     {"chips": "count>3", "ranks_per_chip": "count", "instances": "count", "switches": "count0",
      "src": "text", "dst": "text", "bandwidth_bytes_per_s": "text", "latency_ns": "text"}),
    (lambda **o: replace(PLAN, **o), {"step": PLAN.step, "src": PLAN.src},
     {"step": "text", "src": "text"}),
    (fabric.calibrate, {"table": NCCOM_TABLES[0]}, {"table": "none"}),
    (fabric.compare, {"costs": None, "with_floor": False, **DEVICE},
     {"costs": "none", "with_floor": "flag", **MADE}),
]  # fmt: skip


def name_of(case):
    call = case[0]
    return getattr(call, "__qualname__", type(call).__name__)


def wrong_calls():
    return [
        pytest.param(call, good, argument, kind, id=f"{name_of((call,))}-{argument}")
        for call, good, kinds in CASES
        for argument, kind in kinds.items()
    ]


@for_each(("call", "good", "argument", "kind"), wrong_calls())
def test_wrong_arguments_are_refused_in_one_sentence(call, good, argument, kind):
    for wrong in KINDS[kind]:
        if number(wrong) and not isinstance(wrong, float) and wrong in (0, 1) and kind == "none":
            continue
        try:
            got = call(**{**good, argument: wrong})
        except FabricError as error:
            told = str(error)
            assert "\n" not in told
            assert len(told) < 400
        else:
            shown = type(wrong) if isinstance(wrong, int) else wrong
            pytest.fail(f"{argument}={shown!r} was taken: {str(got)[:200]}")


@for_each("case", CASES, ids=name_of)
def test_the_good_arguments_are_good(case):
    call, good, _ = case
    call(**good)


def test_every_public_function_is_tried():
    tried = {getattr(call, "__name__", "") for call, _, _ in CASES} | {"torus", "grid"}
    functions = {n for n in fabric.__all__ if inspect.isfunction(getattr(fabric, n))}
    assert functions <= tried


@for_rows(
    "call, says",
    (lambda: fabric.route(T, 1.5, 1), "chip src is 1.5; it must be an integer from 0 to 15"),
    (lambda: fabric.route(T, 99, 1), "chip src is 99; it must be an integer from 0 to 15"),
    (lambda: fabric.route(T, True, 1), "chip src is True"),
    (lambda: fabric.without_link(T, 0, 1.5), "vertex is 1.5; it must be an integer"),
    (lambda: fabric.gray(-1), "i is -1; it must be an integer from 0"),
    (lambda: fabric.gray(np.array([3, -1])), "i holds -1"),
    (lambda: T.hops(16), "chip is 16; it must be an integer from 0 to 15"),
    (lambda: fabric.plan(T, "all_reduce", "ring", cycles=10**5000), "an integer of 16610 bits"),
    (lambda: fabric.account(fabric.plan(T, "all_reduce"), RING, 64), "plan it for this"),
)
def test_what_the_sentence_says(call, says):
    raises(FabricError, says, call)
