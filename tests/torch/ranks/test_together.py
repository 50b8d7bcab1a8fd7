"""Ranks that run together, judged by ranks that are processes of their own, and by PyTorch.

Calls on values of all ranks are compared with the same calls of PyTorch, rank by rank.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from trainium_edu.torch import core as cores  # noqa: E402
from trainium_edu.torch.calls import call_of  # noqa: E402
from trainium_edu.torch.device import register  # noqa: E402
from trainium_edu.torch.differing import PerRank, RankAsked  # noqa: E402
from trainium_edu.torch.ranks import collectives  # noqa: E402
from trainium_edu.torch.ranks.choose import how  # noqa: E402
from trainium_edu.torch.ranks.per_rank import ValuesOfRanks  # noqa: E402
from trainium_edu.torch.ranks.run_together import run_together, tried_together  # noqa: E402
from trainium_edu.torch.ranks.shards import put  # noqa: E402

pytestmark = pytest.mark.judge
aten = torch.ops.aten
HERE = Path(__file__).parent
SCRIPTS = ("mlp", "convolutions", "bf16", "accumulation", "dropout")
RANKS = 3


# -- five scripts ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def both():
    """What five scripts did on 4 ranks, apart and together."""
    paths = [str(HERE / "scripts" / f"{name}.py") for name in SCRIPTS]
    ran = subprocess.run([sys.executable, str(HERE / "both.py"), "4", *paths], text=True,
                         capture_output=True, timeout=300, check=False)  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    found, lines = {}, []
    for line in ran.stdout.splitlines():
        if line.startswith("SCRIPT"):
            lines = found[tuple(line.split()[1:])] = []
        elif line.startswith("FOUND"):
            told = json.loads(line.removeprefix("FOUND"))
        elif "NEURON" not in line:
            lines.append(line)
    return {(Path(script).stem, way): told[f"{script} {way}"] | {"lines": lines}
            for (script, way), lines in found.items()}  # fmt: skip


@pytest.mark.parametrize("name", SCRIPTS)
class TestFiveScripts:
    def test_weights_together_equal_those_apart(self, both, name):
        apart, together = both[name, "apart"], both[name, "together"]
        assert (apart["code"], together["code"]) == (0, 0), apart["told"] + together["told"]
        state = together["results"][0]["state"]
        for rank in apart["results"]:
            assert rank["state"].keys() == state.keys()
            for key, values in state.items():
                # products of all ranks at once may add in another order than one rank's
                bound = 0 if name in ("mlp", "bf16", "dropout") else 1e-6
                np.testing.assert_allclose(values, rank["state"][key], rtol=0, atol=bound)

    def test_steps_take_the_same_time(self, both, name):
        together = both[name, "together"]["results"][0]["steps"]
        assert together == both[name, "apart"]["results"][0]["steps"]
        assert len(together) >= 2

    def test_each_rank_prints_its_lines(self, both, name):
        apart, together = both[name, "apart"]["lines"], both[name, "together"]["lines"]
        assert sorted(together) == sorted(apart)

    def test_the_text_says_together(self, both, name):
        assert how(HERE / "scripts" / f"{name}.py").how == "together"


def test_bf16_weights_are_bf16_numbers(both):
    for values in both["bf16", "together"]["results"][0]["state"].values():
        weights = torch.tensor(values)
        assert torch.equal(weights, weights.bfloat16().float())


# -- one call on all ranks ------------------------------------------------------------------------


def of(*shape):
    return PerRank(torch.randn(RANKS, *shape))


def classes(count, *shape):
    return PerRank(torch.randint(0, count, (RANKS, *shape)))


def cases():
    torch.manual_seed(0)
    r = torch.randn
    x, statistics = of(2, 5), (of(2, 1), PerRank(torch.rand(RANKS, 2, 1)))
    yield from [
        (aten.add.Tensor, of(3, 4), r(4)), (aten.add.Tensor, of(4), r(3, 4)),
        (aten.mul.Tensor, of(), r(3, 4)), (aten.mul.Tensor, of(3, 4), classes(5)),
        (aten.add_.Tensor, of(3, 4), of(4)), (aten.copy_.default, of(3, 4), r(4)),
        (aten.where.self, PerRank(r(RANKS, 3) > 0), r(3), of()), (aten.pow.Tensor_Scalar, of(3), 2),
        (aten.mm.default, of(3, 4), r(4, 5)), (aten.mm.default, r(3, 4), of(4, 5)),
        (aten.mm.default, of(3, 4), of(4, 5)), (aten.addmm.default, r(5), of(3, 4), r(4, 5)),
        (aten.addmm.default, of(5), of(3, 4), r(4, 5)),
        (aten.bmm.default, of(2, 3, 4), r(2, 4, 5)), (aten.bmm.default, r(2, 3, 4), of(2, 4, 5)),
        (aten.baddbmm.default, r(1, 1, 5), of(2, 3, 4), of(2, 4, 5)),
        (aten.sum.default, of(3, 4)), (aten.sum.dim_IntList, of(3, 4), [0], True),
        (aten.mean.dim, of(3, 4), [-1]), (aten.mean.default, of(3, 4)),
        (aten.amax.default, of(3, 4), [1]), (aten.argmax.default, of(3, 4)),
        (aten.max.dim, of(3, 4), 1), (aten.var.correction, of(3, 4), [0]),
        (aten._softmax.default, of(3, 4), 0, False), (aten._softmax.default, of(), 0, False),
        (aten._log_softmax_backward_data.default, r(3, 4), of(3, 4), 1, torch.float32),
        (aten.nll_loss_forward.default, of(3, 4), classes(4, 3), None, 1, -100),
        (aten.nll_loss_backward.default, r(()), of(3, 4), classes(4, 3), None, 1, -100,
         PerRank(torch.full((RANKS,), 3.0))),
        (aten.nll_loss_backward.default, of(), of(3, 4), classes(4, 3), None, 2, -100, r(())),
        (aten.convolution.default, of(2, 3, 8, 8), r(4, 3, 3, 3), r(4), [1, 1], [1, 1], [1, 1],
         False, [0, 0], 1),
        (aten.convolution_backward.default, of(2, 4, 8, 8), of(2, 3, 8, 8), r(4, 3, 3, 3), [4],
         [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, True]),
        (aten.native_layer_norm.default, of(2, 5), [5], r(5), r(5), 1e-5),
        (aten.native_layer_norm_backward.default, of(2, 5), x, [5], *statistics, r(5), r(5),
         [True, True, True]),
        (aten.max_pool2d_with_indices.default, of(2, 3, 8, 8), [2, 2]),
        (aten.embedding.default, r(7, 3), classes(7, 4)),
        (aten.embedding_dense_backward.default, of(4, 3), classes(7, 4), 7, -1, False),
        (aten.index.Tensor, of(5, 3), [None, torch.tensor([0, 2])]),
        (aten.gather.default, of(5, 3), 1, classes(3, 5, 2)),
        (aten.cat.default, [of(3, 4), r(2, 4)], 0), (aten.stack.default, [of(3), r(3)], -1),
        (aten.zeros_like.default, of(3, 4)), (aten.topk.default, of(3, 5), 2),
        (aten.t.default, of(3, 4)), (aten.t.default, of(3)), (aten.permute.default, of(3, 4, 5),
         [2, 0, -2]), (aten.transpose.int, of(3, 4, 5), -1, 0), (aten.view.default, of(3, 4), [-1]),
        (aten.expand.default, of(3, 1), [2, -1, 4]), (aten.unsqueeze.default, of(), 0),
        (aten.unsqueeze.default, of(3), -1), (aten.squeeze.default, of(1, 3)),
        (aten.squeeze.dim, of(1, 3), 0), (aten.select.int, of(3, 4), -1, 2),
        (aten.slice.Tensor, of(3, 4), 1, 0, 2), (aten.split.Tensor, of(4, 4), 2),
        (aten.unbind.int, of(3, 4)), (aten.diagonal.default, of(4, 4)),
        (aten.as_strided.default, of(4, 4), [2], [1], 3),
    ]  # fmt: skip


def one(given, rank):
    if isinstance(given, list | tuple):
        return [one(part, rank) for part in given]
    return given.each[rank].clone() if type(given) is PerRank else given


CASES = list(cases())


@pytest.mark.parametrize("case", CASES, ids=[f"{i}-{case[0]}" for i, case in enumerate(CASES)])
def test_a_call_on_all_ranks_equals_one_on_each(case):
    function, *given = case
    want = [function(*one(given, rank)) for rank in range(RANKS)]
    values = ValuesOfRanks(SimpleNamespace(ranks=RANKS), {}, "nearest", 0)
    made = values.compute(call_of(function), list(given), {})
    for rank in range(RANKS):
        torch.testing.assert_close(one(made, rank), want[rank], check_stride=False)


def test_a_random_call_draws_the_same_on_all_ranks():
    values = ValuesOfRanks(SimpleNamespace(ranks=RANKS), {}, "nearest", 0)
    given = of(50)
    torch.manual_seed(3)
    _, mask = values.compute(call_of(aten.native_dropout.default), [given, 0.5, True], {})
    torch.manual_seed(3)
    _, want = aten.native_dropout(torch.ones(50), 0.5, True)
    for rank in range(RANKS):
        assert torch.equal(mask.each[rank], want)


# -- equal and not equal on all ranks -------------------------------------------------------------


@pytest.fixture
def together():
    """Runs a function together on 4 ranks and returns what it returned."""
    register()

    def run(function, **options):
        kept = []
        outcome = run_together(lambda: kept.append(function()), ranks=4, instance="trn1.32xlarge",
                               **options)  # fmt: skip
        assert outcome.code == 0
        return kept[0]

    return run


def own():
    return put(torch.arange(8.0).reshape(4, 2))


def test_a_sum_over_ranks_is_equal_on_all_and_can_be_asked_for(together):
    assert together(lambda: collectives.all_reduce("sum", own()).cpu().tolist()) == [12.0, 16.0]


def test_a_gradient_summed_in_place_needs_no_axis_of_ranks(together):
    def main():
        given = own()
        collectives.all_reduce("mean", [given])
        return type(given.cell.value)

    assert together(main) is torch.Tensor


def test_a_write_gives_what_was_equal_its_axis_and_that_of_its_views(together):
    def main():
        total = torch.zeros(2, 2, device="xla:0")
        row = total[1]
        total += own()
        return collectives.all_reduce("sum", row).cpu().tolist()

    assert together(main) == [12.0, 16.0]


def test_a_batch_norm_returns_and_keeps_what_each_rank_has(together):
    """It writes running numbers, and returns beside them; judge: PyTorch's, rank by rank."""
    pictures = torch.randn(4, 5, 3, 2, 2)

    def main():
        norm = torch.nn.BatchNorm2d(3).to("xla:0")
        out = torch.relu(norm(put(pictures)))
        kept = (out, norm.running_mean, norm.running_var)
        return [collectives.all_gather(one.unsqueeze(0)).detach().cpu() for one in kept]

    out, means, variances = together(main)
    for rank, given in enumerate(pictures):
        norm = torch.nn.BatchNorm2d(3)
        torch.testing.assert_close(out[rank], torch.relu(norm(given)))
        torch.testing.assert_close(means[rank], norm.running_mean)
        torch.testing.assert_close(variances[rank], norm.running_var)


