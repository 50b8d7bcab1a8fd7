# ruff: noqa
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
