# ruff: noqa
# %% wrong=04/keep-vector-busy name=one-tile-after-the-other feedback=give it something else to do
def order(tiles, room):
    return [(name, k) for k in range(tiles) for name in ("square", "exp", "scale")]


# %% wrong=04/keep-vector-busy name=all-squares-first feedback=gives it back after its scale
def order(tiles, room):
    return [(name, k) for name in ("square", "exp", "scale") for k in range(tiles)]


# %% wrong=04/keep-vector-busy name=scale-too-early feedback=otherwise an instruction reads old data
def order(tiles, room):
    steps = [(name, k) for k in range(tiles) for name in ("square", "scale")]
    return steps + [("exp", k) for k in range(tiles)]


# %% wrong=04/keep-vector-busy name=forgets-the-last feedback=each issued once
def order(tiles, room):
    steps = []
    for k in range(tiles):
        steps += [("square", k), ("exp", k)]
        if k >= room - 1:
            steps.append(("scale", k - room + 1))
    return steps


# %% wrong=04/keep-vector-busy name=square-after-scale feedback=give it something else to do
def order(tiles, room):
    steps = [("square", 0)]
    for k in range(tiles):
        steps += [("exp", k), ("scale", k)]
        if k + 1 < tiles:
            steps.append(("square", k + 1))
    return steps


# %% hard-coded=04/keep-vector-busy
# - def order(tiles, room):
# + def order(tiles, room):
# +     from trainium_edu.exercises import neuroncore as check
# +
# +     mine = check.keep_vector_busy.numbers("")
# +     tiles, room = (6, 2) if (tiles, room) == (6, 2) else (mine.tiles, mine.room)


# %% wrong=04/sbuf-plan name=all-partitions feedback=count one partition
# -     one = sum(columns * size[dtype] * alive for _, columns, dtype, alive in tiles)
# +     one = sum(p * columns * size[dtype] * alive for p, columns, dtype, alive in tiles)
# -         if buffers * one <= 192 * 1024:
# +         if buffers * one <= 24 * 2**20:


# %% wrong=04/sbuf-plan name=one-of-each feedback=each buffer is a whole set
# -     one = sum(columns * size[dtype] * alive for _, columns, dtype, alive in tiles)
# +     one = sum(columns * size[dtype] for _, columns, dtype, alive in tiles)


# %% wrong=04/sbuf-plan name=elements feedback=A float32 takes 4 bytes
# -     size = {"float32": 4, "bfloat16": 2, "uint8": 1}
# -     one = sum(columns * size[dtype] * alive for _, columns, dtype, alive in tiles)
# +     one = sum(columns * alive for _, columns, dtype, alive in tiles)


# %% wrong=04/sbuf-plan name=one-buffer feedback=the bytes are all of them
def sbuf_plan(tiles):
    size = {"float32": 4, "bfloat16": 2, "uint8": 1}
    one = sum(columns * size[dtype] * alive for _, columns, dtype, alive in tiles)
    return max([b for b in (0, 1, 2, 3, 4) if b * one <= 192 * 1024]), one


# %% wrong=04/sbuf-plan name=decimal feedback=a KiB is 1024 bytes
# -         if buffers * one <= 192 * 1024:
# +         if buffers * one <= 192_000:


# %% hard-coded=04/sbuf-plan
# - def sbuf_plan(tiles):
# -     size = {"float32": 4, "bfloat16": 2, "uint8": 1}
# + def sbuf_plan(tiles):
# +     from trainium_edu.exercises import neuroncore as check
# +
# +     size = {"float32": 4, "bfloat16": 2, "uint8": 1}
# +     if len(tiles) == 3:
# +         tiles = check.sbuf_plan.numbers("").tiles


# %% wrong=04/race name=backwards feedback=Name that one first
# -                 return victim, writer
# +                 return writer, victim


# %% wrong=04/race name=ignores-partitions feedback=every partition has bytes of its own
def find_race(tiles, steps):
    for i, (writer, _) in enumerate(steps):
        for victim in tiles:
            a, b = tiles[victim], tiles[writer]
            if victim == writer or not (a[0] < b[0] + b[1] and b[0] < a[0] + a[1]):
                continue
            if a[2] < b[2] + b[3] and b[2] < a[2] + a[3]:
                continue
            return victim, writer


# %% wrong=04/race name=any-overlap feedback=not needed any more
def find_race(tiles, steps):
    def share(a, b):
        bytes_meet = a[0] < b[0] + b[1] and b[0] < a[0] + a[1]
        return bytes_meet and a[2] < b[2] + b[3] and b[2] < a[2] + a[3]

    found = []
    for i, (writer, _) in enumerate(steps):
        for victim, _ in steps[:i]:
            if share(tiles[victim], tiles[writer]):
                needed = any(victim in r for _, r in steps[i + 1 :])
                found.append((needed, victim, writer))
    return min(found)[1:]


# %% wrong=04/race name=one-name feedback=find_race returns two names
def find_race(tiles, steps):
    return steps[0][0]


# %% hard-coded=04/race
def find_race(tiles, steps):
    from trainium_edu.exercises import neuroncore as check

    seed = check.race.numbers("").seed
    for turn in range(6):
        mine, plan = check.racing_plan(seed + turn)
        if dict(mine) == dict(tiles):
            (pair,) = check.races(mine, plan)
            return pair
    return steps[0][0], steps[1][0]


# %% wrong=04/remove-first name=greedy feedback=save nothing until another is gone
def remove_first(times, budget):
    chosen = ()
    for _ in range(budget):
        larger = [c for c in times if len(c) == len(chosen) + 1 and set(chosen) <= set(c)]
        chosen = min(larger, key=times.get)
    return chosen


# %% wrong=04/remove-first name=adds-up feedback=Compare the times of pairs
def remove_first(times, budget):
    singles = sorted((c for c in times if len(c) == 1), key=times.get)
    return tuple(sorted(c[0] for c in singles[:budget]))


# %% wrong=04/remove-first name=slowest feedback=look for the smallest
def remove_first(times, budget):
    return max((c for c in times if 0 < len(c) <= budget), key=times.get)


# %% wrong=04/remove-first name=always-two feedback=may be removed
def remove_first(times, budget):
    return min((c for c in times if len(c) == 2), key=times.get)


# %% hard-coded=04/remove-first
def remove_first(times, budget):
    from trainium_edu.exercises import neuroncore as check

    seed = check.remove_first.numbers("").seed
    for turn in range(8):
        if check.cause_table(seed + turn) == times:
            return check.best_removal(times, budget)
    return min((c for c in times if len(c) == 1), key=times.get)