def test_a_write_through_a_view_reaches_its_base(together):
    def main():
        total = torch.zeros(2, 2, device="xla:0")
        total[0].add_(own())
        return collectives.all_reduce("sum", total).cpu().tolist()

    assert together(main) == [[12.0, 16.0], [0.0, 0.0]]


def test_gather_scatter_and_broadcast_move_what_each_rank_has(together):
    def main():
        parts = collectives.reduce_scatter("sum", put(torch.arange(16.0).reshape(4, 4)))
        given = own()
        collectives.broadcast([given], 3)
        there = collectives.all_to_all(put(torch.arange(16.0).reshape(4, 4)))
        back = collectives.all_gather(collectives.all_to_all(there).unsqueeze(0))
        first = collectives.all_gather(there[:1])  # what rank 0 sent
        sent = collectives.collective_permute(own(), [(0, 1), (1, 3), (3, 0)])
        sent = collectives.all_gather(sent.unsqueeze(0))
        gathered = collectives.all_gather(parts)
        return [one.cpu().tolist() for one in (sent, gathered, given, back, first)]

    sent, total, given, back, first = together(main)
    assert sent == [[6.0, 7.0], [0.0, 1.0], [0.0, 0.0], [2.0, 3.0]]
    assert (total, given, first) == ([24.0, 28.0, 32.0, 36.0], [6.0, 7.0], [0.0, 1.0, 2.0, 3.0])
    assert back == np.arange(16.0).reshape(4, 4).tolist()


