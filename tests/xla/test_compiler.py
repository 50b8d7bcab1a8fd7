"""Looking graphs up.  Judges: PyTorch/XLA's counters, and the lines and sizes that differ."""

import numpy as np
import pytest

from tests.for_each import for_each, raises
from tests.texts import rows_beside
from trainium_edu.xla import numpy as xnp
from trainium_edu.xla.compiler import Compiler, compile_bytes, difference
from trainium_edu.xla.device import Device
from trainium_edu.xla.executable import Executable
from trainium_edu.xla.flags import parse
from trainium_edu.xla.graph import Graph, as_type
from trainium_edu.xla.metrics import Metrics
from trainium_edu.xla.operations import apply, parameter
from trainium_edu.xla.tensor import as_tensor

ROWS = rows_beside(__file__, "compiler.toml")


def graph(rows=4, tail=("exp",), name="x", **attributes):
    x = parameter(0, as_type((rows, 8), "float32"), name)
    node = apply("reduce_sum", x, **({"axes": (-1,), "keep": True} | attributes))
    for operation in tail:
        node = apply(operation, node)
    return Graph("step", (x,), (node,))


def test_fingerprint_and_flags_are_the_key():
    compiler = Compiler(metrics=Metrics())
    first = compiler.get(graph(), 0)
    assert compiler.get(graph(), 1) is first
    compiler.flags = parse("--auto-cast=all")
    assert compiler.get(graph(), 2) is not first
    compiler.flags = parse("")
    assert compiler.get(graph(), 3) is first
    assert [e.kind for e in compiler.history] == ["compiled", "memory", "compiled", "memory"]
    assert [e.why for e in compiler.history] == ["the first graph", "", "other flags", ""]
    metrics = compiler.metrics
    assert metrics.counter_value("UncachedCompile") == metrics.metric_data("CompileTime")[0] == 2
    assert metrics.counter_value("CachedCompile") == 2
    assert metrics.counter_value("xla::exp") == 4
    assert metrics.metric_data("TensorsGraphSize")[1] == 4 * len(graph().nodes)


@for_each("changed, sentence", ROWS["differences"])
def test_difference_names_the_line_and_what_changed(changed, sentence):
    import re

    assert re.search(sentence, difference(graph(), graph(**changed)))


def test_new_graph_is_compared_with_the_most_similar_one():
    compiler = Compiler(metrics=Metrics())
    compiler.get(graph(tail=("exp", "tanh", "exp")), 0)
    x = parameter(0, as_type((3,), "float32"))
    compiler.get(Graph("other", (x,), (apply("sin", x),)), 1)
    compiler.get(graph(rows=7, tail=("exp", "tanh", "exp")), 2)
    assert "unlike those before" in compiler.history[1].why
    assert "f32[7,8], and was f32[4,8]" in compiler.history[2].why


def test_failed_compile_is_remembered_unless_it_is_to_be_retried(monkeypatch):
    tries = []

    def refuse(*_, **__):
        tries.append(1)
        raise ValueError("this graph has no program")

    monkeypatch.setattr("trainium_edu.xla.compiler.Executable", refuse)
    compiler = Compiler(metrics=Metrics())
    for _ in range(3):
        raises(ValueError, "no program", compiler.get, graph(), 0)
    assert len(tries) == 1
    compiler.flags = parse("--retry_failed_compilation")
    for _ in range(2):
        raises(ValueError, "no program", compiler.get, graph(rows=9), 0)
    assert len(tries) == 3
    assert {e.kind for e in compiler.history} == {"failed"}


def test_only_the_recently_used_stay_in_memory():
    """Judge: NEURON_NUM_RECENT_MODELS_TO_KEEP."""
    compiler = Compiler(most=2, metrics=Metrics())
    for rows in (1, 2, 1, 3, 1, 2):
        compiler.get(graph(rows), 0)
    kinds = [e.kind for e in compiler.history]
    assert kinds == ["compiled", "compiled", "memory", "compiled", "memory", "compiled"]


def test_compiled_bytes_give_the_executable_back():
    g = graph()
    executable = Executable.from_bytes(compile_bytes(g.to_json(), "--auto-cast=none"))
    feed = np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)
    (value,) = executable.plan.run([feed])
    np.testing.assert_allclose(value, np.exp(feed.sum(-1, keepdims=True)), rtol=1e-6)
    assert executable.makespan_ns == Executable(g).makespan_ns


def test_execute_time_is_the_emulated_one():
    device = Device(compiler=Compiler(timed=True, metrics=Metrics()))
    out = xnp.exp(as_tensor(np.ones((128, 512)), device))
    device.mark_step()
    total, ns, _ = device.compiler.metrics.metric_data("ExecuteTime")
    (recorded,) = device.compiler.graphs
    assert (total, ns) == (1, Executable(recorded).makespan_ns)
    assert out.numpy()[0, 0] == pytest.approx(np.e)
