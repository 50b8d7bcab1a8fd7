# ruff: noqa
# %% wrong=09b/drift name=the-batch feedback=Ranks are meant to see other images
lines = []
for script in check.scripts(student):
    text = script.text().split("\n")
    lines.append(1 + next(i for i, line in enumerate(text) if "batch(" in line))


# %% wrong=09b/drift name=backward feedback=Before the mean, ranks may differ
lines = []
for script in check.scripts(student):
    text = script.text().split("\n")
    lines.append(1 + next(i for i, line in enumerate(text) if "backward" in line))


# %% wrong=09b/drift name=the-update feedback=Equal gradients, equal weights
lines = []
for script in check.scripts(student):
    text = script.text().split("\n")
    lines.append(1 + next(i for i, line in enumerate(text) if "optimizer.step" in line))


# %% wrong=09b/drift name=counts-from-zero feedback=numbered from 1
lines = [script.culprit - 1 for script in check.scripts(student)]


# %% wrong=09b/drift name=off-the-page feedback=script has
lines = [99, 99, 99]


# %% wrong=09b/drift name=one-number feedback=Three line numbers
lines = 4


# %% hard-coded=09b/drift
lines = [script.culprit for script in check.scripts("")]


# %% wrong=09b/deadline name=rich feedback=costs more than there is
def choose(offers, samples, hours, usd):
    inside = []
    for name, n, rate, price in offers:
        takes = samples / rate / 3600
        if takes <= hours:
            inside.append((takes * n * price, name, n))
    return min(inside)[1:] if inside else "none"


# %% wrong=09b/deadline name=a-number feedback=It returned 1
def choose(offers, samples, hours, usd):
    return 1


# %% hard-coded=09b/deadline
def choose(offers, samples, hours, usd):
    from trainium_edu.exercises import when_training_breaks as check

    if all(case[1] != samples for case in check.deadline.numbers("").cases):
        return "none"
    return check.CHOICES["right"](offers, samples, hours, usd)
