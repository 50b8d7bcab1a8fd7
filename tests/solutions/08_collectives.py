# ruff: noqa
# %% wrong=08/ring-reduce-scatter name=ends-one-off feedback=Start each chunk one rank later
# -         (s, r, (r + 1) % ranks, (r - 1 - s) % ranks, "add")
# +         (s, r, (r + 1) % ranks, (r - s) % ranks, "add")


# %% wrong=08/ring-reduce-scatter name=copies feedback=the receiver adds
# -         (s, r, (r + 1) % ranks, (r - 1 - s) % ranks, "add")
# +         (s, r, (r + 1) % ranks, (r - 1 - s) % ranks, "copy")


# %% wrong=08/ring-reduce-scatter name=one-step-more feedback=one more counts a part twice
# -         for s in range(ranks - 1)
# +         for s in range(ranks)


# %% wrong=08/ring-reduce-scatter name=straight-to-the-owner feedback=sends to the next one only
def ring_reduce_scatter(ranks):
    return [(0, r, c, c, "add") for r in range(ranks) for c in range(ranks) if r != c]


# %% wrong=08/ring-reduce-scatter name=always-the-same-chunk feedback=The executor refuses it
def ring_reduce_scatter(ranks):
    return [(s, r, (r + 1) % ranks, r, "add") for s in range(ranks - 1) for r in range(ranks)]


# %% wrong=08/ring-reduce-scatter name=does-not-close feedback=a ring closes with % ranks
def ring_reduce_scatter(ranks):
    return [
        (s, r, r + 1, (r - 1 - s) % ranks, "add") for s in range(ranks - 1) for r in range(ranks)
    ]


# %% hard-coded=08/ring-reduce-scatter
# - def ring_reduce_scatter(ranks):
# + def ring_reduce_scatter(ranks):
# +     from trainium_edu.exercises import collectives as check
# +
# +     if ranks not in (4, check.ring_reduce_scatter.numbers("").ranks):
# +         ranks = 4


# %% wrong=08/bus-bandwidth name=algorithm-bandwidth feedback=the algorithm bandwidth
def bus_bandwidth(collective, ranks, nbytes, time_us):
    return nbytes / time_us / 1000


# %% wrong=08/bus-bandwidth name=binary feedback=That is in GiB/s
# -     return nbytes / time_us / 1000 * trips * (ranks - 1) / ranks
# +     return nbytes / 2**30 / (time_us * 1e-6) * trips * (ranks - 1) / ranks


# %% wrong=08/bus-bandwidth name=two-trips feedback=makes one trip, not two
def bus_bandwidth(collective, ranks, nbytes, time_us):
    return nbytes / time_us / 1000 * 2 * (ranks - 1) / ranks


# %% wrong=08/bus-bandwidth name=own-part feedback=never sends its own share
def bus_bandwidth(collective, ranks, nbytes, time_us):
    return nbytes / time_us / 1000 * (2 if collective == "all_reduce" else 1)


# %% wrong=08/bus-bandwidth name=megabytes feedback=power of ten
# -     return nbytes / time_us / 1000 * trips * (ranks - 1) / ranks
# +     return nbytes / time_us * trips * (ranks - 1) / ranks


# %% hard-coded=08/bus-bandwidth
def bus_bandwidth(collective, ranks, nbytes, time_us):
    from trainium_edu.exercises import collectives as check

    mine = check.bus_bandwidth.numbers("")
    trips = 2 if collective == "all_reduce" else 1
    return mine.nbytes / mine.time_us / 1000 * trips * (ranks - 1) / ranks


# %% wrong=08/choose name=bits feedback=gigabytes, not gigabits
# -     nbytes = parameters * bytes_per_parameter
# +     nbytes = 8 * parameters * bytes_per_parameter


# %% hard-coded=08/choose
def choose(parameters, bytes_per_parameter, latency_us, gb_per_s):
    from trainium_edu.exercises import collectives as check

    mine = check.choose.numbers("")
    nbytes = parameters * mine.bytes_per_parameter
    times = {n: mine.latency_us[n] + nbytes / (1000 * mine.gb_per_s[n]) for n in latency_us}
    return min(times, key=times.get)
