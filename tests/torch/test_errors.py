"""Errors end a call or a backward pass with one sentence, and never the process.

Judge: the sentence, and that the device can be used afterwards.  Each case below ended the process
(`std::terminate`) before errors were taken out of the way of PyTorch's device guard.
"""

import gc
import threading

import pytest

torch = pytest.importorskip("torch")

from torch.utils.checkpoint import checkpoint  # noqa: E402

from tests.for_each import raises  # noqa: E402
from tests.torch.replay import core_of_a_test  # noqa: E402
from trainium_edu.torch.core import ValuesOff  # noqa: E402
from trainium_edu.torch.origins import user_line  # noqa: E402
from trainium_edu.xla.graph import GraphError  # noqa: E402


@pytest.fixture(params=[0, 3])
def core(request):
    with core_of_a_test(ordinal=request.param) as one:
        yield one
        x = torch.ones(3, device=one.device, requires_grad=True)
        (x * x).sum().backward()
        assert x.grad.cpu().tolist() == [2, 2, 2]
        one.mark_step()


class Wrong(Exception):
    """What the user's code raises."""


def fail(*_):
    raise Wrong("here")


def leaf(core):
    return torch.ones(3, device=core.device, requires_grad=True)


def hooked(core, error=Wrong):
    def hook(_):
        raise error("here")

    y = leaf(core) * 2
    y.register_hook(hook)
    return (y * y).sum()


class Boom(torch.autograd.Function):
    """Fails in backward."""

    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        raise Wrong("here")


def in_function(core):
    (Boom.apply(leaf(core) * 2) * 3).sum().backward()


def in_grad(core):
    x = leaf(core)
    y = x * 2
    y.register_hook(fail)
    torch.autograd.grad((y * y).sum(), x)


def in_checkpoint(core, reentrant):
    def part(x):
        y = x * 2
        if torch.is_grad_enabled():
            y.register_hook(fail)
        return y * y

    checkpoint(part, leaf(core), use_reentrant=reentrant).sum().backward()


def twice(core):
    x = leaf(core)
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    h = g * 1
    h.register_hook(fail)
    (h * h).sum().backward()


def in_other_hooks(core, kind):
    x = leaf(core)
    z = (x * x).sum()
    if kind == "node":
        z.grad_fn.register_hook(fail)
    elif kind == "accumulated":
        x.register_post_accumulate_grad_hook(fail)
    elif kind == "several":
        torch.autograd.graph.register_multi_grad_hook((x,), fail)
    else:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, fail):
            z = (x * x).sum()
    z.backward()


CASES = {
    "hook": lambda core: hooked(core).backward(),
    "function": in_function,
    "grad": in_grad,
    "checkpoint": lambda core: in_checkpoint(core, False),
    "checkpoint again": lambda core: in_checkpoint(core, True),
    "double backward": twice,
} | {
    f"{kind} hook": lambda core, kind=kind: in_other_hooks(core, kind)
    for kind in ("node", "accumulated", "several", "saved")
}


@pytest.mark.parametrize("case", CASES)
def test_an_error_in_backward_is_raised_where_backward_returns(core, case):
    for _ in range(5):
        raises(Wrong, "here", CASES[case], core)


def test_ctrl_c_and_errors_of_pytorch_in_backward_are_raised(core):
    raises(KeyboardInterrupt, "", hooked(core, KeyboardInterrupt).backward)
    y = leaf(core) * 2
    y.register_hook(lambda g: torch.ones(5, device=core.device))
    raises(RuntimeError, "changed the size", y.sum().backward)


def test_an_error_in_another_thread_is_raised_there(core):
    found = []

    def run():
        try:
            hooked(core).backward()
        except Wrong as problem:
            found.append(problem)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert len(found) == 1


def test_an_operation_refused_in_backward_is_named_with_its_line(core):
    layer = torch.nn.Embedding(4, 2, sparse=True).to(core.device)
    for _ in range(20):
        with pytest.raises(RuntimeError, match=r"layout torch.sparse_coo at test_errors.py:\d+"):
            layer(torch.tensor([1], device=core.device)).sum().backward()


def test_a_collection_beside_an_error_does_not_swallow_it(core):
    before = gc.get_threshold()
    gc.set_threshold(3)
    try:
        for _ in range(100):
            raises(Wrong, "", hooked(core).backward)
        assert gc.isenabled()
    finally:
        gc.set_threshold(*before)


