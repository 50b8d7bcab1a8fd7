"""Judges: the trainer that records once for all ranks, bit for bit; what torch_xla documents of a
process per rank (``xm``); Python's own rules for exceptions, generators and ``with``.
"""

# ruff: noqa: NPY002  the state that a process has one of is what is tested

import os
import random
import signal
import subprocess
import sys
import traceback
import warnings

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.for_each import for_each, for_rows, raises
from trainium_edu.fabric import FabricError
from trainium_edu.specs import INF2, TRN1
from trainium_edu.training import nn, optim
from trainium_edu.training.data import shuffled
from trainium_edu.training.loader import deal
from trainium_edu.training.parallel.collectives import links
from trainium_edu.training.parallel.lockstep import RanksDisagree, ReplicasDrift, launch, stacked
from trainium_edu.training.trainer import Job, Trainer
from trainium_edu.xla import MpDeviceLoader, as_tensor, xm
from trainium_edu.xla.executor import Setting
from trainium_edu.xla.tensor import EarlyRun


@pytest.fixture(autouse=True)
def _without_cache(monkeypatch):
    """Compile in memory: what goes to disk is timed, too, which takes long."""
    monkeypatch.setenv("NEURON_CC_FLAGS", "--no_cache")


def vector(values, device=None):
    return as_tensor(np.asarray(values, np.float32), device or xm.xla_device())


def summed(value):
    """Return a tensor that needs all ranks."""
    return xm.all_reduce(xm.REDUCE_SUM, vector([value]))


def one_step(weights_of=lambda index: 0, reduce=True, steps=1):
    """Return a rank's function that trains a tiny network."""

    def main(index):
        device = xm.xla_device()
        nn.manual_seed(weights_of(index))
        model = nn.Linear(3, 2).to(device)
        optimizer = optim.SGD(model.parameters(), lr=0.5)
        for step in range(steps):
            optimizer.zero_grad()
            x = vector(np.arange(6).reshape(2, 3) + index + step)
            nn.cross_entropy(model(x), as_tensor([0, 1], device)).backward()
            if reduce:
                xm.optimizer_step(optimizer, barrier=True)
            else:
                optimizer.step()
                xm.mark_step()
        return model.state_dict()

    return main


# -- the same numbers as the trainer's ---------------------------------------------------------


@for_rows("dtype, rounding", ("float32", "nearest"), ("bfloat16", "stochastic"))
def test_ranks_apart_equal_ranks_together_bit_for_bit(dtype, rounding):
    job = Job(ranks=4, batch=8, dtype=dtype, rounding=rounding, lr=0.05, momentum=0.9)
    trainer = Trainer(job)
    steps = [trainer.step() for _ in range(3)]
    fed = deal(shuffled(len(trainer.labels), seed=job.seed, epoch=0), ranks=4, batch=8)[:3, 0]

    def main(index):
        device = xm.xla_device()
        nn.manual_seed(job.seed)
        model = trainer.task.model().to(device, dtype)
        optimizer = optim.SGD(model.parameters(), lr=job.lr, momentum=0.9)
        optimizer.init_states()
        losses = []
        for chosen in fed:
            optimizer.zero_grad()
            x = as_tensor(trainer.inputs[chosen[index]], device, dtype)
            y = as_tensor(trainer.labels[chosen[index]], device)
            loss = nn.cross_entropy(model(x), y) * as_tensor(np.float32(1), device, name="scale")
            loss.backward()
            xm.optimizer_step(optimizer, barrier=True)
            losses.append(loss.item())
        return losses, model.state_dict()

    reached = links(4, rounding=rounding, seed=job.seed)
    ranks = launch(main, 4, reached=reached, setting=Setting(rounding, job.seed))
    together = trainer.model.state_dict()
    for index, (losses, weights) in enumerate(ranks):
        assert losses == [step.loss_of_rank[index] for step in steps]
        for name, value in weights.items():
            np.testing.assert_array_equal(value, together[name][index])


def test_all_ranks_share_one_compile_and_one_run_a_step():
    ranks = launch(one_step(steps=3), 8)
    assert [event.kind for event in ranks.device.compiler.history] == ["compiled", *["memory"] * 2]
    assert ranks.device.step == ranks.device.executions == 3
    reduced = next(n for n in ranks.executable.graph.nodes if n.operation == "all_reduce")
    assert ranks.executable.makespan_ns > ranks.links.account(reduced).total_ns