def test_a_value_that_differs_by_rank_asks_to_run_apart(together):
    with pytest.raises(RankAsked, match=r"test_together.py:\d+: asks for a value that differs"):
        together(lambda: own().cpu().tolist())


def test_what_was_loaded_alike_on_all_ranks_can_be_asked_for(together):
    assert np.isnan(together(lambda: put(torch.full((4,), float("nan"))).item()))


def test_a_rank_asked_for_runs_apart():
    import torch.distributed as dist

    assert "get_rank" in tried_together(lambda: dist.get_rank(), ranks=2)


def test_after_lines_were_shown_a_sentence_names_ranks_apart(capsys):
    register()

    def main():
        print("begun")
        for _ in range(4):
            cores.current().mark_step()
        print("still")
        put(torch.arange(2.0)).item()

    outcome = run_together(main, ranks=2)
    assert outcome.code == 1
    assert "--ranks apart" in outcome.told
    assert capsys.readouterr().out.splitlines() == ["begun", "begun", "still", "still"]


def test_shapes_alone_take_the_same_time(together):
    def main():
        weights = torch.ones(4, 4, device="xla:0", requires_grad=True)
        for _ in range(2):
            (put(torch.ones(4, 8, 4)) @ weights).sum().backward()
            collectives.reduce_gradients([weights])
            cores.current().mark_step()
        return [(step.begin_ns, step.end_ns) for step in cores.current().steps]

    assert together(main) == together(main, values="none")


