"""What the graph explorer gets.  Judges: JSON; the executable's own records."""

import json

import pytest

from tests.xla.executable.graphs import layers
from trainium_edu.xla.executable import Executable, describe


@pytest.fixture(scope="module")
def executable():
    return Executable(layers(2))


@pytest.fixture(scope="module")
def told(executable):
    return describe(executable)


def test_it_is_plain_json_with_the_contracts_names_and_ids_in_order(told):
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    for name in ("nodes", "recorded"):
        for place, node in enumerate(told[name]):
            assert node["id"] == place
            assert all(i < place for i in node["inputs"])
    assert set(told["nodes"][0]) == {
        "id", "operation", "type", "inputs", "scope", "line", "text", "section", "start_ns",
        "end_ns", "engine_ns", "bytes", "flops", "roofline_ns", "stands_for",
    }  # fmt: skip
    assert set(told["nodes"][0]["engine_ns"]) == {"tensor", "vector", "scalar", "gpsimd", "dma"}
    assert set(told["recorded"][0]) == {"id", "operation", "type", "inputs", "scope", "line"}


def test_scopes_stand_ins_and_totals_are_the_executables(told, executable):
    products = [node for node in told["nodes"] if node["operation"] == "dot"]
    assert [node["scope"] for node in products] == ["layer.0", "layer.1"]
    assert all(node["line"].startswith("graphs.py:") for node in products)
    assert all("dot(" in node["text"] for node in products)
    served = {i for node in told["nodes"] for i in node["stands_for"]}
    assert served == {node["id"] for node in told["recorded"]}
    assert told["total_ns"] == executable.makespan_ns
    products = 2 * 2 * 256**3
    assert told["flops"] == products + 2 * 2 * 256 * 256  # and an add and a gelu each
    assert [p["name"] for p in told["passes"]] == ["auto-cast", "simplify", "fuse"]
    assert told["passes"][-1]["nodes_after"] == len(told["nodes"])
    costs = [advice["ns"] for advice in told["advice"]]
    assert costs
    assert all(0 <= i < len(told["nodes"]) for a in told["advice"] for i in a["nodes"])