def test_weights_that_ranks_hand_back_are_not_copied():
    whole = np.arange(24, dtype=np.float32).reshape(2, 12)
    rows = list(whole.reshape(4, 2, 3))
    assert np.shares_memory(stacked(rows), whole)
    np.testing.assert_array_equal(stacked(rows), whole.reshape(4, 2, 3))
    columns = list(whole.reshape(4, 2, 3).swapaxes(1, 2))
    np.testing.assert_array_equal(stacked(columns), whole.reshape(4, 2, 3).swapaxes(1, 2))
    shuffled = [rows[1], rows[0], rows[2], rows[3]]
    np.testing.assert_array_equal(stacked(shuffled), np.stack(shuffled))
    assert stacked([rows[0]] * 4) is rows[0]


def test_switches_of_the_environment_apply_and_a_given_setting_wins(monkeypatch, tmp_path):
    monkeypatch.setenv("XLA_USE_BF16", "1")
    monkeypatch.delenv("NEURON_CC_FLAGS")
    monkeypatch.setenv("NEURON_COMPILE_CACHE_URL", str(tmp_path))

    def main(index):
        x = vector([1.0, 2.0]) + 1
        xm.mark_step()
        return x.dtype, xm.xla_device()

    ranks = launch(main, 2)
    assert [dtype for dtype, _ in ranks] == ["bfloat16"] * 2
    assert ranks.device.setting.rounding == "stochastic"
    assert any(tmp_path.rglob("*.neff"))
    again = launch(main, 2, setting=Setting("nearest", 7))
    assert (again.device.setting.rounding, again.device.setting.seed) == ("nearest", 7)
    assert [event.kind for event in again.device.compiler.history] == ["disk"]
    assert again[0][1] is not again[1][1]


@pytest.mark.parametrize(("instance", "chip"), [("inf2.xlarge", "inf2"), ("trn1.2xlarge", None)])
def test_a_script_is_compiled_for_the_chip_of_its_instance(instance, chip, monkeypatch):
    ranks = launch(one_step(), 2, instance=instance)
    assert ranks.executable.spec is (INF2 if chip else TRN1)
    assert ranks.device.compiler.flags.target == chip
    monkeypatch.setenv("NEURON_CC_FLAGS", "--no_cache --target=trn1")
    assert launch(one_step(), 2, instance=instance).executable.spec is TRN1


def test_the_debug_mode_runs_each_operation_of_all_ranks(monkeypatch):
    monkeypatch.setenv("NEURON_USE_EAGER_DEBUG_MODE", "1")
    ranks = launch(lambda index: (summed(index + 1.0) * 2).item(), 2)
    assert ranks == [6.0, 6.0]
    assert len({event.graph for event in ranks.device.compiler.history}) == 2


# -- each rank looks like a process ---------------------------------------------------------------


def test_variables_are_those_of_torchrun_and_a_rank_changes_its_own_only(monkeypatch):
    monkeypatch.setenv("RANK", "of before")
    before = dict(os.environ)

    def main(index):
        names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR",
                 "MASTER_PORT")  # fmt: skip
        assert "MINE" not in os.environ
        os.environ["MINE"] = str(index)
        xm.rendezvous("all have set theirs")
        return [os.environ[name] for name in names], os.environ["MINE"]

    for index, (found, mine) in enumerate(launch(main, 2)):
        assert found == [str(index), str(index), "2", "2", "127.0.0.1", "29500"]
        assert mine == str(index)
    assert dict(os.environ) == before
    ask = "import os; print(os.environ.get('MINE'))"
    got = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True).stdout
    assert got.strip() == "None"


def test_local_numbers_count_on_each_instance():
    def main(index):
        return os.environ["LOCAL_RANK"], os.environ["LOCAL_WORLD_SIZE"], xm.get_local_ordinal()

    ranks = launch(main, 64)
    assert ranks[33] == ("1", "32", 1)


