"""Training, on one NeuronCore or many: one trainer, what it trains, and its judges.

Modelled: a job (``Job``) on any number of ranks: batch, forward, backward, sums over links in a
stated order, clipping, optimiser, rounding; all ranks recorded once and computed together
(``trainer.py``), or each running a script of its own in lockstep (``parallel/lockstep.py``), with
the same bits; one clock for engines and links.  Networks and optimisers have PyTorch's names
(``nn.py``, ``optim.py``).  Left out: tensor and pipeline parallelism (``cluster`` prices them).

Who judges whom.  ``reference.py`` is a 64-64-10 network in plain NumPy, every sum in a fixed order
and gradients written by hand.  It takes four ways to keep weights (``arms.py``) to the last bit.
Only its weights are narrow; in a graph every result is.  ``first_light.py`` is lesson 08's program,
that network on many ranks with an all-reduce that the learner writes; the trainer repeats its
numbers.  PyTorch judges the trainer on whole batches, one rank after the other its bits.

Sources: `aws-rounding-modes` for the two switches, `zamirai-2020` and `ozkara-2025` for the effect.
Read ``trainer.py`` first, then ``parallel/collectives.py``; of the judges ``reference.py``, then
``_loops.py`` (the same bits, fast) and ``accuracy_sweep.py`` (the table that takes minutes).
``checkpoint.py`` is for runs that go on after a failure.
``shop.py`` makes a recommender's data, whose best score is known, and ``lookups.py`` says what
bounds its tables; ``pretrained.py`` and ``fine_tuning.py`` are an encoder that has read three books
and what it learns from few labels.
Used by the notebooks ``00_start_here``, ``02_stochastic_rounding``, ``06_lazy_execution``,
``08_collectives``, ``09_data_parallel_training``, ``09b_when_training_breaks`` and
``09c_recommend_and_fine_tune``.

Decisions
---------
*The reference has sums in a fixed order and its own* ``exp``: BF16 rounding turns a last-bit
difference between two BLAS kernels into another accuracy; the price is a third of BLAS's speed.
"""

from trainium_edu import names

_HOMES = {
    "accuracy_sweep": "SETTINGS accuracy_table run_sweep stored_digits_accuracy stored_sweep",
    "arms": "ARMS OPTIMIZERS Arm Footprint footprint footprint_table get_arm",
    "broken_runs": "RankFailed fail",
    "checkpoint": "Checkpoint CheckpointDamaged CheckpointError "
    "Checkpoints load_checkpoint save_checkpoint",
    "data": "BATCH CLASSES PIXELS Digits batches digits",
    "faster": "share_needed step_share",
    "fine_tuning": "FineTuned few_authors fine_tune from_pretrained stored_fine_tuning",
    "follow": "Explained Futures explain flip",
    "frames": "FRAMES_PER_PASS TrainingFrames train_in_frames",
    "frozen": "frozen_weights",
    "loader": "DataLoader DistributedSampler deal",
    "lookups": "Lookups Pace lookup_paces lookup_program lookups_of",
    "parallel.step": "StepReport step_report",
    "parallel.lockstep": "Ranks RanksDisagree ReplicasDrift launch",
    "parallel.share": "communication_share",
    "parallel.zero": "ZeroRedundancyOptimizer",
    "pipeline": "BYTES_PER_SAMPLE DECODE_NS STORAGE_BYTES_PER_S BatchQueue Pipeline input_pipeline",
    "pretrained": "HIDDEN_WORDS pretrain pretrained_weights",
    "reference": "HIDDEN PARAMETERS Epoch History epochs gradient initial_weights predict train",
    "run_numbers": "numbers summary_lines",
    "run_record": "RunRecord StepRecord",
    "rounding_cost": "measure_rounding_cost stored_rounding_cost",
    "scaled": "Memory Point memory scaling",
    "shop": "Baskets baskets expected_loss",
    "tasks": "TASKS Task",
    "text": "BOOKS",
    "trainer": "Diverged Job Run Step Trainer fit",
}
# scikit-learn and the compiled loops load with the first name needed
__all__, __getattr__, __dir__ = names.late(__name__, _HOMES, "nn optim")
