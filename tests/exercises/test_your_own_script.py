"""Lesson 10's scripts do what is said of them; its checklist reads what PyTorch runs.

Judge: PyTorch on the emulated chip, whose record says where a step was cut; whole numbers by hand.
"""

import pytest

from tests.for_each import for_rows
from tests.texts import text_beside
from trainium_edu.exercises import your_own_script as check
from trainium_edu.torch import programs

SCRIPTS = [s for i in range(4) for s in check.scripts(f"student {i}")]
BEGIN = text_beside(__file__, "script_begin.py.txt")


def early(text, folder):
    """Return the script's lines at which the chip runs before the step is marked."""
    path = folder / "script.py"
    path.write_text(BEGIN + text)
    record = programs.run(path).record
    begin = len(BEGIN.split("\n")) - 1
    return {one.line.line - begin for one in record.steps if one.kind != "step"}


@pytest.mark.judge
@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=range(len(SCRIPTS)))
def test_the_chip_runs_early_at_the_culprit_only_and_repaired_nowhere(script, tmp_path):
    pytest.importorskip("torch")
    assert early(script.text(), tmp_path) == {script.culprit}
    assert early(script.text(repaired=True), tmp_path) == set()


def test_the_drawn_scripts_hold_every_culprit_and_every_decoy():
    texts = "\n".join(str(s) for i in range(20) for s in check.scripts(f"student {i}"))
    for part in ("unique", "nonzero", ".item()", "int(", "if loss", "print(f", "len(", "clip_grad",
                 "add_step_closure", "shape[0]", ".detach()"):  # fmt: skip
        assert part in texts


GOOD = text_beside(__file__, "script.py.txt")


@for_rows(
    "old, new, fault",
    ("", "", None),
    ("    print(loss.item())", "    xm.add_step_closure(print, args=(loss,))", None),
    (", barrier=True", "", "no mark"),
    ("device = xm.xla_device()", "device = 0", "no device"),
    ("    samples, targets = samples.to(device), targets.to(device)\\n", "", "not moved"),
    ("import torch_xla.core.xla_model as xm", "", "no import"),
    ("    loss.backward()", "    loss.backward(); seen = float(loss)", "cut in two"),
    ("    print(loss.item())", "", "says nothing"),
)
def test_the_checklist_finds_each_fault_and_nothing_else(old, new, fault):
    script = GOOD.replace(old.replace("\\n", "\n"), new)
    assert [name for name, _ in check.faults(script)] == [fault] * bool(fault)


@pytest.mark.judge
def test_a_script_that_the_checklist_passes_runs_without_a_cut():
    pytest.importorskip("torch")
    ported = check.cuda_script("ab").replace(".cuda()", ".to(device)")
    ported = ported.replace("torch.cuda.synchronize()", "xm.mark_step()").replace(
        "import torch\n", "import torch\nimport torch_xla.core.xla_model as xm\n"
        "device = xm.xla_device()\n", 1)  # fmt: skip
    assert check.faults(ported) == []
    assert "2 compiled" in check.try_it(ported)
    assert "early runs: none; fall-backs: none" in check.try_it(ported)
    assert check.try_it(check.cuda_script()).startswith("Run, and stopped: ")


def testworkers_worked_out_by_hand():
    from trainium_edu.exercises.your_own_script import workers

    assert workers(16, 5, 80, 2, 2) == 1  # 80 ms of work in 80 ms
    assert workers(16, 5, 79, 2, 4) == 2
    assert workers(16, 5, 79, 2, 3) == "none"