# -- the choice -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "way"), [
    ("import torch; torch.manual_seed(0)", "together"),
    ("import torch", "apart"),
    ("import torch, torch_xla.runtime as xr; torch.manual_seed(0); xr.global_ordinal()", "apart"),
    ("import os, torch; torch.manual_seed(0); os.environ['LOCAL_RANK']", "apart"),
    ("import random, torch; torch.manual_seed(0); random.shuffle([])", "apart"),
    ("import random, torch; torch.manual_seed(0); random.seed(0); random.shuffle([])", "together"),
    ("import torch, numpy as np; torch.manual_seed(0); np.random.rand()", "apart"),
    ("import torch, beside; torch.manual_seed(0)", "apart"),
    ("# get_rank\nimport torch; torch.manual_seed(0)", "together"),
])  # fmt: skip
def test_the_text_of_a_script_tells_how_ranks_run(tmp_path, text, way):
    (tmp_path / "beside.py").write_text("from torch.distributed import get_rank")
    (tmp_path / "train.py").write_text(text)
    assert how(tmp_path / "train.py").how == way


# -- the whole way, and how fast ------------------------------------------------------------------

ASKS_LATE = """
import torch, torch_xla.core.xla_model as xm, torch_xla.distributed.parallel_loader as pl
import torch_xla.distributed.xla_backend, torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
dist.init_process_group("xla")
torch.manual_seed(0)
data = TensorDataset(torch.randn(8, 4), torch.randn(8, 1))
model = torch.nn.Linear(4, 1).to(xm.xla_device())
loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data))
for x, y in pl.MpDeviceLoader(loader, xm.xla_device()):
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    print("loss", loss.item())
"""


@pytest.mark.slow
def test_a_script_that_asks_after_going_backward_begins_again_apart(tmp_path):
    script = tmp_path / "late.py"
    script.write_text(ASKS_LATE)
    ran = subprocess.run([sys.executable, "-m", "trainium_edu", "torchrun", "--nproc_per_node=2",
                          str(script)], text=True, capture_output=True, timeout=120)  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    losses = [line for line in ran.stdout.splitlines() if line.startswith("loss")]
    assert len(losses) == len(set(losses)) == 2


@pytest.mark.slow
@pytest.mark.clock
def test_32_ranks_of_32_samples_reach_two_fifths_of_plain_pytorch():
    x, y = torch.randn(1024, 64), torch.randint(0, 10, (1024,))

    def trainer(x, y, device, after):
        torch.manual_seed(0)
        nn = torch.nn
        model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(),
                              nn.Linear(256, 10)).to(device)  # fmt: skip
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=False)

        def step():
            begin = time.process_time()
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            after(model)
            optimizer.step()
            return time.process_time() - begin

        return step

    def main():
        core = cores.current()

        def after(model):
            collectives.reduce_gradients(model.parameters())

        ours = trainer(put(x.view(32, 32, 64)), put(y.view(32, 32)), core.device, after)
        plain = trainer(x, y, "cpu", lambda model: None)
        took = {ours: [], plain: []}
        for _ in range(60):
            for step, times in took.items():
                times.append(step())
            core.mark_step()
        return min(took[plain]) / min(took[ours])

    kept, threads = [], torch.get_num_threads()
    register()
    torch.set_num_threads(1)  # on both sides; other work on the machine disturbs less
    try:
        run_together(lambda: kept.append(main()), ranks=32, instance="trn1.32xlarge")
    finally:
        torch.set_num_threads(threads)
    assert kept[0] >= 0.4
