# ruff: noqa
# %% wrong=09/ring-mean name=numpys-mean feedback=NumPy's mean is that too
def ring_mean(gradients):
    return gradients.mean(axis=0)


# %% wrong=09/ring-mean name=rounds-once feedback=You add in FP32 and round once
# -             total = numerics.round_to(total + parts[(p + k) % ranks, p], "bf16")
# -         means.append(total / ranks)
# +             total = total + parts[(p + k) % ranks, p]
# +         means.append(numerics.round_to(total / ranks, "bf16"))


# %% wrong=09/ring-mean name=never-rounds feedback=Nothing is rounded here
def ring_mean(gradients):
    ranks = len(gradients)
    parts = gradients.reshape(ranks, ranks, -1)
    return np.concatenate(
        [sum(parts[(p + k) % ranks, p] for k in range(1, ranks + 1)) / ranks for p in range(ranks)]
    )


# %% wrong=09/ring-mean name=a-sum feedback=That is the sum, in the right order
# -     means = []
# +     sums = []
# -         means.append(total / ranks)
# -     return np.concatenate(means)
# +         sums.append(total)
# +     return np.concatenate(sums)


# %% wrong=09/ring-mean name=one-forgotten feedback=One rank's gradients are in no sum
# -         for k in range(2, ranks + 1):
# +         for k in range(2, ranks):


# %% wrong=09/ring-mean name=one-forgotten-and-not-counted feedback=one rank too few
# -         for k in range(2, ranks + 1):
# +         for k in range(2, ranks):
# -         means.append(total / ranks)
# +         means.append(total / (ranks - 1))


# %% wrong=09/ring-mean name=rank-by-rank feedback=All parts are added from rank 0 upwards
def ring_mean(gradients):
    total = gradients[0]
    for more in gradients[1:]:
        total = numerics.round_to(total + more, "bf16")
    return total / len(gradients)


# %% wrong=09/ring-mean name=its-owner-first feedback=Rank p is where it ends
# -         total = parts[(p + 1) % ranks, p]
# -         for k in range(2, ranks + 1):
# +         total = parts[p, p]
# +         for k in range(1, ranks):


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


# %% wrong=09/exposed name=no-overlap feedback=as if no sum began before
def exposed_us(buckets, latency_us, gb_per_s):
    return sum(latency_us + nbytes / (1000 * gb_per_s) for _, nbytes in buckets)


# %% wrong=09/exposed name=difference feedback=Communication minus computing
def exposed_us(buckets, latency_us, gb_per_s):
    sums = sum(latency_us + nbytes / (1000 * gb_per_s) for _, nbytes in buckets)
    return max(0, sums - sum(us for us, _ in buckets))


# %% wrong=09/exposed name=last feedback=The last bucket always shows
def exposed_us(buckets, latency_us, gb_per_s):
    return latency_us + buckets[-1][1] / (1000 * gb_per_s)


# %% wrong=09/exposed name=all-at-once feedback=all sums travel side by side
def exposed_us(buckets, latency_us, gb_per_s):
    now, ends = 0, []
    for us, nbytes in buckets:
        now += us
        ends.append(now + latency_us + nbytes / (1000 * gb_per_s))
    return max(ends) - now


# %% wrong=09/exposed name=neighbours feedback=Delay can be made up later
def exposed_us(buckets, latency_us, gb_per_s):
    sums = [latency_us + nbytes / (1000 * gb_per_s) for _, nbytes in buckets]
    after = [us for us, _ in buckets[1:]] + [0]
    return sum(max(0, a - b) for a, b in zip(sums, after))


# %% wrong=09/exposed name=the-end feedback=That is when the last sum ends
def exposed_us(buckets, latency_us, gb_per_s):
    now = free = 0
    for us, nbytes in buckets:
        now += us
        free = max(now, free) + latency_us + nbytes / (1000 * gb_per_s)
    return free


# %% wrong=09/exposed name=latency-once feedback=each pays the latency
def exposed_us(buckets, latency_us, gb_per_s):
    now, free = 0, 0
    for i, (us, nbytes) in enumerate(buckets):
        now += us
        free = max(now, free) + (0 if i else latency_us) + nbytes / (1000 * gb_per_s)
    return free - now


# %% wrong=09/exposed name=no-latency feedback=The latency is missing
def exposed_us(buckets, latency_us, gb_per_s):
    now = free = 0
    for us, nbytes in buckets:
        now += us
        free = max(now, free) + nbytes / (1000 * gb_per_s)
    return free - now


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