def test_random_numbers_are_each_ranks_own_and_go_on_afterwards():
    def alone(seed):
        np.random.seed(seed)
        random.seed(seed)
        return [np.random.randint(1000) for _ in range(4)], [random.random() for _ in range(4)]

    def main(index):
        np.random.seed(index)
        random.seed(index)
        numbers, others = [], []
        for _ in range(4):
            numbers.append(np.random.randint(1000))
            others.append(random.random())
            xm.rendezvous("a turn")
        return numbers, others

    expected = [alone(index) for index in range(4)]
    alone(5)
    np.random.standard_normal()  # leaves a spare one
    before, state = np.random.get_state(legacy=False), random.getstate()
    assert launch(main, 4) == expected
    after = np.random.get_state(legacy=False)
    assert (before["gauss"], before["state"]["pos"]) == (after["gauss"], after["state"]["pos"])
    assert random.getstate() == state
    first, second = launch(lambda index: (np.random.random(), random.random()), 2)
    assert first != second, "processes do not begin with the same numbers"


def test_initial_weights_are_equal_unless_ranks_are_seeded_apart():
    nn.manual_seed(3)
    launch(lambda index: nn.manual_seed(9), 2)
    after = nn.Linear(2, 2).weight
    nn.manual_seed(3)
    np.testing.assert_array_equal(after, nn.Linear(2, 2).weight)
    a, b = launch(lambda index: nn.Linear(2, 2).weight, 2)
    np.testing.assert_array_equal(a, b)


def test_arguments_streams_and_filters_are_each_ranks_own(capsys):
    before = sys.argv, sys.stdout, list(warnings.filters)

    def main(index):
        sys.argv = [str(index)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            xm.rendezvous("inside")
            warnings.warn("not seen", stacklevel=1)
            if index == 1:
                sys.stdout = sys.stderr
            xm.rendezvous("still inside")
        print("rank", sys.argv[0])

    launch(main, 2)
    out, err = capsys.readouterr()
    assert (out, err) == ("rank 0\n", "rank 1\n")
    assert before == (sys.argv, sys.stdout, list(warnings.filters))


def test_prints_come_in_order_of_ranks_between_meetings(capsys):
    def main(index):
        print("a", index)
        xm.rendezvous("between")
        print("b", index)

    launch(main, 2)
    assert capsys.readouterr().out.split() == ["a", "0", "a", "1", "b", "0", "b", "1"]


def test_generators_with_blocks_and_deep_calls_work_across_meetings():
    def numbers(index):
        for step in range(3):
            x = summed(float(index + step))
            xm.mark_step()
            yield x.item()

    def deep(depth):
        return deep(depth - 1) if depth else summed(1.0).item()

    def main(index):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EarlyRun)
            return list(numbers(index)), deep(600)

    assert launch(main, 2) == [([1.0, 3.0, 5.0], 2.0)] * 2


def test_a_launch_may_be_inside_a_rank_of_another():
    def inner(index):
        x = summed(1.0)
        xm.mark_step()
        return x.item()

    def outer(index):
        inside = launch(inner, 4)
        x = summed(10.0)
        xm.mark_step()
        return [*inside, x.item(), xm.xrt_world_size()]

    assert launch(outer, 2) == [[4.0, 4.0, 4.0, 4.0, 20.0, 2]] * 2


# -- meetings --------------------------------------------------------------------------------------


def test_ranks_exchange_payloads_and_reduce_on_the_host(tmp_path):
    def main(index):
        got = xm.rendezvous("here", index * 2)
        mean = xm.mesh_reduce("mean", float(index), np.mean)
        x = vector([index])
        total = xm.mesh_reduce("of tensors", x, sum)
        xm.save({"x": x}, tmp_path / "saved.safetensors")
        return got, mean, total.tolist()

    assert launch(main, 4) == [([0, 2, 4, 6], 1.5, [6.0])] * 4
    assert load_file(tmp_path / "saved.safetensors")["x"].tolist() == [0.0]


def test_loader_and_step_closures_see_values_after_the_cut():
    def main(index):
        device, said = xm.xla_device(), []
        batches = [np.full(2, index + step, np.float32) for step in range(3)]
        for x in MpDeviceLoader(batches, device):
            loss = xm.all_reduce(xm.REDUCE_SUM, x.sum())
            xm.add_step_closure(lambda value: said.append(value.item()), (loss,))
        return said

    assert launch(main, 2) == [[2.0, 6.0, 10.0]] * 2


