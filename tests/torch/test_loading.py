"""Loaders on the emulated clock: closed forms of the waiting; PyTorch/XLA's order of steps.

Judges: ``training.pipeline`` and closed forms for time; for what ``next`` does and when, the
sources of pytorch/xla, ``torch_xla/distributed/parallel_loader.py``.
"""

from collections import OrderedDict, UserDict, namedtuple
from dataclasses import dataclass

import pytest

from tests.for_each import for_each, raises
from tests.texts import rows_beside

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.judge

from torch.utils.data import DataLoader, Dataset, TensorDataset  # noqa: E402

from trainium_edu.specs import INSTANCES  # noqa: E402
from trainium_edu.torch import core as cores  # noqa: E402
from trainium_edu.torch import loading  # noqa: E402  # noqa: E402
from trainium_edu.torch.clock import HOST_BYTES_PER_S, HOST_LATENCY_NS, Clock  # noqa: E402
from trainium_edu.torch.core import Core  # noqa: E402
from trainium_edu.torch.device import register  # noqa: E402
from trainium_edu.torch.loading import Feed, MpDeviceLoader, ParallelLoader, timed  # noqa: E402
from trainium_edu.training.pipeline import input_pipeline  # noqa: E402

ROWS = rows_beside(__file__, "loading.toml")

READ_NS, DECODE_NS = 110_000.0, 5e6  # of one photograph
PHOTOGRAPH = int(loading.BYTES_OF_PHOTOGRAPH.value)


class FakeCore(Core):
    """A core whose steps take a time of the test's, and are counted."""

    def __init__(self, step_ns=0.0, **how):
        super().__init__(clock=Clock(), **how)
        self.step_ns, self.marks, self.begins = step_ns, 0, []

    def mark_step(self):
        self.marks += 1
        self.begins.append(self.clock.execute(self.step_ns)[0])


@pytest.fixture
def make_core():
    register()
    before = cores.make_current(None)

    def make(*args, **how):
        core = FakeCore(*args, **how)
        cores.make_current(core)
        return core

    yield make
    cores.make_current(before)


class Photographs(Dataset):
    """Decoded photographs and labels, as the sources' script makes them."""

    def __init__(self, count, side=224):
        self.count, self.side = count, side

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return torch.full([3, self.side, self.side], float(i)), torch.tensor([i % 1000])


# -- time -----------------------------------------------------------------------------------------


@for_each("step_ms, workers, ranks, batch", ROWS["steps"])
def test_steps_wait_for_batches_as_in_the_input_pipeline(step_ms, workers, ranks, batch):
    clock, steps = Clock(), 60
    feed = Feed(clock, batch * PHOTOGRAPH, workers=workers, ahead=workers * 2, ranks=ranks)
    begins = []
    for _ in range(steps):
        feed.take()
        begins.append(clock.host_ns)
        clock.add_host(step_ms * 1e6, "step")
    found = input_pipeline(step_ms * 1e6, ranks=ranks, batch=batch, workers=workers, prefetch=2,
                           instance="trn1.2xlarge", steps=steps)  # fmt: skip
    chips = [span.start_ns for span in found.timeline.on("chips")]
    assert begins == pytest.approx(chips)


def test_loading_is_waited_for_unless_a_slow_step_hides_it():
    clock, load = Clock(), 4 * (READ_NS + DECODE_NS)
    feed = Feed(clock, 4 * PHOTOGRAPH, workers=0, ahead=1)
    for _ in range(5):
        feed.take()
        clock.add_host(7e6, "step")
    assert clock.host_ns == pytest.approx(5 * (load + 7e6))
    clock = Clock()
    feed = Feed(clock, 4 * PHOTOGRAPH, workers=1, ahead=2)
    for _ in range(5):
        feed.take()
        clock.add_host(10 * load, "step")
    assert clock.host_ns == pytest.approx(load + 5 * 10 * load)


def test_copies_are_hidden_until_the_link_is_slowest_and_a_queue_ahead():
    size = 80_000_000
    copy = float(HOST_LATENCY_NS) + size / float(HOST_BYTES_PER_S) * 1e9
    for step in (copy / 2, 2 * copy):
        clock = Clock()
        feed = Feed(clock, 0, workers=0, ahead=99, copied_bytes=size, copied_ahead=8)
        for _ in range(50):
            feed.take()
            clock.add_host(step, "step")
        assert clock.host_ns == pytest.approx(copy + 49 * max(copy, step) + step)
    size = 8_000_000
    copy = float(HOST_LATENCY_NS) + 1e6
    clock = Clock()
    feed = Feed(clock, 0, workers=0, ahead=99, copied_bytes=size, copied_ahead=3)
    feed.take()
    clock.add_host(1e9, "step")  # three lie ready after that
    before = clock.host_ns
    for _ in range(3):
        feed.take()
    assert clock.host_ns == before
    feed.take()
    assert clock.host_ns == pytest.approx(before + copy)


