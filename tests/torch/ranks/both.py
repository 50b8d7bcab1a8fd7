"""Run scripts apart and together, and print what came of it as JSON: ``both.py ranks script ...``.

A process of its own, since PyTorch cannot fork what goes backward once a test has done so.
"""

import json
import runpy
import sys

import torch._dynamo  # noqa: F401  once, before forks; optimizers ask for it

from trainium_edu.torch import stand_ins
from trainium_edu.torch.ranks.apart import Outcome, run_apart
from trainium_edu.torch.ranks.run_together import tried_together


def told(core, names):
    state = {name: value.detach().cpu().double().flatten().tolist()
             for name, value in names["model"].state_dict().items()}  # fmt: skip
    steps = [(one.number, one.kind, one.begin_ns, one.end_ns) for one in core.steps]
    return {"state": state, "steps": steps}


def on(run, script, ranks):
    names = {}
    return run(lambda: names.update(runpy.run_path(script, run_name="__main__")), ranks=ranks,
               instance="trn1.32xlarge", result=lambda core: told(core, names))  # fmt: skip


def main():
    ranks, *scripts = sys.argv[1:]
    stand_ins.install()
    found = {}
    for script in scripts:
        for way, run in {"apart": run_apart, "together": tried_together}.items():
            print(f"SCRIPT {script} {way}", flush=True)
            outcome = on(run, script, int(ranks))
            if isinstance(outcome, str):
                outcome = Outcome(1, [None], outcome)
            found[f"{script} {way}"] = {"code": outcome.code, "told": outcome.told,
                                        "results": outcome.results}  # fmt: skip
    print("FOUND", json.dumps(found))


main()
