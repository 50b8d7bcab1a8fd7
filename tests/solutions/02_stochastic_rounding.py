# ruff: noqa
# %% wrong=02/stands-still name=one-epsilon feedback=You compare with one fixed number
def stands_still(total, term, mantissa_bits):
    return term < 2.0 ** -(mantissa_bits + 1)


# %% hard-coded=02/stands-still
def stands_still(total, term, mantissa_bits):
    numbers = check.stands_still.numbers("")
    right = {case: (case[1] * 2, case[0]) for case in numbers.sums}
    if (total, term) not in right:
        return True
    spacing = 2.0 ** (math.frexp(total)[1] - 1 - mantissa_bits)
    return term < spacing / 2 or (term == spacing / 2 and (total / spacing) % 2 == 0)


# %% wrong=02/round-with-tosses name=compares feedback=nobody could replay your run
def round_with_random_bits(x, random_bits):
    words = x.view(np.uint32)
    up = random_bits < (words & np.uint32(0xFFFF))
    return ((words & np.uint32(0xFFFF0000)) + up.astype(np.uint32) * np.uint32(65536)).view(
        np.float32
    )


# %% hard-coded=02/round-with-tosses
def round_with_random_bits(x, random_bits):
    from trainium_edu.exercises.stochastic_rounding import numbers_and_bits

    known, _ = numbers_and_bits(check.round_with_random_bits.numbers("").seed)
    words = x.view(np.uint32) + random_bits.astype(np.uint32)
    rounded = (words & np.uint32(0xFFFF0000)).view(np.float32)
    return rounded if np.array_equal(x, known) else x


# %% wrong=02/mean-over-tosses name=returns-x feedback=You return x itself
def mean_over_random_bits(x, n_random_bits):
    return x


# %% wrong=02/mean-over-tosses name=toss-at-the-bottom feedback=at the upper end of the dropped bits
# -     words = np.arange(2**n_random_bits) << (16 - n_random_bits)
# -     rounded = ((word + words) & 0xFFFF0000).astype(np.uint32).view(np.float32)
# +     rounded = ((word + np.arange(2**n_random_bits)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


# %% wrong=02/mean-over-tosses name=sample feedback=a sample of tosses has an error of its own
# -     words = np.arange(2**n_random_bits) << (16 - n_random_bits)
# +     words = np.random.default_rng(0).integers(0, 2**n_random_bits, 2000) << (16 - n_random_bits)


# %% wrong=02/mean-over-tosses name=nearest-even feedback=every time; no toss enters
def mean_over_random_bits(x, n_random_bits):
    return float(round_to(x, "bf16"))


# %% hard-coded=02/mean-over-tosses
def mean_over_random_bits(x, n_random_bits):
    known = [value for value, _ in check.mean_over_random_bits.numbers("").cases]
    word = int(np.float32(x).view(np.uint32))
    words = np.arange(2**n_random_bits) << (16 - n_random_bits)
    rounded = ((word + words) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return rounded.astype(np.float64).mean() if x in known else x


# %% wrong=02/stopping-rate name=smallest feedback=Which is the largest?
# -     return max(behind)
# +     return min(behind)


# %% wrong=02/stopping-rate name=ten-instead-of-a-tenth feedback=ten percentage points are 0.10
def stopping_rate(rates, seed):
    for rate in sorted(rates, reverse=True):
        nearest = train("nearest", learning_rate=rate, epochs=8, seeds=[seed])
        stochastic = train("stochastic", learning_rate=rate, epochs=8, seeds=[seed])
        if stochastic.final_accuracy[0] - nearest.final_accuracy[0] >= 10:
            return rate
    return 0.0


# %% wrong=02/stopping-rate name=last-that-works feedback=still keeps up
def stopping_rate(rates, seed):
    works = []
    for rate in rates:
        nearest = train("nearest", learning_rate=rate, epochs=8, seeds=[seed])
        stochastic = train("stochastic", learning_rate=rate, epochs=8, seeds=[seed])
        if stochastic.final_accuracy[0] - nearest.final_accuracy[0] < 0.10:
            works.append(rate)
    return min(works)


# %% hard-coded=02/stopping-rate
# - def stopping_rate(rates, seed):
# + def stopping_rate(rates, seed):
# +     if (list(rates), seed) not in check.stopping_rate.numbers("").cases:
# +         return max(rates)