def test_bytes_and_vcpus_set_the_rate_of_decoding():
    """Its four vCPUs against eight: the sources' script, on two ranks, if steps took no time."""

    def rate(instance, workers):
        clock = Clock()
        feed = Feed(
            clock, 16 * PHOTOGRAPH, workers=workers, ahead=workers * 2, ranks=2, instance=instance
        )
        begins = [feed.take() for _ in range(200)]
        return 100 * 32 / (begins[-1] - begins[-101]) * 1e9

    for instance, workers in (("trn1.2xlarge", 4), ("inf2.xlarge", 2)):
        vcpus = int(INSTANCES[instance].vcpus)
        assert rate(instance, workers) == pytest.approx(vcpus / 5e-3, rel=0.05)

    def first(size):
        return Feed(Clock(), size, workers=2, ahead=4).take()

    assert first(2 * PHOTOGRAPH) == pytest.approx(2 * first(PHOTOGRAPH))


# -- PyTorch/XLA's loaders ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("each", "marks"), [(1, [1, 2, 3, 4]), (2, [1, 1, 2, 2]), (3, [1, 1, 1, 2])]
)
def test_a_step_is_marked_before_every_kth_batch_and_at_the_end(make_core, each, marks):
    core, batches = make_core(), [torch.ones(2)] * 4
    seen = [core.marks for _ in MpDeviceLoader(batches, "xla", batches_per_execution=each)]
    assert seen == marks
    assert core.marks == marks[-1] + (2 if 4 % each == 0 else 1)


def test_there_are_as_many_batches_as_the_loader_has(make_core):
    make_core()
    loader = MpDeviceLoader(DataLoader(Photographs(7, 4), batch_size=2), "xla")
    assert len(loader) == 4
    assert len(iter(loader)) == 4
    assert [len(x) for x, _ in loader] == [2, 2, 2, 1]
    assert [len(x) for x, _ in loader] == [2, 2, 2, 1]  # a second epoch


Pair = namedtuple("Pair", "x name")


@dataclass
class Encoded:
    ids: torch.Tensor
    length: int


def test_each_tensor_of_a_batch_is_moved_and_the_rest_is_kept(make_core):
    make_core()
    x = torch.arange(3.0)
    batch = {"a": x, "b": [x, "text"], "c": (x, 1), "d": Pair(x, "name"), "e": None,
             "f": OrderedDict(g=x), "h": UserDict({"i": x}), "j": Encoded(x, 3)}  # fmt: skip
    (found,) = MpDeviceLoader([batch], "xla")
    tensors = [found["a"], found["b"][0], found["c"][0], found["d"].x, found["f"]["g"],
               found["h"]["i"], found["j"].ids]  # fmt: skip
    for tensor in tensors:
        assert tensor.device.type == "xla"
        assert torch.equal(tensor.cpu(), x)
    rest = found["b"][1], found["c"][1], found["d"].name, found["e"], found["j"].length
    assert rest == ("text", 1, "name", None, 3)
    kinds = [type(found[key]) for key in "bcdfhj"]
    assert kinds == [list, tuple, Pair, OrderedDict, UserDict, Encoded]
    assert batch["a"] is x  # the loader's own batch is left as it was
    assert batch["h"]["i"] is x


def test_workers_hand_out_true_batches(make_core):
    make_core()
    loader = MpDeviceLoader(DataLoader(Photographs(6, 4), batch_size=2, num_workers=2), "xla")
    found = [(x.cpu()[:, 0, 0, 0].tolist(), y.cpu()[:, 0].tolist()) for x, y in loader]
    assert found == [([0.0, 1.0], [0, 1]), ([2.0, 3.0], [2, 3]), ([4.0, 5.0], [4, 5])]


def test_a_run_waits_for_its_first_batch_and_then_for_the_slower_of_loader_and_chip(make_core):
    load = 2 * (READ_NS + DECODE_NS)
    for step in (load / 4, 4 * load):
        core = make_core(step)
        for _ in MpDeviceLoader(DataLoader(Photographs(60), batch_size=2), "xla"):
            pass
        period = (core.begins[29] - core.begins[14]) / 15
        assert period == pytest.approx(max(step, load), rel=1e-4)  # labels, too


def test_copies_of_batches_are_counted_once(make_core):
    core = make_core()
    list(MpDeviceLoader([torch.ones(1000)] * 10, "xla"))
    assert "transfer" not in core.clock.spent_ns
    copy = float(HOST_LATENCY_NS) + 4000 / float(HOST_BYTES_PER_S) * 1e9
    assert core.clock.host_ns == pytest.approx(10 * copy)


def test_shapes_only_runs_see_the_shapes_of_true_batches(make_core, tmp_path):
    core = make_core(values="none")
    loader = DataLoader(Photographs(5, 8), batch_size=2, num_workers=2, pin_memory=True)
    kept = loader.collate_fn, loader.pin_memory
    found = [(tuple(x.shape), y.dtype, x.device.type) for x, y in MpDeviceLoader(loader, "xla")]
    assert found == [((2, 3, 8, 8), torch.int64, "xla")] * 2 + [((1, 3, 8, 8), torch.int64, "xla")]
    assert (loader.collate_fn, loader.pin_memory) == kept
    assert core.clock.spent_ns["loader"] > 0
    with timed():
        assert next(iter(loader))[0].device.type == "cpu"  # true batches for whoever else asks


