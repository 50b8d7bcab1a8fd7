# ruff: noqa
# %% wrong=03/cycle-count name=index feedback=You are one off
# -     return load + (tiles - 1) * max(n, load) + n + (rows - 1) + (m - 1)
# +     return load + (tiles - 1) * max(n, load) + n + rows + m - 3


# %% hard-coded=03/cycle-count
def cycle_count(rows, m, n, speed, tiles):
    known = set(check.cycle_count.numbers("").cases)
    if (rows, m, n, speed, tiles) not in known:
        return 798
    load = -(-m // speed)
    return load + (tiles - 1) * max(n, load) + n + (rows - 1) + (m - 1)


# %% wrong=03/tiling-plan name=half-tiles feedback=leaves PEs idle
# -         Pass(k0, k0 + 128, m0, m0 + 128, n0, min(n0 + 512, n), load=n0 == 0, accumulate=k0 > 0)
# -         for m0 in range(0, m, 128)
# -         for k0 in range(0, k, 128)
# +         Pass(k0, k0 + 64, m0, m0 + 64, n0, min(n0 + 512, n), load=n0 == 0, accumulate=k0 > 0)
# +         for m0 in range(0, m, 64)
# +         for k0 in range(0, k, 64)


# %% wrong=03/tiling-plan name=loads-again feedback=You load a stationary tile
def tiling_plan(rows, k, columns):
    who, m, n = ("x", rows, columns) if columns > rows else ("W", columns, rows)
    return who, [
        Pass(k0, k0 + 128, m0, m0 + 128, n0, min(n0 + 512, n), load=True, accumulate=k0 > 0)
        for m0 in range(0, m, 128)
        for n0 in range(0, n, 512)
        for k0 in range(0, k, 128)
    ]


# %% wrong=03/tiling-plan name=the-wrong-operand feedback=Let the other operand stay
# -     who, m, n = ("x", rows, columns) if columns > rows else ("W", columns, rows)
# +     who, m, n = ("W", columns, rows) if columns > rows else ("x", rows, columns)


# %% wrong=03/tiling-plan name=overwrites feedback=need accumulate=True
# -         Pass(k0, k0 + 128, m0, m0 + 128, n0, min(n0 + 512, n), load=n0 == 0, accumulate=k0 > 0)
# +         Pass(k0, min(k0 + 64, k), m0, m0 + 128, n0, min(n0 + 512, n), load=n0 == 0)
# -         for k0 in range(0, k, 128)
# +         for k0 in range(0, k, 64)


# %% wrong=03/tiling-plan name=short-tiles feedback=costs at least 64 cycles
# -         Pass(k0, k0 + 128, m0, m0 + 128, n0, min(n0 + 512, n), load=n0 == 0, accumulate=k0 > 0)
# +         Pass(k0, k0 + 128, m0, m0 + 128, n0, n0 + 32, load=n0 == 0, accumulate=k0 > 0)
# -         for n0 in range(0, n, 512)
# +         for n0 in range(0, n, 32)


# %% hard-coded=03/tiling-plan
# - def tiling_plan(rows, k, columns):
# + def tiling_plan(rows, k, columns):
# +     numbers = check.tiling_plan.numbers("")
# +     rows, k, columns = numbers.rows, numbers.k, numbers.columns


# %% wrong=03/who-stays name=exchanged feedback=always the dearer one
# -     return "W" if price(columns, rows) < price(rows, columns) else "x"
# +     return "x" if price(columns, rows) < price(rows, columns) else "W"


# %% hard-coded=03/who-stays
# - def who_stays(rows, k, columns):
# + def who_stays(rows, k, columns):
# +     if (rows, k, columns) not in set(check.who_stays.numbers("").cases):
# +         return "W"
# +


# %% wrong=03/find-fault name=early-and-late feedback=Early and late are swapped
# - fault = (row, off[row], float(first))
# + fault = (row, -off[row], float(first))


# %% wrong=03/find-fault name=whole-delay feedback=You give its whole delay
# - fault = (row, off[row], float(first))
# + fault = (row, enters[row] - enters[0], float(first))


# %% wrong=03/find-fault name=counts-from-one feedback=Rows are counted from 0
# - fault = (row, off[row], float(first))
# + fault = (row + 1, off[row], float(first))


# %% wrong=03/find-fault name=wrong-result feedback=Follow dst[0, 0] down
# - fault = (row, off[row], float(first))
# + fault = (row, off[row], 1e6)


# %% wrong=03/find-fault name=a-healthy-row feedback=gets its first value when it should
fault = (0, 1, 0)


# %% hard-coded=03/find-fault
frames = check.faulty_frames("")
numbers = check.find_fault.numbers("")
first = next(value for _, _, m, n, value in frames.results if (m, n) == (0, 0))
fault = (numbers.row, numbers.late, float(first))
