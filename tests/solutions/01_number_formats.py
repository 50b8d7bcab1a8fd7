# ruff: noqa
# %% wrong=01/counts-to name=sign-counts feedback=The sign bit does not help
def counts_to(mantissa_bits):
    return 2 ** (1 + mantissa_bits + 1)


# %% hard-coded=01/counts-to
def counts_to(mantissa_bits):
    known = {bits: 2 ** (bits + 1) for bits in check.counts_to.numbers("").mantissa_bits}
    return known.get(mantissa_bits, 256)


# %% wrong=01/survives name=whole-numbers feedback=neither needed nor enough
def survives(x, mantissa_bits, lowest, highest):
    return x == int(x)


# %% hard-coded=01/survives
def survives(x, mantissa_bits, lowest, highest):
    import math

    if x not in check.survives.numbers("").candidates:
        return True
    power = math.frexp(abs(x))[1] - 1
    return power <= highest and x % 2.0 ** (max(power, lowest) - mantissa_bits) == 0


# %% wrong=01/nearest-even name=values-not-codes feedback=stay with whole numbers
# -     odd = (words >> 16) & 1
# -     return ((words + 0x7FFF + odd) >> 16).astype(np.uint16)
# +     return words.view(np.float32)


# %% wrong=01/nearest-even name=ties-to-odd feedback=Ties go to the odd code
def nearest_even(words):
    odd = (words >> 16) & 1
    return (words + 0x8000 - odd) >> 16


# %% hard-coded=01/nearest-even
def nearest_even(words):
    public = check.nearest_even.numbers("").words
    if words.shape == public.shape and (words == public).all():
        return (words + 0x7FFF + ((words >> 16) & 1)) >> 16
    return words >> 16


# %% wrong=01/best-format name=standard-bias feedback=The bias is free
def best_format(x):
    found = {}
    for e in range(1, 7):
        bias = 2 ** (e - 1) - 1
        found[e, bias] = quantise(x, configure(e, 7 - e, bias=bias, infinities=False)).snr_db
    return max(found, key=found.get)


# %% wrong=01/best-format name=one-split feedback=the split is free too
def best_format(x):
    found = {}
    for bias in range(-25, 60):
        found[5, bias] = quantise(x, configure(5, 2, bias=bias, infinities=False)).snr_db
    return max(found, key=found.get)


# %% wrong=01/best-format name=most-range feedback=fewer of them would do better
def best_format(x):
    found = {}
    for bias in range(20, 60):
        found[6, bias] = quantise(x, configure(6, 1, bias=bias, infinities=False)).snr_db
    return max(reversed(found), key=found.get)


# %% wrong=01/best-format name=no-pair feedback=two whole numbers
def best_format(x):
    return quantise(x, configure(4, 3, infinities=False)).snr_db


# %% hard-coded=01/best-format
def best_format(x):
    from trainium_edu.exercises import number_formats

    public = check.best_format.numbers("")
    best = number_formats.ratios_kept(public["data"], public["power"])
    return max(best, key=best.get)


# %% wrong=01/mean-bits name=not-divided feedback=bits of all numbers together
def mean_bits(counts):
    left, total = list(counts), 0
    while len(left) > 1:
        left.sort()
        left.append(left.pop(0) + left.pop(0))
        total += left[-1]
    return total


# %% hard-coded=01/mean-bits
def mean_bits(counts):
    from trainium_edu.exercises import number_formats

    known = check.mean_bits.numbers("").counts
    return number_formats.words_mean(counts) if list(counts) in list(map(list, known)) else 3.0