def test_a_value_that_all_ask_for_runs_together_and_counts_as_early():
    with pytest.warns(EarlyRun):
        ranks = launch(lambda index: summed(index + 1.0).item(), 4)
    assert ranks == [10.0] * 4
    assert len(ranks.device.compiler.history) == 1


def test_a_value_that_one_rank_prints_before_the_cut_runs_alone_and_changes_nothing():
    def main(index, prints):
        device = xm.xla_device()
        nn.manual_seed(0)
        model = nn.Linear(3, 2).to(device, "bfloat16")
        optimizer = optim.SGD(model.parameters(), lr=0.5)
        seen = []
        for _ in range(2):
            optimizer.zero_grad()
            x = as_tensor(np.full((2, 3), index), device, "bfloat16")
            loss = nn.cross_entropy(model(x), as_tensor([0, 1], device))
            loss.backward()
            if prints and xm.is_master_ordinal():
                seen.append(loss.item())
            xm.optimizer_step(optimizer, barrier=True)
        return model.state_dict(), seen

    setting = Setting("stochastic", 4)
    plain = launch(main, 4, args=(False,), setting=setting)
    with pytest.warns(EarlyRun):
        printed = launch(main, 4, args=(True,), setting=setting)
    assert len(printed[0][1]) == 2
    assert printed[1][1] == []
    for one, other in zip(plain, printed, strict=True):
        for name in one[0]:
            np.testing.assert_array_equal(one[0][name], other[0][name])
    kinds = [event.kind for event in printed.device.compiler.history]
    assert kinds == ["compiled", "compiled", "memory", "memory"]  # early runs, and steps as before


def test_the_master_alone_may_evaluate_while_others_wait_or_have_ended():
    def main(index):
        device = xm.xla_device()
        if xm.is_master_ordinal():
            x = as_tensor([1.0, 2.0], device) * 3
            xm.mark_step()
            result = x.numpy().tolist()
        xm.rendezvous("evaluated")
        if xm.is_master_ordinal():
            y = as_tensor([1.0], device) * 4
            xm.mark_step()
            return [*result, y.item()]
        return None

    assert launch(main, 4) == [[3.0, 6.0, 4.0], None, None, None]


# -- what goes wrong ------------------------------------------------------------------------------


STUCK = {}


def told(*words):
    """Put a rank's function into the table of those that get stuck, with words of the sentence."""
    return lambda main: STUCK.update({main.__name__: (main, words)})


@told("rank 0 asks for a value at test_lockstep.py:", "rank 1 marks a step at test_lockstep.py:",
      "wait for each other for ever")  # fmt: skip
def a_value_that_needs_all_is_asked_for_by_one(index):
    loss = summed(1.0)
    if xm.is_master_ordinal():
        loss.item()
    xm.mark_step()


@told("rank 2 at test_lockstep.py:", "recorded another graph than rank 0 at test_lockstep.py:",
      "reduce_max at test_lockstep.py:", "in place of reduce_min")  # fmt: skip
def one_graph_differs(index):
    x = vector([1.0, 2.0])
    y = x.max() if index == 2 else x.min()  # noqa: F841
    xm.mark_step()


@told("is f32[4], and on rank 0 f32[3]", "drop_last", "sampler")
def a_last_batch_has_another_size(index):
    x = vector(np.ones(3 + (index == 2)))
    loss = xm.all_reduce("sum", x.sum())  # noqa: F841
    xm.mark_step()


@told("rank 0 marks a step at test_lockstep.py:", "rank 1 has ended")
def one_takes_fewer_steps(index):
    for _ in range(3 - (index == 1)):
        x = summed(1.0)  # noqa: F841
        xm.mark_step()


@told("rank 0 waits at rendezvous 'load' at test_lockstep.py:", "rank 1 waits at rendezvous 'save'")
def they_wait_at_two_tags(index):
    xm.rendezvous("save" if index else "load")


@pytest.mark.filterwarnings("ignore::trainium_edu.xla.tensor.EarlyRun")
@for_each("mistake", STUCK)
def test_ranks_that_would_wait_for_ever_are_told_who_waits_and_where(mistake):
    main, words = STUCK[mistake]
    sentence = str(raises(RanksDisagree, "", launch, main, 4))
    assert [one for one in words if one not in sentence] == []


