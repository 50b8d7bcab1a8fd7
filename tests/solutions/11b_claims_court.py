# ruff: noqa
# %% wrong=11b/overturn name=another-headline feedback=is none of yours
turned = ("chip_peak_today", "clock_hz", 2.9e9)


# %% wrong=11b/overturn name=as-it-is feedback=does not turn it
key = check.headlines(student)[0]
used = judge(key).conditions[0].input
turned = (key, used.name, used.used)


# %% wrong=11b/overturn name=out-of-range feedback=the sources have it from
key = check.headlines(student)[0]
used = judge(key).conditions[0].input
turned = (key, used.name, 10 * used.high)


# %% wrong=11b/overturn name=no-such-input feedback=has no input
turned = (check.headlines(student)[0], "luck", 1.0)


# %% wrong=11b/overturn name=farther feedback=it turns sooner
key = check.headlines(student)[0]
condition = judge(key).conditions[0]
edge = min((condition.low, condition.high), key=lambda end: abs(end - condition.input.used))
turned = (key, condition.input.name, edge + 0.2 * (edge - condition.input.used))


# %% wrong=11b/overturn name=other-unit feedback=looks like the right move
turned = ()
for key in check.headlines(student):
    condition = judge(key).conditions[0]
    edge = check.edge(key, condition.input.name)
    turned = turned or (key, condition.input.name, edge / 1e12)


# %% wrong=11b/overturn name=a-sentence feedback=Three things are asked for
turned = "petaflops, with 210 TFLOPS a chip"


# %% hard-coded=11b/overturn
key = next(k for k in check.headlines("") if k not in check.headlines("cd34"))
condition = judge(key).conditions[0]
edge = check.edge(key, condition.input.name)
turned = (key, condition.input.name, edge + 0.001 * (edge - condition.input.used))
