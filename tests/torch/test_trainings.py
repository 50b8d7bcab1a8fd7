"""Trainings of many kinds give on ``xla`` the losses that they give on the CPU; judge: PyTorch.

The same code runs on both.  Nothing may fall back to the CPU, and each graph, executed by ``xla``'s
own executor, has to give what PyTorch computed, but for ``OTHERWISE``.
"""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import trainium_edu.torch as bridge  # noqa: E402
from tests.torch import trainings  # noqa: E402
from tests.torch.replay import replayed  # noqa: E402
from trainium_edu.torch import core as cores  # noqa: E402

pytestmark = pytest.mark.judge
QUICK = set(trainings.TABLES["quick"])
#: whose graphs rightly give other numbers
OTHERWISE = trainings.TABLES["otherwise"]
#: the counters of a value asked for; not of an operation
ASKED = {"aten::_local_scalar_dense"}


@pytest.fixture
def chip():
    """Set the device up, and take it away again."""

    def begin(**options):
        assert bridge.activate(replace=True, **options)
        return cores.current()

    yield begin
    bridge.deactivate()


def fell_back(core):
    """Return which operations ran on the CPU."""
    names = core.compiler.metrics.counter_names()
    return {name for name in names if name.startswith("aten::")} - ASKED


def names(all_of_them, quick):
    return [n if n in quick else pytest.param(n, marks=pytest.mark.soak) for n in all_of_them]


def judged(name, train, chip):
    """Hold a training on the chip to the same on the CPU."""
    torch.manual_seed(5)
    on_cpu = train("cpu")
    core = chip()
    torch.manual_seed(5)
    with replayed(core) as replay:
        on_chip = train("xla")
    assert fell_back(core) == set()
    assert len(on_cpu) >= 4
    np.testing.assert_allclose(on_chip, on_cpu, rtol=1e-5)
    assert replay.compared > 0
    if name not in OTHERWISE:
        replay.assert_close(2e-3, 2e-4)  # an optimiser divides small numbers by small ones


@pytest.mark.parametrize("name", names(trainings.TRAININGS, QUICK))
def test_losses_are_those_of_the_cpu(name, chip):
    judged(name, trainings.TRAININGS[name], chip)


@pytest.mark.soak
@pytest.mark.parametrize("name", [*trainings.LANGUAGE, *trainings.PADDED])
def test_losses_of_language_models_are_those_of_the_cpu(name, chip):
    pytest.importorskip("transformers")
    judged(name, lambda device: trainings.language(name, device), chip)


@pytest.mark.soak
@pytest.mark.parametrize("name", ["resnet18", "resnext50_32x4d", "mobilenetv3_small_050"])
def test_losses_of_image_models_are_those_of_the_cpu(name, chip):
    timm = pytest.importorskip("timm")

    def train(device):
        model = timm.create_model(name, num_classes=4, drop_rate=0.0)
        return trainings.classify(model, device, (4, 3, 64, 64), count=4)

    judged(name, train, chip)


def test_a_move_to_the_chip_unties_weights_as_pytorch_xla_does(chip):
    """pytorch/xla issue 7042: ``Module.to`` makes a new tensor for each name."""
    chip()
    model = trainings.Decoder()
    count = len(list(model.parameters()))
    with pytest.warns(UserWarning, match=r"tie them again: words.weight and out.weight"):
        model.to("xla")
    assert len(list(model.parameters())) == count + 1
    model.out.weight = model.words.weight
    assert len(list(model.parameters())) == count


SHAPES = trainings.TABLES["shapes"]


@pytest.mark.soak
@pytest.mark.parametrize("name", SHAPES)
def test_an_image_model_trains_on_shapes_alone(name, chip):
    timm = pytest.importorskip("timm")
    core = chip(values="none")
    model = timm.create_model(name, num_classes=4).to("xla")
    optimiser = torch.optim.AdamW(model.parameters())
    images = torch.randn(2, 3, SHAPES[name], SHAPES[name]).to("xla")
    labels = torch.tensor([0, 1]).to("xla")
    for _ in range(3):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimiser.step()
        core.mark_step()
    assert fell_back(core) == set()
    assert [one.kind for one in core.steps] == ["step"] * 3
    assert core.steps[1].executable is core.steps[2].executable
