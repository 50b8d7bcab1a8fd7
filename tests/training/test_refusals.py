"""What cannot be trained is refused in one sentence; rows in ``refusals.toml``."""

from tests.for_each import raises
from tests.refused import refusals
from tests.training.parallel.test_collectives import node_of, noisy
from tests.training.test_loader import epoch_order
from tests.training.test_trainer import SMALL, task, trainer
from trainium_edu import training
from trainium_edu.training import (
    auto_cast,
    fine_tuning,
    loader,
    lookups,
    nn,
    pipeline,
    samples,
    shop,
)
from trainium_edu.training.first_light import first_light  # noqa: F401
from trainium_edu.training.parallel import collectives, lockstep, zero
from trainium_edu.xla.device import Device


def order(samples, **how):
    return epoch_order(samples, **{"ranks": 2, "batch": 2, "seed": 0, "epoch": 0} | how)


def train_at_once(**options):
    raises((TypeError, ValueError), "", training.epochs, **options)  # not at the first epoch
    training.train(**options)


def reduced(ranks, reached=None, **attributes):
    reached = reached or collectives.links(ranks)
    reached.all_reduce(noisy(ranks, 4), node_of("all_reduce", 4, **attributes))


def input_pipeline(**how):
    pipeline.input_pipeline(**{"step_ns": 1e6, "ranks": 4, "batch": 8} | how)


MODULES = auto_cast, collectives, fine_tuning, lockstep, loader, lookups, samples, shop
SCOPE = (
    {name: value for module in MODULES for name, value in vars(module).items()}
    | {name: getattr(training, name) for name in training.__all__}
    | vars(zero)
    | globals()
    | {
        "JOB": SMALL,
        "task": task,
        "trainer": trainer,
        "weights": lambda: nn.MLP(4, 4, 2).to(Device()).parameters(),
    }
)

test_each_call_is_refused_in_one_sentence = refusals(__file__, SCOPE)
