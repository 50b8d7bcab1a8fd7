"""Judges: sums of ``fabric`` and of ``training.launch``, bit for bit; NumPy; what POSIX says of
processes that have ended."""

import importlib
import os
import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from tests.for_each import for_rows, raises
from tests.texts import text_beside

torch = pytest.importorskip("torch")
if not hasattr(os, "fork"):
    pytest.skip("ranks are forked", allow_module_level=True)

from trainium_edu.torch import core as cores  # noqa: E402
from trainium_edu.torch.clock import transfer_ns  # noqa: E402
from trainium_edu.torch.ranks import collectives  # noqa: E402
from trainium_edu.torch.ranks.processes import run_ranks, variables  # noqa: E402
from trainium_edu.torch.script import slow_imports  # noqa: E402
from trainium_edu.torch.stand_ins import functions  # noqa: E402
from trainium_edu.training import launch  # noqa: E402
from trainium_edu.training.parallel.collectives import links  # noqa: E402
from trainium_edu.xla import xm  # noqa: E402
from trainium_edu.xla.tensor import as_tensor  # noqa: E402

pytestmark = pytest.mark.judge


@pytest.fixture(autouse=True)
def _without_cache(monkeypatch):
    monkeypatch.setenv("NEURON_CC_FLAGS", "--no_cache")


def ran(function, ranks=2, **options):
    """Run a function of the rank's number on ranks, and return their outcome."""
    kept = []

    def main():
        kept.append(function(int(os.environ["RANK"])))

    return run_ranks(
        main, ranks=ranks, instance="trn1.32xlarge", **{"result": lambda core: kept[0], **options}
    )


def rows_of(ranks, *shape):
    return np.random.default_rng(3).normal(size=(ranks, *shape)).astype(np.float32)


# -- values ----------------------------------------------------------------------------------------