def test_training_without_sums_or_from_other_weights_is_noticed():
    with pytest.warns(ReplicasDrift, match="xm.optimizer_step") as caught:
        launch(one_step(reduce=False, steps=3), 4)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with pytest.warns(ReplicasDrift, match="manual_seed"):
        launch(one_step(weights_of=lambda index: index), 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        launch(one_step(steps=2), 4)
        launch(one_step(reduce=False), 1)


def test_an_error_keeps_its_kind_and_line_and_ends_the_others_quietly():
    ended = []

    def main(index):
        try:
            xm.rendezvous("all are here")
            if index == 2:
                {}["missing"]
            xm.rendezvous("never")
        finally:
            ended.append(index)
            if index != 2:
                xm.rendezvous("nobody comes")

    caught = raises(KeyError, "", launch, main, 4)
    assert caught.__notes__ == ["raised on rank 2 of 4"]
    lines = [frame.line for frame in traceback.extract_tb(caught.__traceback__)]
    assert '{}["missing"]' in lines
    assert sorted(ended) == [0, 1, 2, 3]


def test_an_error_shows_even_if_its_rank_waits_for_others_on_the_way_out():
    def main(index):
        try:
            xm.rendezvous("all are here")
            if index == 1:
                {}["missing"]
        finally:
            xm.rendezvous("end" if index else "go on")

    caught = raises(RanksDisagree, "", launch, main, 2)
    assert isinstance(caught.__context__, KeyError)


def test_an_error_of_the_run_is_raised_at_the_line_that_asked():
    def main(index):
        x = vector([1.0])
        xm.all_reduce("sum", [x], groups=[[0, 1]])
        xm.mark_step()  # here

    caught = raises(FabricError, "would wait for ever", launch, main, 4)
    lines = [frame.line for frame in traceback.extract_tb(caught.__traceback__)]
    assert "xm.mark_step()  # here" in lines


def test_exit_codes_end_a_rank_or_the_launch():
    assert launch(lambda index: sys.exit(0) if index else "stays", 4) == ["stays", None, None, None]
    caught = raises(SystemExit, "", launch, lambda index: sys.exit(3), 2)
    assert caught.code == 3


def test_a_tensor_of_an_ended_launch_has_its_value_or_says_so():
    def main(index):
        x, late = vector([1.0]) + 1, None
        xm.mark_step()
        late = x * 2
        return x, late

    done, late = launch(main, 2)[1]
    assert done.item() == 2.0
    with pytest.warns(EarlyRun), pytest.raises(RuntimeError, match="has ended"):
        late.numpy()


class Steps:
    """Count calls on the main thread, where Python looks for signals, and raise SIGINT at one."""

    def __init__(self, at=-1):
        self.count, self.at = 0, at

    def __call__(self, frame, event, _):
        self.count += 1
        if self.count == self.at:
            signal.raise_signal(signal.SIGINT)


# an interrupt inside a generator that nobody holds any more goes to nobody
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("moments", [60, pytest.param(1500, marks=pytest.mark.soak)])
def test_an_interrupt_at_any_moment_leaves_nothing_half_made(moments):
    main = one_step(steps=2)

    def outcome():
        return [{k: v.tolist() for k, v in one.items()} for one in launch(main, 2)]

    def traced(steps):
        before = sys.gettrace()
        sys.settrace(steps)
        try:
            outcome()
        except (Exception, KeyboardInterrupt):
            pass  # in some places NumPy or pytest turn it into an error of their own
        finally:
            sys.settrace(before)

    wanted, home = outcome(), (dict(os.environ), sys.argv, sys.stdout, sys.modules["__main__"])
    bits, state = np.random.get_bit_generator(), random.getstate()
    steps = Steps()
    traced(steps)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for k in range(moments):
            traced(Steps(1 + k * steps.count // moments))
            assert home == (dict(os.environ), sys.argv, sys.stdout, sys.modules["__main__"])
            assert np.random.get_bit_generator() is bits
            assert random.getstate() == state
            if k % 10 == 0:
                assert outcome() == wanted
    finally:
        signal.signal(signal.SIGINT, handler)
    assert outcome() == wanted
