# ruff: noqa
# %% wrong=07/hops name=farther-way feedback=the shortest way takes fewer
def hops(a, b, rows, columns):
    return (a // columns - b // columns) % rows + (a % columns - b % columns) % columns


# %% hard-coded=07/hops
def hops(a, b, rows, columns):
    from trainium_edu.exercises import topology as check

    mine = check.hops.numbers("")
    if (rows, columns) != (mine.rows, mine.columns):
        return 1
    p = [(x // columns, x % columns) for x in (a, b)]
    d, e = (p[0][0] - p[1][0]) % rows, (p[0][1] - p[1][1]) % columns
    return min(d, rows - d) + min(e, columns - e)


# %% wrong=07/placement name=plain-chip-numbers feedback=Plain chip numbers are not hypercube addresses
def place(shape):
    chips = 1
    for extent in shape:
        chips *= extent
    return [rank // 2 for rank in range(2 * chips)]


# %% wrong=07/placement name=snake feedback=Consecutive ranks are neighbours, as a ring wants it
def place(shape):
    order = [[]]
    for extent in shape:
        order = [
            [*row, i]
            for k, row in enumerate(order)
            for i in (range(extent) if k % 2 == 0 else reversed(range(extent)))
        ]
    chips = []
    for place in order:
        chip = 0
        for i, extent in zip(place, shape):
            chip = chip * extent + i
        chips += [chip, chip]
    return chips


# %% wrong=07/placement name=one-chip feedback=each chip has two NeuronCores
def place(shape):
    chips = 1
    for extent in shape:
        chips *= extent
    return [0] * (2 * chips)


# %% wrong=07/placement name=one-rank-a-chip feedback=two ranks each
def place(shape):
    chips = 1
    for extent in shape:
        chips *= extent
    return list(range(chips))


# %% wrong=07/placement name=gray-of-the-whole feedback=hops apart
def place(shape):
    chips = 1
    for extent in shape:
        chips *= extent
    return [(r // 2) ^ (r // 4) for r in range(2 * chips)]


# %% hard-coded=07/placement
# - def place(shape):
# + def place(shape):
# +     from trainium_edu.exercises import topology as check
# +
# +     if len(shape) > 3 and tuple(shape) != tuple(check.placement.numbers("").shape):
# +         return None
