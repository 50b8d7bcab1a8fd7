# ruff: noqa
# %% wrong=09c/lookup-time name=bytes-only feedback=You count bytes alone
def lookup_us(rows, width, bytes_per_number):
    return rows * width * bytes_per_number / 17 / 16 / 1000


# %% wrong=09c/lookup-time name=packets-only feedback=You count packets alone
def lookup_us(rows, width, bytes_per_number):
    return rows * 147 / 16 / 1000


# %% wrong=09c/lookup-time name=one-queue feedback=Sixteen share the rows
def lookup_us(rows, width, bytes_per_number):
    return rows * max(147, 8 + width * bytes_per_number / 17) / 1000


# %% wrong=09c/lookup-time name=added feedback=They pass beside each other
def lookup_us(rows, width, bytes_per_number):
    return rows * (147 + 8 + width * bytes_per_number / 17) / 16 / 1000


# %% wrong=09c/lookup-time name=one-byte feedback=width times bytes_per_number
def lookup_us(rows, width, bytes_per_number):
    return rows * max(147, 8 + width / 17) / 16 / 1000


# %% wrong=09c/lookup-time name=one-piece feedback=a descriptor of its own
def lookup_us(rows, width, bytes_per_number):
    return max(147, 8 + rows * width * bytes_per_number / 17) / 16 / 1000


# %% wrong=09c/lookup-time name=nanoseconds feedback=microseconds are asked for
def lookup_us(rows, width, bytes_per_number):
    return rows * max(147, 8 + width * bytes_per_number / 17) / 16


# %% wrong=09c/lookup-time name=a-text feedback=a number is asked for
def lookup_us(rows, width, bytes_per_number):
    return f"{rows * 147 / 16 / 1000} us"


# %% hard-coded=09c/lookup-time
def lookup_us(rows, width, bytes_per_number):
    from trainium_edu.exercises import recommend_and_fine_tune as check

    if (rows, width, bytes_per_number) not in check.lookup_time.numbers("").cases:
        return 1.0
    return rows * max(147, 8 + width * bytes_per_number / 17) / 16 / 1000


# %% wrong=09c/best-loss name=zero feedback=knows how each coin will fall
def best_loss(biases):
    return 0.0


# %% wrong=09c/best-loss name=one-coin feedback=the same of every sample
def best_loss(biases):
    import math

    p = sum(biases) / len(biases)
    return -p * math.log(p) - (1 - p) * math.log(1 - p)


# %% wrong=09c/best-loss name=bits feedback=That is in bits
def best_loss(biases):
    import math

    return sum(-x * math.log2(x) for p in biases for x in (p, 1 - p) if x > 0) / len(biases)


# %% wrong=09c/best-loss name=one-side feedback=only the times it is taken
def best_loss(biases):
    import math

    return sum(-p * math.log(p) for p in biases if p > 0) / len(biases)


# %% wrong=09c/best-loss name=likelier feedback=the likelier side always come
def best_loss(biases):
    import math

    return sum(-math.log(max(p, 1 - p)) for p in biases) / len(biases)


# %% wrong=09c/best-loss name=sum feedback=That is the sum over samples
def best_loss(biases):
    import math

    return sum(-x * math.log(x) for p in biases for x in (p, 1 - p) if x > 0)


# %% wrong=09c/best-loss name=half feedback=says one half of every sample
def best_loss(biases):
    import math

    return math.log(2)


# %% wrong=09c/best-loss name=nan feedback=what never happens costs nothing
def best_loss(biases):
    import numpy as np

    p = np.array(biases)
    with np.errstate(all="ignore"):
        return float(np.mean(-p * np.log(p) - (1 - p) * np.log(1 - p)))


# %% hard-coded=09c/best-loss
def best_loss(biases):
    import math

    from trainium_edu.exercises import recommend_and_fine_tune as check

    if (biases,) not in check.best_loss.numbers("").cases:
        return 1.0
    return sum(-x * math.log(x) for p in biases for x in (p, 1 - p) if x > 0) / len(biases)
