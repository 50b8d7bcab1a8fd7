"""A layer of a transformer, forward, backward and update, in one graph.

Judge: the executor for the instructions, as recorded and fused; its values are held to PyTorch's in
``tests/training/test_against_torch.py``.
"""

import numpy as np

from tests.for_each import for_rows
from tests.xla.operations.cases import lowered, values
from trainium_edu.training import nn, optim
from trainium_edu.xla import numpy as xnp
from trainium_edu.xla.device import Device
from trainium_edu.xla.graph import Graph
from trainium_edu.xla.passes import fuse
from trainium_edu.xla.tensor import as_tensor


def step():
    """Return the graph of a step of gradient descent, and its feeds."""
    device, draw = Device(), np.random.default_rng(0)
    device.keep_feeds = True
    model = nn.Sequential(nn.TransformerBlock(16, 2, 64, causal=True), nn.Linear(16, 5)).to(device)
    optimizer = optim.SGD(model.parameters(), 0.1)
    x = as_tensor(draw.standard_normal((2, 9, 16)).astype(np.float32), device)
    logits = model(x).reshape(18, 5)
    loss = xnp.cross_entropy(logits, as_tensor(draw.integers(-1, 5, 18), device)).sum()
    loss.backward()
    optimizer.step()
    device.mark_step()
    graph = device.newest_run.executable.graph
    return Graph(graph.name, graph.parameters, graph.outputs), device.newest_run.feeds


@for_rows("is_fused", False, True)
def test_its_instructions_compute_the_executors_values(is_fused):
    graph, feeds = step()
    assert {"dot", "softmax", "layer_norm", "gelu", "cross_entropy"} <= {
        node.operation for node in graph.nodes
    }
    graph = fuse(graph).after if is_fused else graph
    _, got = lowered(graph, feeds)
    for one, want in zip(got, values(graph, feeds), strict=True):
        np.testing.assert_allclose(one, want, atol=1e-5)
