"""The player's bytes: judged by the recorded run, read back as the page reads them."""

import json
import struct
import zlib

import numpy as np
import pytest

import trainium_edu.neuroncore.systolic_array as sa
from tests.for_each import for_rows
from trainium_edu.viz.bars import short
from trainium_edu.widgets.systolic_array import (
    SystolicArrayPlayer,
    array_player,
    reuse_explorer,
    stationary_explorer,
)

DTYPES = {"u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "f16": np.float16, "f32": np.float32}
DRAW = np.random.default_rng(0)
W, X = DRAW.standard_normal((6, 5)), DRAW.standard_normal((6, 7))
ARRAY = sa.SystolicArray(4, 4, load_speed=2)


def unpack(film):
    """Read a film as systolic_array.js does."""
    buffer = zlib.decompress(film)
    (size,) = struct.unpack_from("<I", buffer)
    header = json.loads(buffer[4 : 4 + size])
    arrays = {
        name: np.frombuffer(buffer, DTYPES[kind], count, 4 + size + offset)
        for name, (kind, offset, count) in header.pop("arrays").items()
    }
    return header, arrays


def test_the_film_holds_exactly_what_the_run_recorded():
    recorded = sa.run(W, X, array=ARRAY, fmt="bf16", record=True)
    header, film = unpack(SystolicArrayPlayer(sa.frames_of_run(recorded)).film)
    assert (header["cycles"], header["m"], header["n"]) == (recorded.cycles, 5, 7)
    shape = (recorded.cycles, 4, 4)
    bits = film["state"].reshape(shape)
    for t in range(recorded.cycles):
        state = recorded.state(t)
        np.testing.assert_array_equal(film["down"].reshape(shape)[t], state.partial_sum)
        np.testing.assert_array_equal(film["stays"].reshape(shape)[t], state.weight)
        np.testing.assert_array_equal(film["across"].reshape(shape)[t], state.moving)
        for bit, valid in (
            (1, state.weight_valid), (2, state.moving_valid), (4, state.sum_valid),
            (8, state.multiplied), (16, state.waiting_valid),
        ):  # fmt: skip
            np.testing.assert_array_equal(bits[t] & bit > 0, valid)
    np.testing.assert_array_equal(film["busy"], recorded.working)


def test_results_in_the_film_add_up_to_dst():
    recorded = sa.run(W, X, array=ARRAY, fmt="bf16", record=True)
    _, film = unpack(SystolicArrayPlayer(sa.frames_of_run(recorded)).film)
    dst = np.zeros((5, 7), np.float32)
    for m, n, value, adds in zip(
        film["r_m"], film["r_n"], film["r_value"], film["r_adds"], strict=True
    ):
        dst[m, n] = dst[m, n] + value if adds else value
    np.testing.assert_array_equal(dst, recorded.result)


def test_arrays_start_at_multiples_of_eight_bytes():
    """Typed arrays in the browser need it."""
    buffer = zlib.decompress(array_player(W, X, array=ARRAY).film)
    (size,) = struct.unpack_from("<I", buffer)
    assert (4 + size) % 8 == 0
    table = json.loads(buffer[4 : 4 + size])["arrays"]
    assert all(offset % 8 == 0 for _, offset, _ in table.values())


def test_large_arrays_travel_in_half_precision():
    draw = np.random.default_rng(1)
    w, x = draw.standard_normal((40, 40)), draw.standard_normal((40, 6))
    recorded = sa.run(w, x, array=sa.SystolicArray(40, 40), fmt="bf16", record=True)
    header, film = unpack(SystolicArrayPlayer(sa.frames_of_run(recorded)).film)
    assert not header["exact"]
    assert film["down"].dtype == np.float16
    np.testing.assert_allclose(
        film["down"].reshape(-1, 40, 40)[60], recorded.state(60).partial_sum, rtol=1e-3, atol=1e-3
    )


@for_rows("flow", "input-stationary", "output-stationary")
def test_other_dataflows_play_too(flow):
    w, x = W[:4, :4], X[:4, :4]
    player = array_player(w, x, array=sa.SystolicArray(4, 4), dataflow=flow)
    header, film = unpack(player.film)
    dst, frames = sa.run_dataflow(flow, w, x, array=sa.SystolicArray(4, 4), fmt="bf16")
    assert header["dataflow"] == flow
    assert film["busy"].tolist() == frames.working.sum(axis=(1, 2)).tolist()
    for m, n, value in zip(film["r_m"], film["r_n"], film["r_value"], strict=True):
        assert value == dst[m, n]


def test_infinities_do_not_spoil_the_colours():
    player = array_player([[np.inf, 1.0]], [[1.0, 2.0]], array=sa.SystolicArray(2, 2))
    header, _ = unpack(player.film)
    assert header["scale"] == 2.0


def test_the_repr_is_fixed():
    player = array_player(W, X, array=ARRAY)
    assert repr(player) == (
        f"SystolicArrayPlayer(weight-stationary, 4 x 4, K=6 M=5 N=7, {player.frames.cycles} cycles)"
    )


@for_rows(
    "change, says",
    ({"cycle": 10**6}, "cycle is 1000000; it must be an integer from 0 to"),
    ({"follow": (9, 0)}, "no dst"),
    ({"dataflow": "sideways"}, "sideways"),
    ({"dataflow": "output-stationary", "skew": (0, 1)}, "weight-stationary array only"),
)
def test_impossible_players_are_refused(change, says):
    with pytest.raises(ValueError, match=says):
        array_player(W[:4, :4], X[:4, :4], array=sa.SystolicArray(4, 4), **change)


def test_sliders_redraw_their_pictures():
    (shown,) = stationary_explorer(columns=10_000).children
    assert ">x[1, 128] @ W[128, 8192], in cycles<" in shown.page["scene"]["svg"]
    shown.set(rows=2, columns=3)
    assert ">x[2, 128] @ W[128, 384], in cycles<" in shown.page["scene"]["svg"]
    assert shown.page["outputs"] == {"columns": "384"}
    (shown,) = reuse_explorer().children
    before = shown.page["scene"]["svg"]
    shown.set(step=20)
    assert shown.page["scene"]["svg"] != before
    assert f">N = {shown.page['outputs']['step']}<" in shown.page["scene"]["svg"]


def test_the_slider_of_reuse_opens_at_the_guess_and_steps_evenly_on_its_axis():
    """Judge: four steps to each power of two, as the axis below it is logarithmic."""
    (shown,) = reuse_explorer(guess=130).children
    assert shown.page["outputs"]["step"] == "128"
    options = set()
    for step in range(shown.controls[0]["max"] + 1):
        shown.set(step=step)
        options.add(int(shown.page["outputs"]["step"]))
    assert {2**k for k in range(10)} <= options


def test_stationary_bars_are_as_long_as_the_counts():
    (shown,) = stationary_explorer(k=128, rows=1, columns=4096).children
    svg = shown.page["scene"]["svg"]
    for price in sa.choice_cycles(128, 1, 4096).values():
        assert all(f">{short(count)}<" in svg for count in price.values())


def test_frames_are_taken_as_they_are():
    frames = sa.frames_of_run(sa.run(W, X, array=ARRAY, fmt="bf16", record=True))
    assert SystolicArrayPlayer(frames, cycle=3).frames is frames


LABELS = {"weight-stationary": (("w", "stays", 1), ("w", "waiting", 16), ("x", "across", 2)),
          "input-stationary": (("x", "stays", 1), ("x", "waiting", 16), ("w", "across", 2)),
          "output-stationary": (("w", "down", 4), ("x", "across", 2))}  # fmt: skip


@for_rows(
    "flow, tiles, extra",
    ("weight-stationary", 4, {}),
    ("weight-stationary", 1, {"skew": (0, 0, 2, 3)}),
    ("input-stationary", 1, {}),
    ("output-stationary", 1, {}),
)
def test_the_matrices_say_which_element_each_pe_holds(flow, tiles, extra):
    """Judge: the number at that place of the operand is the number that the PE holds."""
    w, x = (W, X) if tiles > 1 else (W[:4, :4], X[:4, :4])
    array = sa.SystolicArray(4, 4, load_speed=2)
    _, film = unpack(array_player(w, x, array=array, dataflow=flow, **extra).film)
    for operand, name, bit in LABELS[flow]:
        there = film["state"] & bit > 0
        assert there.any()
        places = film[f"of_{name}"][there]
        assert places.min() >= 1
        np.testing.assert_array_equal(film[operand][places - 1], film[name][there])


def test_large_operands_have_no_matrices():
    _, film = unpack(array_player(np.ones((4, 17)), X[:4], array=ARRAY).film)
    assert "w" not in film


@for_rows("speed", 1, 2, 4)
def test_weights_are_seen_coming_in_from_cycle_0(speed):
    """Judge: the registers: a weight that entered m cycles ago waits in column m."""
    array = sa.SystolicArray(4, 4, load_speed=speed)
    frames = sa.frames_of_run(sa.run(W[:4, :4], X[:4], array=array, fmt="bf16", record=True))
    assert min(entry[0] for entry in frames.load_queue) == 0
    assert len(frames.load_queue) == 16
    for enters, row, column, value in frames.load_queue:
        at = enters + column
        assert frames.waiting_valid[at, row, column]
        assert not frames.waiting_valid[:at, row, column].any()
        assert frames.waiting[at, row, column] == value
