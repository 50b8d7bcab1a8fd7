"""The lesson's loop.  Judges: its device's history, and what AWS's guide says of recompiling."""

from trainium_edu.training.lazy_digits import CHANGES, train_digits, what_recompiles
from trainium_edu.xla.device import Device


def kinds(device):
    return [event.kind for event in device.compiler.history]


def test_a_pass_over_all_images_ends_with_a_short_batch():
    device = Device()
    train_digits(device, steps=None, batch=256, hidden=8)
    assert kinds(device) == ["compiled", *["memory"] * 4, "compiled"]
    assert "f32[157,64], and was f32[256,64]" in device.compiler.history[-1].why


def test_steps_that_wait_for_one_cut_are_one_graph_and_the_last_are_cut_too():
    one, two = Device(), Device()
    train_digits(one, steps=4, batch=8, hidden=8)
    train_digits(two, steps=4, batch=8, hidden=8, mark_every=2)
    assert (len(kinds(one)), len(kinds(two))) == (4, 2)
    assert len(two.compiler.newest.graph.nodes) > 1.5 * len(one.compiler.newest.graph.nodes)
    device = Device()
    train_digits(device, steps=3, batch=8, hidden=8, mark_every=2)
    assert len(kinds(device)) == 2
    assert not device.pending.tensors


def test_values_are_found_and_shapes_and_operations_compile():
    became = what_recompiles(Device())
    assert list(became) == list(CHANGES)
    compiled = {name for name, kind in became.items() if kind == "compiled"}
    assert compiled == {"momentum 0.9 to none", "batch 16 to 17", "16 hidden units to 17"}


def test_a_look_before_the_cut_runs_a_graph_of_its_own(recwarn):
    device = Device()
    train_digits(device, steps=2, batch=8, hidden=8, look=float)
    assert kinds(device) == ["compiled", "compiled", "memory", "memory"]
