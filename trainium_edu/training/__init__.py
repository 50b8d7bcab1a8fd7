"""One honest training step: a small network, real digits, and four ways to keep its weights.

Modelled: a 64-64-10 network trained by SGD on scikit-learn's handwritten digits, in FP32, in BF16
with FP32 master weights, and with weights kept in BF16 (updates rounded to nearest-even or
stochastically); bytes per parameter and bytes moved by an update.  ``first_light`` trains on 32
ranks with any all-reduce that is handed in.  ``nn`` and ``optim`` are layers and optimisers over
the lazy tensors of ``xla``, under PyTorch's names: compiled graphs train with them.  Left out of
the first network: other optimizers than SGD (their state is counted, not run); on the chip the
runtime's switch also rounds activations and gradients stochastically, there only the weight update
is (in graphs, every result is).

Sources: `aws-rounding-modes` for the two switches, `zamirai-2020` and `ozkara-2025` for the effect.
Read ``reference.py`` first (the whole network in plain NumPy), then ``arms.py`` (what is stored),
``_loops.py`` (the same bits, fast), ``accuracy_sweep.py`` (the table that takes minutes); of the
second part ``nn.py``, then ``optim.py``.  ``checkpoint.py`` and ``sweeps.py`` are for runs that go
on after a failure, and for many runs.  Used by the notebooks ``00_start_here``,
``02_stochastic_rounding`` and ``08_collectives``.

Decisions
---------
*Sums in a fixed order, own ``exp``*: BF16 rounding turns a last-bit difference between two BLAS
kernels into another accuracy; the price is a third of BLAS's speed at these sizes.
"""

from trainium_edu import aside

_HOMES = {
    "arms": "ARMS OPTIMIZERS Arm Footprint footprint footprint_table get_arm",
    "checkpoint": "Checkpoint CheckpointDamaged CheckpointError Checkpoints load_checkpoint "
    "save_checkpoint",
    "data": "BATCH CLASSES PIXELS Digits batches digits",
    "rounding_cost": "measure_rounding_cost stored_rounding_cost",
    "faster": "share_needed step_share",
    "frames": "FRAMES_PER_PASS TrainingFrames train_in_frames",
    "follow": "Explained Futures explain flip",
    "frozen": "frozen_weights",
    "loader": "DataLoader DistributedSampler deal epoch_order",
    "parallel.clock": "StepReport step_report",
    "scaled": "Memory Point memory scaling",
    "parallel.share": "communication_share",
    "reference": "HIDDEN PARAMETERS Epoch History epochs gradient initial_weights predict train",
    "accuracy_sweep": "SETTINGS accuracy_table run_sweep stored_sweep",
    "tasks": "TASKS Task",
    "sweeps": "Row Table WorkerKilled sweep",
    "failures": "RankFailed fail",
    "trainer": "Diverged Job Run Step Trainer fit",
}
_MODULES = ("nn", "optim")
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
__all__ = sorted(_HOME_OF)


def __getattr__(name):  # scikit-learn and the compiled loops load with the first name needed
    if name in _MODULES:
        return aside.load(f"{__name__}.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(aside.load(f"{__name__}.{_HOME_OF[name]}"), name)
