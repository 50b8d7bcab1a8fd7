# ruff: noqa
# %% wrong=09/ring-mean name=numpys-mean feedback=NumPy's mean is that too
def ring_mean(gradients):
    return gradients.mean(axis=0)


# %% wrong=09/ring-mean name=the-other-way feedback=the other way
# -         total = parts[(p + 1) % ranks, p]
# +         total = parts[(p - 1) % ranks, p]
# -             total = numerics.round_to(total + parts[(p + k) % ranks, p], "bf16")
# +             total = numerics.round_to(total + parts[(p - k) % ranks, p], "bf16")


# %% wrong=09/ring-mean name=one-number feedback=one row of
def ring_mean(gradients):
    return gradients.mean()


# %% wrong=09/ring-mean name=each-rank-its-own feedback=one row of
def ring_mean(gradients):
    return gradients / len(gradients)


# %% hard-coded=09/ring-mean
def ring_mean(gradients):
    from trainium_edu.exercises import data_parallel_training as check

    mine = check.ring_mean.numbers("")
    known = [check.gradients_of(ranks, mine.seed) for ranks in (4, mine.ranks)]
    if any(np.array_equal(gradients, one) for one in known):
        return check.executed(gradients)
    return gradients.mean(axis=0)


# %% wrong=09/exposed name=bits feedback=the sizes are bytes
def exposed_us(buckets, latency_us, gb_per_s):
    now = free = 0
    for us, nbytes in buckets:
        now += us
        free = max(now, free) + latency_us + 8 * nbytes / (1000 * gb_per_s)
    return free - now


# %% wrong=09/exposed name=text feedback=a number of microseconds is asked for
def exposed_us(buckets, latency_us, gb_per_s):
    return f"{latency_us} us"


# %% hard-coded=09/exposed
def exposed_us(buckets, latency_us, gb_per_s):
    from trainium_edu.exercises import data_parallel_training as check

    mine = check.exposed_us.numbers("")
    if (latency_us, gb_per_s) != (mine.latency_us, mine.gb_per_s):
        return 0.0
    now = free = 0
    for us, nbytes in buckets:
        now += us
        free = max(now, free) + latency_us + nbytes / (1000 * gb_per_s)
    return free - now
