"""A training step of a ViT without its numbers: work, time to compile, memory.

Judges: FLOPs and HBM bytes by closed form; the clock, and what the operating system counted, of a
fresh process.
"""

import json
import subprocess
import sys

import pytest

from tests.for_each import for_rows
from tests.slowness import slowness
from tests.texts import text_beside
from tests.xla.executable import vit
from trainium_edu.xla.executable import Executable
from trainium_edu.xla.operations import OPERATIONS


def product_flops(batch, tokens, width, heads, depth, inner, patch, classes):
    """Return the FLOPs of all products: two per multiply-add; backward takes them twice more."""
    rows = batch * tokens
    layer = 4 * rows * width**2 + 2 * rows * width * inner + 2 * batch * tokens**2 * width
    first = batch * (tokens - 1) * patch * width
    return 2 * (3 * (depth * layer + batch * width * classes + first) - first)  # images want none


@for_rows("batch, sizes", (16, vit.BASE), (32, vit.SMALL))
def test_flops_of_products_are_the_closed_form(batch, sizes):
    graph = vit.step(batch, sizes)
    final = Executable(graph).final
    found = sum(OPERATIONS[n.operation].flops(n) for n in final.nodes if n.operation == "dot")
    assert found == product_flops(batch, **sizes)


def product_bytes(batch, tokens, width, heads, depth, inner, patch, classes):
    """Return the HBM bytes of all products: each reads its operands once and writes its result.

    The two products of a backward pass have the same three matrices in other places.
    """
    rows, size = batch * tokens, width // heads
    first = _matrices(batch * (tokens - 1), patch, width)
    layer = 4 * _matrices(rows, width, width) + 2 * _matrices(rows, width, inner)
    layer += 2 * batch * heads * _matrices(tokens, size, tokens)
    return 3 * (depth * layer + _matrices(batch, width, classes)) + 2 * first


def _matrices(m, k, n):
    return 4 * (m * k + k * n + m * n)


def test_hbm_bytes_of_a_step_are_the_closed_form():
    """What goes through SBUF whole is read once and written once, whatever the operation."""
    graph = vit.step(8, vit.SMALL)
    records = Executable(graph).operations()
    found = sum(r.bytes for r in records if r.node.operation == "dot")
    assert found == product_bytes(8, **vit.SMALL)
    moves = {"reshape", "transpose", "slice", "concatenate", "broadcast", "parameter", "constant"}
    for record in records:
        node = record.node
        if node.operation not in moves:
            numbers = [i for i in node.inputs if i.operation == "constant" and i.type.size == 1]
            takes = sum(i.type.nbytes for i in dict.fromkeys(node.inputs) if i not in numbers)
            assert record.bytes == takes + node.type.nbytes, node


@pytest.mark.parametrize(
    ("batch", "sizes"), [(8, vit.SMALL), pytest.param(16, vit.BASE, marks=pytest.mark.slow)]
)
def test_no_operation_beats_its_roofline(batch, sizes):
    graph = vit.step(batch, sizes)
    for record in Executable(graph).operations():
        assert record.end_ns - record.start_ns >= record.roofline_ns, record.node


def test_passes_leave_inner_layers_the_same_operations():
    graph = vit.step(2, vit.SMALL)
    final = Executable(graph).final

    def forward(layer):
        return [n.operation for n in final.nodes if n.scope == f"encoder.{layer}"]

    assert forward(1) == forward(2)


_MEASURED = text_beside(__file__, "vit_measured.txt")


@pytest.mark.slow
@pytest.mark.clock
@pytest.mark.parametrize(("batch", "sizes", "most_s"), [(16, vit.BASE, 10), (32, vit.SMALL, 3)])
def test_a_step_compiles_in_seconds_loads_in_50_ms_and_stays_under_1_gib(batch, sizes, most_s):
    call = [sys.executable, "-c", _MEASURED, json.dumps([batch, sizes])]
    before = slowness()
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    cold_s, load_s, peak_bytes = json.loads(done.stdout)
    busy = max(1.0, before, slowness())
    assert cold_s <= most_s * busy
    assert load_s <= 0.05 * busy
    assert peak_bytes < 2**30