def test_all_reduce_has_the_bits_of_the_fabric():
    rows = rows_of(4, 37)
    total = links(4).total(rows, "float32")
    groups = [[0, 1], [2, 3]]

    def on(rank):
        x = torch.from_numpy(rows[rank]).to("xla")
        new = collectives.all_reduce("sum", x, 0.25)
        most = collectives.all_reduce("max", x)
        pairs = collectives.all_reduce("sum", x, groups=groups)
        ints = collectives.all_reduce("sum", torch.tensor([rank, 2**40]).to("xla"))
        one, two = x.clone(), (2 * x)[:5]
        collectives.all_reduce("mean", [one, two])
        return [t.cpu().numpy() for t in (new, most, pairs, ints, one, two, x)]

    found = ran(on, 4).results
    bucket = links(4).total(np.concatenate([rows, 2 * rows[:, :5]], 1), "float32") / np.float32(4)
    for rank, (new, most, pairs, ints, one, two, same) in enumerate(found):
        np.testing.assert_array_equal(new, total * np.float32(0.25))
        np.testing.assert_array_equal(most, rows.max(0))
        group = groups[rank // 2]
        np.testing.assert_array_equal(pairs, rows[group[0]] + rows[group[1]])
        assert ints.tolist() == [6, 2**42]
        np.testing.assert_array_equal(np.concatenate([one, two]), bucket)
        np.testing.assert_array_equal(same, rows[rank])


@pytest.mark.parametrize(
    ("dtype", "narrowed"), [("float32", ""), ("bfloat16", ""), ("float32", "XLA_USE_BF16")]
)
def test_all_reduce_has_the_bits_of_lockstep(dtype, narrowed, monkeypatch):
    if narrowed:
        monkeypatch.setenv(narrowed, "1")
        monkeypatch.setenv("NEURON_RT_STOCHASTIC_ROUNDING_EN", "0")
    rows = rows_of(4, 3, 50)

    def lesson(rank):
        x = as_tensor(rows[rank], xm.xla_device(), dtype=dtype)
        total = xm.all_reduce(xm.REDUCE_SUM, x, 0.25)
        xm.mark_step()
        return total.numpy()

    def on(rank):
        x = torch.from_numpy(rows[rank]).to(getattr(torch, dtype)).to("xla")
        return collectives.all_reduce("sum", x, 0.25).cpu().float().numpy()

    expected = launch(lesson, 4)
    for one, other in zip(ran(on, 4).results, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_gather_scatter_and_broadcast_move_what_numpy_moves():
    rows = rows_of(4, 3, 8)

    def on(rank):
        x = torch.from_numpy(rows[rank]).to("xla")
        parts = [collectives.all_gather(x, 1), collectives.reduce_scatter("sum", x, 2.0, 1)]
        exchanged = [collectives.all_to_all(x.reshape(3, 2, 4), 2, concat) for concat in (0, 1, 2)]
        sent = collectives.collective_permute(x, [[0, 1], [1, 3], [3, 0]])
        collectives.broadcast([x], 2)
        return [t.cpu().numpy() for t in (*parts, sent, x, *exchanged)]

    found = ran(on, 4).results
    total = links(4).total(np.moveaxis(rows, 2, 1).reshape(4, -1), "float32").reshape(8, 3).T
    permuted = rows[[3, 0, 2, 1]] * np.array([1, 1, 0, 1], np.float32)[:, None, None]
    for rank, (gathered, part, sent, same, *exchanged) in enumerate(found):
        np.testing.assert_array_equal(sent, permuted[rank])
        np.testing.assert_array_equal(gathered, np.concatenate(rows, 1))
        np.testing.assert_array_equal(part, 2 * total[:, 2 * rank : 2 * rank + 2])
        np.testing.assert_array_equal(same, rows[2])
        for axis, one in enumerate(exchanged):
            wanted = np.concatenate([row.reshape(3, 2, 4)[..., rank, None] for row in rows], axis)
            np.testing.assert_array_equal(one, wanted)


def test_gradients_go_through_reductions_and_gathers_as_pytorch_xla_lets_them():
    """Judge: PyTorch's gradient of this rank's own part of the same expression."""
    rows = torch.from_numpy(rows_of(2, 3))

    def on(rank):
        x = rows[rank].to("xla").requires_grad_()
        total, largest = functions.all_reduce("sum", x, 0.5), functions.all_reduce("max", x)
        all_ = functions.all_gather(x)
        (total * 2 + largest + all_[3 * rank : 3 * rank + 3] ** 2).sum().backward()
        return x.grad.cpu()

    for rank, found in enumerate(ran(on).results):
        x = rows[rank].clone().requires_grad_()
        largest = torch.maximum(x, rows[1 - rank])
        (x + largest + x**2).sum().backward()
        torch.testing.assert_close(found, x.grad)


def test_a_norm_over_ranks_is_that_of_the_whole_batch():
    """Judge: PyTorch's BatchNorm2d on all ranks' samples, and their gradients."""
    rows = torch.from_numpy(rows_of(2, 4, 3, 2, 2))

    def on(rank):
        norm = functions.SyncBatchNorm(3).to("xla")
        x = rows[rank].to("xla").requires_grad_()
        y = norm(x)
        y.pow(3).sum().backward()
        gradients = [norm.weight.grad, norm.bias.grad]
        for one in gradients:  # as xm.optimizer_step does
            one.copy_(functions.all_reduce("sum", one))
        norm.eval()
        with torch.no_grad():
            last = norm(x)
        return [one.detach().cpu() for one in (y, x.grad, *gradients, norm.running_mean, last)]

    norm, whole = torch.nn.BatchNorm2d(3), rows.flatten(0, 1).requires_grad_()
    wanted = norm(whole)
    wanted.pow(3).sum().backward()
    biased = rows.transpose(2, 0).flatten(1).var(1, correction=0)
    norm.running_var = 0.9 + 0.1 * biased  # PyTorch/XLA keeps the variance of the batch itself
    last = norm.eval()(whole)
    for rank, (y, grad, weight, bias, mean, after) in enumerate(ran(on).results):
        mine = slice(4 * rank, 4 * rank + 4)
        for found, right in [(y, wanted[mine]), (grad, whole.grad[mine]), (after, last[mine]),
                             (weight, norm.weight.grad), (bias, norm.bias.grad),
                             (mean, norm.running_mean)]:  # fmt: skip
            torch.testing.assert_close(found, right.detach(), rtol=1e-4, atol=1e-4)
    raises(ValueError, "it takes", functions.SyncBatchNorm(3), torch.ones(2, 4))


def test_a_graph_is_told_however_deep_it_is():
    def on(rank):
        x = torch.full((2,), float(rank), device="xla")
        for _ in range(800):
            x = torch.relu(x + 1.0)
        (x * 2).cpu()
        return cores.current().steps[0].executable.graph

    for graph in ran(on, 2).results[:1]:
        assert len(graph.nodes) > 800


@for_rows("values", "all", "none", 1)
def test_the_host_meets_whatever_values_are_kept(values):
    def on(rank):
        met = [collectives.rendezvous("begin", {"rank": rank})]
        met.append(collectives.mesh_reduce("sizes", torch.tensor([rank]), torch.cat).tolist())
        cores.current().mark_step()
        return met

    met = [[{"rank": 0}, {"rank": 1}], [0, 1]]
    assert ran(on, values=values).results == [met, met]


# -- what each process is --------------------------------------------------------------------------


def test_each_rank_has_what_torchrun_gives_it_and_numbers_of_its_own():
    def on(rank):
        same = {name: os.environ[name] for name in variables(0, 2, 1)}
        drawn = torch.rand(3).tolist(), np.random.rand(), random.random()  # noqa: NPY002
        return same, drawn, str(torch.ones(1).to("xla").device), cores.current().world.ordinal

    found, again = ran(on).results, ran(on).results
    assert found == again
    (zero, drawn, *_), (one, others, *_) = found
    assert (zero["LOCAL_RANK"], one["LOCAL_RANK"], one["WORLD_SIZE"]) == ("0", "1", "2")
    assert all(a != b for a, b in zip(drawn, others, strict=True))
    assert [where for *_, where, _ in found] == ["xla:0", "xla:1"]
    assert [rank for *_, rank in found] == [0, 1]
    places = [(v["GROUP_RANK"], v["LOCAL_RANK"]) for v in (variables(i, 32, 2) for i in (0, 33))]
    assert places == [("0", "0"), ("1", "1")]


def test_ranks_share_the_libraries_that_a_script_begins_with(tmp_path, monkeypatch):
    script = tmp_path / "train.py"
    script.write_text("import sklearn.cluster, os, late\nos.environ['A'] = ''\nimport pandas\n")
    assert slow_imports(script) == ["sklearn.cluster"]
    (tmp_path / "counted.py").write_text("import os\nprint('loaded by', os.getpid())")
    monkeypatch.syspath_prepend(tmp_path)
    modules = ["counted", "not_there"]
    found = ran(lambda rank: importlib.import_module("counted") and os.getppid(), modules=modules)
    assert found.results == [os.getpid()] * 2
    assert sys.modules.pop("counted")


def test_lines_are_whole_and_in_the_order_of_writing(capsys):
    def on(rank):
        for turn in range(6):
            if turn % 2 == rank:
                print(f"turn {turn} ", end="", flush=True)
                print(f"of rank {rank}")
                print(f"besides {turn}", file=sys.stderr)
            collectives.rendezvous("turn")
        os.write(1, b"no end")

    assert ran(on).code == 0
    shown = capsys.readouterr()
    lines = [f"turn {turn} of rank {turn % 2}" for turn in range(6)]
    assert shown.out.splitlines() == [*lines, "no end", "no end"]
    assert shown.err.splitlines() == [f"besides {turn}" for turn in range(6)]


SPAWNS = text_beside(__file__, "spawns.py.txt")


def test_a_script_may_start_ranks_itself(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SPAWNS)
    command = [sys.executable, "-m", "trainium_edu", "run", "--instance", "trn1.32xlarge"]
    ran = subprocess.run([*command, str(script)], text=True, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    *lines, last = ran.stdout.splitlines()
    assert sorted(lines) == [f"{i} {i} 4 [3.0, 3.0]" for i in range(4)]
    assert last == "after"
    assert "1 step on 4 ranks of trn1.32xlarge" in ran.stderr


# -- time ------------------------------------------------------------------------------------------


@for_rows("values", "all", "none")
def test_one_rank_compiles_and_clocks_meet_at_the_slowest(values):
    def on(rank):
        core = cores.current()
        core.clock.host_ns += 5e6 * rank
        x = torch.ones(64).to("xla")
        for _ in range(2):
            collectives.all_reduce("sum", [x])
            core.mark_step()
        steps = [(step.begin_ns, step.end_ns) for step in core.steps]
        return steps, [event.kind for event in core.compiler.history]

    (steps, kinds), (others, other_kinds) = ran(on, values=values).results
    assert steps == others
    assert steps[0][0] == 5e6 + transfer_ns(64 * 4)
    taken = [end - begin for begin, end in steps]
    assert taken[0] == taken[1] >= 1e3
    assert sorted([kinds, other_kinds]) == [["compiled", "memory"], ["disk", "memory"]]


def test_shapes_alone_take_the_same_time():
    def on(rank):
        core, weights = cores.current(), torch.ones(4, 4, device="xla:0", requires_grad=True)
        for _ in range(2):
            (torch.ones(8, 4).to("xla") @ weights).sum().backward()
            collectives.reduce_gradients([weights])
            core.mark_step()
        return [(step.begin_ns, step.end_ns) for step in core.steps]

    assert ran(on).results == ran(on, values="none").results


def test_a_graph_that_only_a_later_rank_asks_for_keeps_nobody_waiting():
    def on(rank):
        if rank == 1:
            float((torch.ones(4).to("xla") * 3).sum())
        collectives.rendezvous("after")
        return len(cores.current().steps)

    assert ran(on).results == [0, 1]


# -- what goes wrong -------------------------------------------------------------------------------


def reduces(shape):
    collectives.all_reduce("sum", torch.ones(shape).to("xla"))


def gathers():
    collectives.all_gather(torch.ones(3).to("xla"))


@for_rows("values", "all", "none")
@for_rows(
    "calls, told",
    ((lambda: reduces(3), lambda: reduces(4)), ["float32[3]", "float32[4]"]),
    ((lambda: reduces(3), gathers), ["all_reduce", "all_gather"]),
    ((lambda: collectives.rendezvous("a"), lambda: collectives.rendezvous("b")), ["'a'", "'b'"]),
    ((gathers, lambda: None), ["all_gather", "rank 1 has ended with exit code 0"]),
)
def test_ranks_that_would_wait_for_ever_get_one_sentence(calls, told, values):
    outcome = ran(lambda rank: calls[rank](), values=values)
    assert outcome.code == 1
    for part in (*told, "rank 0", "rank 1", "for ever", "test_processes.py:"):
        assert part in outcome.problem
    assert "\n" not in outcome.problem


def pids(folder):
    return [int(path.name) for path in folder.iterdir()]


def is_gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize(("die", "told"), [
    (lambda: 1 / 0, "rank 1 ended with exit code 1: ZeroDivisionError"),
    (lambda: sys.exit(3), "rank 1 ended with exit code 3"),
    (lambda: os._exit(4), "rank 1 ended with exit code 4"),
    (lambda: os.kill(os.getpid(), signal.SIGKILL), "rank 1 ended with signal SIGKILL"),
])  # fmt: skip
def test_a_rank_that_dies_ends_all_and_is_named(die, told, tmp_path, capfd):
    def on(rank):
        (tmp_path / str(os.getpid())).touch()
        if rank == 1:
            time.sleep(0.1)
            die()
        collectives.rendezvous("here")

    begin = time.monotonic()
    outcome = ran(on)
    assert time.monotonic() - begin < 5
    assert outcome.code == 1
    assert told in outcome.problem
    if "Zero" in told:
        assert "at test_processes.py:" in outcome.problem
    assert "rank 0 waits at rendezvous 'here' at" in outcome.problem
    assert len(pids(tmp_path)) == 2
    assert all(map(is_gone, pids(tmp_path)))


def test_an_interrupt_lets_scripts_clean_up_and_ends_all(tmp_path, capsys):
    def on(rank):
        (tmp_path / str(os.getpid())).touch()
        try:
            while True:
                time.sleep(0.05)
        finally:
            print("cleaned up")

    def interrupt():
        while len(pids(tmp_path)) < 2:
            time.sleep(0.05)
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    raises(KeyboardInterrupt, "", ran, on)
    assert all(map(is_gone, pids(tmp_path)))
    assert capsys.readouterr() == ("cleaned up\n" * 2, "")


def test_more_ranks_than_neuroncores_are_refused():
    with pytest.raises(ValueError, match="has 2 NeuronCores"):
        run_ranks(lambda: None, ranks=3, instance="trn1.2xlarge")