# -- bad input ------------------------------------------------------------------------------------


def test_cpu_and_device_tensors_do_not_mix(core):
    here, there = torch.ones(3), torch.ones(3, device=core.device)
    for mixed in (lambda: there + here, lambda: here * there, lambda: torch.cat([there, here])):
        raises(RuntimeError, r"one on the CPU.*move it to the device first", mixed)
    assert (there + torch.tensor(2.0)).cpu().tolist() == [3, 3, 3]


def test_numbers_and_layouts_that_the_chip_has_not_are_refused(core):
    with pytest.raises(RuntimeError, match=r"complex64; the device holds .*test_errors.py"):
        torch.ones(3, dtype=torch.complex64).to(core.device)
    with pytest.raises(RuntimeError, match=r"complex64; the device holds"):
        torch.fft.fft(torch.ones(4, device=core.device))
    raises(RuntimeError, "dense tensors only", torch.eye(3).to_sparse().to, core.device)
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.ones(1, device=core.device).expand(3).add_(1)


def test_an_operation_without_a_row_runs_on_the_cpu_and_is_counted(core):
    x = torch.full((3,), 0.3, device=core.device)
    y = x * 2
    got = torch.erfinv(y)
    assert torch.equal(got.cpu(), torch.erfinv(torch.full((3,), 0.3) * 2))
    assert [(step.kind, step.operation) for step in core.steps] == [("fallback", "aten::erfinv")]
    assert core.steps[0].line.file.endswith("test_errors.py")
    assert core.compiler.metrics.counter_value("aten::erfinv")


def test_an_operation_of_several_results_runs_on_the_cpu_without_values_too():
    with core_of_a_test(values="none") as core:
        bag = torch.nn.EmbeddingBag(5, 3).to("xla")
        assert bag(torch.tensor([[0, 3], [1, 1]]).to("xla")).shape == (2, 3)
        assert core.compiler.metrics.counter_value("aten::_embedding_bag") == 1


def test_without_values_a_shape_that_depends_on_them_is_refused():
    with core_of_a_test(values="none") as core:
        x = torch.ones(3, device=core.device)
        assert torch.erfinv(x).shape == (3,)
        with pytest.raises(ValuesOff, match=r"test_errors.py:\d+: the shape of what aten::nonzero"):
            x.nonzero()
        raises(ValuesOff, r"test_errors.py:\d+ asks for the value", lambda: x.sum().item())


def test_a_script_that_never_marks_a_step_is_told_so_once(monkeypatch, recwarn):
    monkeypatch.setattr("trainium_edu.torch.core._MANY_CALLS", 20)
    with core_of_a_test() as core:
        x = torch.ones(3, device=core.device)
        for _ in range(50):
            x = x * 2
    told = [str(one.message) for one in recwarn if "mark_step" in str(one.message)]
    assert len(told) == 1
    assert "test_errors.py" in told[0]
    assert ": 20 operations are pending" in told[0]


# -- lines ----------------------------------------------------------------------------------------


def test_calls_of_a_backward_pass_name_the_forward_line_and_module():
    with core_of_a_test() as core:
        net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh()).to(core.device)
        x, here = torch.ones(2, 3, device=core.device), user_line().line
        out = net(x)
        loss = (out * out).sum()
        loss.backward()
        core_places = {place.call.counter: place for place in core.tape.path if place.call}
    assert core_places["aten::tanh"].scope == "1"
    assert core_places["aten::tanh_backward"].scope == "1"
    assert core_places["aten::addmm"].scope == "0"
    assert core_places["aten::mm"].scope == "0"
    assert core_places["aten::tanh_backward"].line.line == here + 1
    assert core_places["aten::mul"].line.line == here + 2


def test_what_neither_the_chip_nor_the_cpu_has_is_one_sentence(core):
    norm = torch.nn.SyncBatchNorm(3).to(core.device)
    with pytest.raises(NotImplementedError, match="SyncBatchNorm is for") as e:
        torch.batch_norm_stats(torch.ones(4, 3, device=core.device), norm.eps)
    assert "\n" not in str(e.value)


def test_a_step_that_cannot_run_does_not_keep_the_next_from_running(core):
    base = torch.ones(6, device=core.device)
    base.as_strided((2, 2), (1, 1)).fill_(2.0)
    raises(GraphError, "gaps or overlaps", core.mark_step)
    assert core.taken == 0