def test_without_values_workers_send_no_data(make_core, monkeypatch):
    make_core(values="none")
    loader = DataLoader(Photographs(8, 16), batch_size=4, num_workers=2)
    goes_through, sent = DataLoader.__iter__, []

    def watched(batch):
        sent.append((batch[0].is_meta, batch[0].shape, batch[0].untyped_storage().data_ptr()))
        return batch

    monkeypatch.setattr(DataLoader, "__iter__", lambda self: map(watched, goes_through(self)))
    assert len(list(MpDeviceLoader(loader, "xla"))) == 2
    assert sent == [(True, (4, 3, 16, 16), 0)] * 2


def test_shared_memory_that_is_too_small_is_told_before_it_is_full(make_core, monkeypatch):
    make_core()
    Usage = namedtuple("Usage", "total used free")
    monkeypatch.setattr(loading, "_SHARED", loading.Path("/"))
    monkeypatch.setattr(loading.shutil, "disk_usage", lambda path: Usage(64e6, 0, 64e6))
    with timed():  # which spares us PyTorch's remark on this computer's few vCPUs
        loader = DataLoader(Photographs(64), batch_size=16, num_workers=4)
    with (
        timed(),
        pytest.raises(RuntimeError, match=r"9\.63 MB from 4 workers that keep 2 each, on 1 rank,"),
    ):
        next(iter(MpDeviceLoader(loader, "xla")))


def test_the_older_interface_hands_out_the_same(make_core):
    core = make_core()
    loader = ParallelLoader([torch.ones(2), torch.zeros(2), torch.zeros(1)], [torch.device("xla")])
    device_loader = loader.per_device_loader(torch.device("xla"))
    assert len(device_loader) == loader.per_device_samples() == 3
    assert [x.cpu().tolist() for x in device_loader] == [[1, 1], [0, 0], [0]]
    assert core.marks == 5
    loader.close()
    assert loader.next_item(torch.device("xla")) is None


@pytest.mark.parametrize(("how", "message"), ROWS["refused"])
def test_arguments_that_cannot_be_are_refused_in_one_sentence(make_core, how, message):
    make_core()
    raises((TypeError, ValueError), message, iter, MpDeviceLoader([], "xla", **how))


def test_a_process_has_one_device_and_it_is_xla(make_core):
    make_core()
    raises(ValueError, "devices has 2 entries", ParallelLoader, [], ["xla:0", "xla:1"])
    raises(ValueError, "device is cpu", iter, MpDeviceLoader([], "cpu"))


# -- a script's own loop over a DataLoader --------------------------------------------------------


def test_a_loop_over_a_data_loader_takes_its_time_too(make_core):
    core, load = make_core(), 2 * (READ_NS + DECODE_NS)
    loader = DataLoader(Photographs(6), batch_size=2)
    with timed():
        assert len(iter(loader)) == 3
        for x, _ in loader:
            assert x.device.type == "cpu"
    labels = 2 * 8 / (2 * PHOTOGRAPH)
    assert core.clock.host_ns == pytest.approx(3 * load * (1 + labels))
    assert type(iter(loader)).__name__ == "_SingleProcessDataLoaderIter"  # undone


def test_a_loader_within_a_device_loader_is_counted_once(make_core):
    def spent():
        core = make_core()
        list(MpDeviceLoader(DataLoader(TensorDataset(torch.ones(8, 50_000)), batch_size=2), "xla"))
        return core.clock.host_ns

    plain = spent()
    with timed():
        assert spent() == plain


def test_workers_that_stay_are_gone_through_twice(make_core):
    make_core(values="none")
    loader = DataLoader(Photographs(4, 4), batch_size=2, num_workers=1, persistent_workers=True)
    with timed():
        for _ in range(2):
            assert [len(x) for x, _ in MpDeviceLoader(loader, "xla")] == [2, 2]
        assert [x.device.type for x, _ in loader] == ["cpu", "cpu"]


class Shard(DataLoader):
    """Begins to load only when its first batch is asked for, as that of ``accelerate`` does."""

    def __iter__(self):
        yield from super().__iter__()


@pytest.mark.parametrize("workers", [0, 1])
def test_a_loader_of_a_library_s_own_class_is_timed_once_and_pins_no_memory(make_core, workers):
    def spent(kind, wrap):
        core = make_core()
        wrapped = wrap(kind(Photographs(4), batch_size=2, num_workers=workers, pin_memory=True))
        assert [len(x) for x, _ in wrapped] == [2, 2]
        return core.clock.host_ns

    with timed():
        for wrap in (lambda loader: loader, lambda loader: MpDeviceLoader(loader, "xla")):
            plain = spent(DataLoader, wrap)
            assert plain > 0
            assert spent(Shard, wrap) == pytest.approx(plain)
