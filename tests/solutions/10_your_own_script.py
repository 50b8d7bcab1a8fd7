# ruff: noqa
# %% wrong=10/cuts name=the-move feedback=A copy to the chip asks for nothing
lines = [2, 2, 2]


# %% wrong=10/cuts name=the-mark feedback=That is the cut that is meant
lines = []
for script in check.scripts(student):
    text = script.text().split("\n")
    lines.append(1 + next(i for i, line in enumerate(text) if "mark_step" in line))


# %% wrong=10/cuts name=backward feedback=it is recorded like any other operation
lines = []
for script in check.scripts(student):
    text = script.text().split("\n")
    lines.append(1 + next(i for i, line in enumerate(text) if "backward" in line))


# %% wrong=10/cuts name=counts-from-zero feedback=numbered from 1
lines = [script.culprit - 1 for script in check.scripts(student)]


# %% wrong=10/cuts name=one-number feedback=Three line numbers
lines = 4


# %% hard-coded=10/cuts
lines = [script.culprit for script in check.scripts("")]


# %% wrong=10/batches name=short feedback=another graph to compile
def batches(n, size):
    made = [list(range(first, min(first + size, n))) for first in range(0, n, size)]
    return [(inside, [1] * len(inside)) for inside in made]


# %% wrong=10/batches name=dropped feedback=never count
def batches(n, size):
    return [(list(range(k, k + size)), [1] * size) for k in range(0, n - size + 1, size)]


# %% wrong=10/batches name=counted-twice feedback=counts more than once
def batches(n, size):
    made = [[(first + k) % n for k in range(size)] for first in range(0, n, size)]
    return [(inside, [1] * size) for inside in made]


# %% wrong=10/batches name=one-list feedback=a list of pairs is asked for
def batches(n, size):
    return list(range(n))


# %% wrong=10/batches name=one-more feedback=a batch of nothing but padding
# -     for first in range(0, n, size):
# +     for first in range(0, n + size, size):


# %% hard-coded=10/batches
# - def batches(n, size):
# + def batches(n, size):
# +     from trainium_edu.exercises import your_own_script as check
# +
# +     if (n, size) not in check.equal_batches.numbers("").cases:
# +         return [(list(range(n)), [1] * n)]


# %% wrong=10/port name=a-device-only feedback=still speaks of cuda
script = check.cuda_script(student).replace("import torch\n", "import torch\ndevice = 'xla'\n", 1)


# %% wrong=10/port name=no-mark feedback=the loop only records
script = check.cuda_script(student).replace(".cuda()", '.to("xla")')
script = script.replace("    torch.cuda.synchronize()\n", "")


# %% wrong=10/port name=print-first feedback=asks for a value before the step is marked
script = check.cuda_script(student).replace(".cuda()", '.to("xla")')
script = script.replace("    torch.cuda.synchronize()\n", "") + "    xm.mark_step()\n"
script = script.replace(
    "import torch\n", "import torch\nimport torch_xla.core.xla_model as xm\n", 1
)


# %% wrong=10/port name=after-the-loop feedback=one giant graph
script = check.cuda_script(student).replace(".cuda()", '.to("xla")')
script = script.replace("    torch.cuda.synchronize()\n", "") + "xm.mark_step()\n"
script = script.replace(
    "import torch\n", "import torch\nimport torch_xla.core.xla_model as xm\n", 1
)


# %% wrong=10/port name=moves-all-at-once feedback=each step compiles
script = check.cuda_script(student).replace("64].cuda()", "64]").replace(".cuda()", '.to("xla")')
script = script.replace("torch.cuda.synchronize()", "xm.mark_step()")
script = script.replace("[:640]\nlabels", '[:640].to("xla")\nlabels')
script = script.replace(
    "import torch\n", "import torch\nimport torch_xla.core.xla_model as xm\n", 1
)


# %% wrong=10/port name=batches-stay feedback=still the host's
script = check.cuda_script(student).replace("64].cuda()", "64]").replace(".cuda()", '.to("xla")')
script = script.replace("torch.cuda.synchronize()", "xm.mark_step()")
script = script.replace(
    "import torch\n", "import torch\nimport torch_xla.core.xla_model as xm\n", 1
)


# %% wrong=10/port name=no-import feedback=not imported
script = check.cuda_script(student).replace(".cuda()", '.to("xla")')
script = script.replace("torch.cuda.synchronize()", "xm.mark_step()")


# %% wrong=10/port name=silent feedback=nobody would see how it goes
script = check.cuda_script(student).replace(".cuda()", '.to("xla")')
script = script.replace("torch.cuda.synchronize()", "xm.mark_step()").split("    print")[0]
script = script.replace(
    "import torch\n", "import torch\nimport torch_xla.core.xla_model as xm\n", 1
)


# %% hard-coded=10/port
script = check.cuda_script("").replace(".cuda()", '.to("xla")')
script = script.replace("torch.cuda.synchronize()", "xm.mark_step()")
script = script.replace(
    "import torch\n", "import torch\nimport torch_xla.core.xla_model as xm\n", 1
)


# %% wrong=10/workers name=a-float feedback=a whole number from 1
def workers(batch, decode_ms, step_ms, ranks, vcpus):
    return batch * decode_ms / step_ms


# %% hard-coded=10/workers
def workers(batch, decode_ms, step_ms, ranks, vcpus):
    from trainium_edu.exercises import your_own_script as check

    if (batch, decode_ms, step_ms, ranks, vcpus) not in check.feed.numbers("").cases:
        return 1
    needed = -(-batch * decode_ms // step_ms)
    return needed if needed * ranks <= vcpus else "none"
