"""Store how lesson 10's programs run, for machines without PyTorch; run it where PyTorch is.

Usage: python .ci/programs.py [VIT]

`VIT` is a script that trains the ViT of the comparison of 2023; without it, its times stay as they
were stored.
"""

import sys
from pathlib import Path

from trainium_edu.torch import programs
from trainium_edu.training.instances import compare_instances
from trainium_edu.training.run_numbers import main_graph

FOLDER = Path(__file__).parents[1] / "notebooks" / "programs"
NAMES = (
    "digits_three_lines",
    "digits_prints",
    "digits_short_batch",
    "digits_falls_back",
    "digits_starved",
    "mlp_tutorial",
)
BATCH = 16  # of the comparison


def rows_of(script):
    """Return a ViT's step on all sizes."""
    options = {"ranks": 2, "values": "none", "instance": "trn1.2xlarge"}
    found = main_graph(programs.run(script, live=True, options=options).record)
    return compare_instances(found.graph, BATCH, flags=found.flags)


def main(arguments):
    """Run them all, then write."""
    rows = rows_of(arguments[0]) if arguments else programs.vit_on_instances()
    outcomes = {name: programs.run(FOLDER / f"{name}.py", live=True) for name in NAMES}
    programs.store(outcomes, rows, programs.operations(live=True))


if __name__ == "__main__":
    main(sys.argv[1:])
