# ruff: noqa
# %% wrong=06/mark-step name=giant feedback=It is cut once
# -         optimizer.step()
# -         device.mark_step()
# +         optimizer.step()
# -             log(loss)
# +             log(loss)
# +     device.mark_step()


# %% wrong=06/mark-step name=every-second feedback=several steps wait for one cut
# -         device.mark_step()
# +         if step % 2:
# +             device.mark_step()


# %% wrong=06/mark-step name=in-two feedback=a step is cut in pieces
# -         loss.backward()
# +         loss.backward()
# +         device.mark_step()


# %% wrong=06/mark-step name=too-early feedback=before the cut
# -         optimizer.step()
# -         device.mark_step()
# +         optimizer.step()
# -             log(loss)
# +             log(loss)
# +         device.mark_step()


# %% wrong=06/mark-step name=other-losses feedback=the loss of every 4th step
# -             log(loss)
# +             log(float(loss) * 2)


# %% wrong=06/mark-step name=other-gradient feedback=the loss of every 4th step
# -         loss.backward()
# +         loss.backward(loss)


# %% wrong=06/mark-step name=invents feedback=does not return what its device ran
def train(request):
    return b"[]" * 2**24


# %% wrong=06/mark-step name=reports-others-counts feedback=the loop's device ran is incomplete
def train(request):
    import json

    ran = [{"graph": 0, "marked": True, "feeds": []}] * request.steps
    return json.dumps(
        {"steps": request.steps, "graphs": [], "ran": ran, "logged": [], "last": {}}
    ).encode()


# %% wrong=06/mark-step name=computes-nothing feedback=end with other weights
def train(request):
    """Report one tiny graph a step, the right losses, and the first weights as the last."""
    import json

    from trainium_edu.exercises.lazy_execution import reference
    from trainium_edu.xla.graph import Graph, as_type
    from trainium_edu.xla.operations import apply, parameter

    given, weights, losses = reference(request.seed, request.steps)
    x = parameter(0, as_type(given["0.bias"].shape, "float32"))
    text = Graph("step", (x,), (apply("add", x, x),)).to_json()
    ran = [{"graph": 0, "marked": True, "feeds": [["given", "0.bias"]]}] * request.steps
    last = {name: ["given", name] for name in weights}
    told = {"steps": request.steps, "graphs": [text], "ran": ran, "logged": losses, "last": last}
    return json.dumps(told).encode()


# %% hard-coded=06/mark-step
# - def train(device, network, optimizer, batches, log):
# + def train(device, network, optimizer, batches, log):
# +     from trainium_edu.exercises import lazy_execution as check
# +
# -         device.mark_step()
# -         if step % 4 == 3:
# -             log(loss)
# +         if step < check.place_mark_step.numbers("").steps:
# +             device.mark_step()
# +             if step % 4 == 3:
# +                 log(loss)
# +     if len(batches) != check.place_mark_step.numbers("").steps:
# +         log(loss)
# +     device.mark_step()


# %% wrong=06/recompiles name=the-print feedback=it is the same other graph each time
lines = []
for script in check.scripts(student):
    text = [*script.text().split("\n")]
    lines.append(1 + next((i for i, line in enumerate(text) if "print" in line), 0))


# %% wrong=06/recompiles name=the-update feedback=Weights are inputs and outputs
lines = [len(script.lines) - 1 for script in check.scripts(student)]


# %% wrong=06/recompiles name=counts-from-zero feedback=numbered from 1
lines = [script.culprit - 1 for script in check.scripts(student)]


# %% wrong=06/recompiles name=one-number feedback=Three line numbers
lines = [4]


# %% wrong=06/recompiles name=off-the-page feedback=script has
lines = [99, 99, 99]


# %% hard-coded=06/recompiles
lines = [script.culprit for script in check.scripts("")]


# %% wrong=06/buckets name=one-bucket feedback=every sentence is as long as the longest
def choose(lengths, compiles):
    return [max(lengths)]


# %% wrong=06/buckets name=even-steps feedback=Buckets at equal distances
def choose(lengths, compiles):
    longest = max(lengths)
    return [-(-longest * k // compiles) for k in range(1, compiles + 1)]


# %% wrong=06/buckets name=equal-shares feedback=As many sentences in each bucket
def choose(lengths, compiles):
    return [int(n) for n in np.quantile(lengths, np.arange(1, compiles + 1) / compiles)]


# %% wrong=06/buckets name=powers-of-two feedback=Each bucket is twice the one below
def choose(lengths, compiles):
    longest = max(lengths)
    return [-(-longest // 2**k) for k in range(compiles)]


# %% wrong=06/buckets name=a-bucket-for-each feedback=each bucket is a shape
def choose(lengths, compiles):
    return sorted(set(lengths))


# %% wrong=06/buckets name=typical feedback=it fits nowhere
def choose(lengths, compiles):
    return [int(np.median(lengths))]


# %% hard-coded=06/buckets
def choose(lengths, compiles):
    from trainium_edu.exercises import lazy_execution as check

    known = [check.sentence_lengths(*c[:2]) for c in check.bucket_lengths.numbers("").cases]
    return list(check.best_buckets(lengths, compiles)) if lengths in known else [max(lengths)]


# %% wrong=06/vjp name=over-the-batch feedback=knows nothing of other rows
def layer_norm_vjp(x, gradient, eps):
    s = np.sqrt(x.var(-1, keepdims=True) + eps)
    y = (x - x.mean(-1, keepdims=True)) / s
    return (gradient - gradient.mean(0) - y * (gradient * y).mean(0)) / s


# %% wrong=06/vjp name=one-row feedback=has x's shape
def layer_norm_vjp(x, gradient, eps):
    return gradient.mean(-1)


# %% hard-coded=06/vjp
def layer_norm_vjp(x, gradient, eps):
    from trainium_edu.exercises import lazy_execution as check

    mine = check.layer_norm_vjp.numbers("")
    s = np.sqrt(x.var(-1, keepdims=True) + eps)
    y = (x - x.mean(-1, keepdims=True)) / s
    right = (
        gradient - gradient.mean(-1, keepdims=True) - y * (gradient * y).mean(-1, keepdims=True)
    ) / s
    return right if (x.shape, eps) == ((mine.rows, mine.width), mine.eps) else gradient
