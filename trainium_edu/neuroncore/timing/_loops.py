"""Compiled loops of placement and scheduling: flat arrays in, ``out`` arrays filled.

Every loop does at most `limit` rows per call and leaves where it stopped in ``progress``, so that a
long program comes back to Python between pieces.  Times are float64 nanoseconds, all multiples of
2**-20, so that sums are exact.
"""

import numpy as np

import trainium_edu.numerics.launch  # noqa: F401  (loads Numba)

# isort: split
from numba import njit

__all__ = [
    "alive_together", "first_fit", "hazards", "lateness", "lives", "most_alive", "rotate",
    "simulate", "successors",
]  # fmt: skip

RAW, WAW, WAR, STATED = 1, 2, 3, 4  # kinds of edges
# why an instruction started no earlier (waits.Wait has the words)
W_START, W_ENGINE, W_RAW, W_WAW, W_WAR, W_PORT, W_QUEUE, W_CHAIN, W_STATED = range(9)
TENSOR, VECTOR, SCALAR, GPSIMD, SYNC, DMA = 0, 1, 2, 3, 4, 5
SBUF_PORT, PSUM_PORT = 1, 2


@njit(cache=True)
def most_alive(site_start, first_sorted, last_sorted, out):
    """Count the most instances alive at once, per site.

    ``first_sorted`` and ``last_sorted`` hold each site's first and last rows, each in order.
    """
    for s in range(out.size):
        a, b, end = site_start[s], site_start[s], site_start[s + 1]
        alive = most = 0
        while a < end:
            if last_sorted[b] < first_sorted[a]:
                alive -= 1
                b += 1
            else:
                alive += 1
                a += 1
                if alive > most:
                    most = alive
        out[s] = most


@njit(cache=True)
def _sink(heap, until, low, high):
    """Let the first of ``heap[low:high]`` sink to its place, so that who died first is first."""
    at, slot = low, heap[low]
    while True:
        child = 2 * at - low + 1
        if child >= high:
            break
        one, two = heap[child], heap[min(child + 1, high - 1)]
        if until[two] < until[one] or (until[two] == until[one] and two < one):
            child, one = child + 1, two
        if until[slot] < until[one] or (until[slot] == until[one] and slot < one):
            break
        heap[at] = one
        at = child
    heap[at] = slot


@njit(cache=True)
def rotate(site_start, last, slots, slot_start, until, heap, out):
    """Give each instance (in order of first access) the slot of its site that died first.

    ``until`` (one per slot, -1 at first) becomes the last row of the slot's newest owner; ``heap``
    has the slots in order.
    """
    for s in range(slots.size):
        low, high = slot_start[s], slot_start[s + 1]
        for i in range(site_start[s], site_start[s + 1]):
            out[i] = heap[low]
            until[heap[low]] = last[i]
            _sink(heap, until, low, high)


@njit(cache=True)
def alive_together(first, last, slot, living, together):
    """Mark which slots ever have owners alive at the same time; owners by first row."""
    count = 0
    for i in range(first.size):
        kept = 0
        for k in range(count):
            j = living[k]
            if last[j] >= first[i]:
                living[kept] = j
                kept += 1
                together[slot[i], slot[j]] = together[slot[j], slot[i]] = True
        living[kept] = i
        count = kept + 1


@njit(cache=True)
def lives(row_access, access_instance, is_write, row_engine, on_chip, lead, hold, result, moved,
          free, written_by, newest, is_read, ready, writer, write_ns, lead_ns, make_ns, need_ns,
          dead_ns, end_ns):  # fmt: skip
    """Read when each instance is written, needed and done with, were there bytes for everybody.

    ``moved``: what the queues have to do before each row's transfer is done, at the least.
    ``writer`` (-1 at first) becomes the engine of its first access, ``written_by`` that of its last
    write, ``newest`` its last row; ``is_read`` whether somebody came who does not stand in the
    writer's line; ``end_ns`` (-inf at first) when each engine is done.
    """
    now = 0.0
    for r in range(row_engine.size):
        engine = row_engine[r]
        t = free[engine]
        for a in range(row_access[r], row_access[r + 1]):
            i = access_instance[a]
            if on_chip[i] and not is_write[a] and (written_by[i] != engine or engine == DMA):
                t = max(t, ready[i])
        if engine == DMA:
            end = max(t + lead[r] + hold[r], moved[r])
        else:
            end = free[engine] = t + hold[r]
            now = max(now, t)
        for a in range(row_access[r], row_access[r + 1]):
            i = access_instance[a]
            if is_write[a]:
                ready[i], written_by[i] = end + result[r], engine
            if writer[i] < 0:
                writer[i] = engine
                write_ns[i] = need_ns[i] = now
                lead_ns[i] = lead[r]
                make_ns[i] = hold[r]
            else:
                other = engine != writer[i] or (engine == DMA and not is_write[a])
                if other and not is_read[i]:
                    is_read[i] = True
                    need_ns[i] = t
                if not is_read[i] and newest[i] != r:
                    make_ns[i] += hold[r]
            end_ns[i, engine] = max(end_ns[i, engine], end)
            dead_ns[i] = now
            newest[i] = r
    for i in range(writer.size):
        if not is_read[i] and writer[i] != DMA:
            make_ns[i] = 0.0


@njit(cache=True)
def lateness(last, writer, write_ns, lead_ns, make_ns, need_ns, dead_ns, end_ns, slots, alive,
             out):  # fmt: skip
    """Add up for how long a site's readers wait for its tiles, per number of slots.

    Its tiles rotate (:func:`rotate`); each is begun when everybody but its own writer, who works
    in order, is done with its slot, and the tile before it is made.  Whoever needs it then makes
    everything behind wait as well.  No slots (0): as many as are alive, lent to others in between,
    so that nothing is begun before its row, and who comes next waits for stores.
    """
    most = slots[-1]
    until, heap = np.empty(most, np.int64), np.empty(most, np.int64)
    free_ns = np.empty((most, end_ns.shape[1]))
    for k in range(slots.size):
        count = slots[k] if slots[k] > 0 else alive
        until[:] = -1
        heap[:] = np.arange(most)
        free_ns[:] = -np.inf
        late, made = 0.0, -np.inf
        for i in range(last.size):
            slot = heap[0]
            until[slot] = last[i]
            _sink(heap, until, 0, count)
            begin = -np.inf if slots[k] > 0 else write_ns[i] + late
            for engine in range(end_ns.shape[1]):
                if engine != writer[i] or engine == DMA:
                    begin = max(begin, free_ns[slot, engine])
            made = max(made, begin + lead_ns[i]) + make_ns[i]
            late += max(0.0, made - (need_ns[i] + late))
            free_ns[slot] = end_ns[i] + late
            if slots[k] == 0:
                late += max(0.0, end_ns[i, DMA] - dead_ns[i])
        out[k] = late


@njit(cache=True)
def first_fit(low, high, start, end, p0, p1, size, align, lender, apart, bank, capacity, count,
              order, address):  # fmt: skip
    """Put boxes [low, high) into the lowest free bytes of the partitions while they are alive.

    A box lives in rows start..end (both included) and on partitions [p0, p1); even then those
    whose ``lender`` numbers (-1: none) are ``apart`` may share bytes.  The first ``count[0]``
    entries of ``order`` are boxes that have an address, by address; what is placed joins them.
    A box that fits nowhere gets -1.  ``bank`` > 0: up to that size inside one bank, longer ones
    from a bank's first byte.
    """
    for i in range(low, high):
        here = 0
        if size[i] > 0:
            at = count[0]
            for k in range(count[0]):
                j = order[k]
                if start[j] > end[i] or end[j] < start[i] or p0[j] >= p1[i] or p1[j] <= p0[i]:
                    continue
                if apart[lender[i], lender[j]]:
                    continue
                if address[j] >= here + size[i]:
                    break
                if address[j] + size[j] > here:
                    here = address[j] + size[j]
                    here = -(-here // align[i]) * align[i]
                    if bank > 0:
                        if size[i] > bank:
                            here = -(-here // bank) * bank
                        elif here // bank != (here + size[i] - 1) // bank:
                            here = (here // bank + 1) * bank
        if here + size[i] > capacity:
            address[i] = -1
            continue
        address[i] = here
        at = count[0]
        while at > 0 and address[order[at - 1]] > here:
            order[at] = order[at - 1]
            at -= 1
        order[at] = i
        count[0] += 1


@njit(cache=True)
def hazards(limit, row_access, row_engine, domain, r0, r1, b0, b1, is_write, tracked,
            newest_write, newest_read, older, owner, seen, edge_start, edge_pred, edge_kind,
            progress):  # fmt: skip
    """Find which earlier rows each row must wait for, by overlap of the bytes they touch.

    Per domain (bytes that may overlap) two linked lists hold the reads and writes that still
    matter: a write drops what it covers; a read of the same bytes by the same in-order engine
    takes the place of the earlier one.  ``progress``: next row, edges so far.  Edges beyond
    the length of ``edge_pred`` are counted and not stored.
    """
    rows = row_engine.size
    row, edges = progress[0], progress[1]
    stop = min(rows, row + limit)
    while row < stop:
        engine = row_engine[row]
        edge_start[row] = edges
        for a in range(row_access[row], row_access[row + 1]):
            d = domain[a]
            if not tracked[d]:
                continue
            before = -1
            node = newest_write[d]
            while node >= 0:
                follow = older[node]
                gone = False
                if r0[node] < r1[a] and r0[a] < r1[node] and b0[node] < b1[a] and b0[a] < b1[node]:
                    pred = owner[node]
                    kind = WAW if is_write[a] else RAW
                    if pred != row and (row_engine[pred] != engine or engine == DMA or kind == RAW):
                        k = seen[pred]
                        if k >= edge_start[row]:
                            if k < edge_kind.size and kind < edge_kind[k]:
                                edge_kind[k] = kind
                        else:
                            seen[pred] = edges
                            if edges < edge_pred.size:
                                edge_pred[edges] = pred
                                edge_kind[edges] = kind
                            edges += 1
                    gone = (
                        is_write[a] and r0[a] <= r0[node] and r1[node] <= r1[a]
                        and b0[a] <= b0[node] and b1[node] <= b1[a]
                    )  # fmt: skip
                if gone:
                    if before < 0:
                        newest_write[d] = follow
                    else:
                        older[before] = follow
                else:
                    before = node
                node = follow
            merged = False
            before = -1
            node = newest_read[d]
            while node >= 0:
                follow = older[node]
                gone = False
                if r0[node] < r1[a] and r0[a] < r1[node] and b0[node] < b1[a] and b0[a] < b1[node]:
                    pred = owner[node]
                    if is_write[a]:
                        if pred != row and (row_engine[pred] != engine or engine == DMA):
                            k = seen[pred]
                            if k < edge_start[row]:
                                seen[pred] = edges
                                if edges < edge_pred.size:
                                    edge_pred[edges] = pred
                                    edge_kind[edges] = WAR
                                edges += 1
                        gone = (
                            r0[a] <= r0[node] and r1[node] <= r1[a]
                            and b0[a] <= b0[node] and b1[node] <= b1[a]
                        )  # fmt: skip
                    elif (
                        row_engine[pred] == engine and engine != DMA
                        and r0[a] == r0[node] and r1[a] == r1[node]
                        and b0[a] == b0[node] and b1[a] == b1[node]
                    ):  # fmt: skip
                        owner[node] = row
                        merged = True
                        break
                if gone:
                    if before < 0:
                        newest_read[d] = follow
                    else:
                        older[before] = follow
                else:
                    before = node
                node = follow
            if is_write[a]:
                older[a] = newest_write[d]
                newest_write[d] = a
                owner[a] = row
            elif not merged:
                older[a] = newest_read[d]
                newest_read[d] = a
                owner[a] = row
        row += 1
    edge_start[row] = edges
    progress[0], progress[1] = row, edges


@njit(cache=True)
def successors(edge_start, edge_pred, edge_kind, start, row_of, kind_of, cursor):
    """Turn edges by follower into edges by predecessor (a counting sort)."""
    rows = edge_start.size - 1
    for k in range(edge_start[rows]):
        start[edge_pred[k] + 1] += 1
    for r in range(rows):
        start[r + 1] += start[r]
        cursor[r] = start[r]
    for r in range(rows):
        for k in range(edge_start[r], edge_start[r + 1]):
            p = edge_pred[k]
            row_of[cursor[p]] = r
            kind_of[cursor[p]] = edge_kind[k]
            cursor[p] += 1


@njit(cache=True)
def simulate(limit, given_order, is_given, engine, lead, hold, drain, chain, ports, quick,
             least, quick_least, tolerance, first_queue, wide, descriptors, debt, transfer,
             next_row, succ_start, succ_row, succ_kind, missing, ready, ready_pred, ready_kind,
             heads, free, last_row, port_free, port_row, queue_free, queue_row, heap_time,
             heap_row, start, release, done, pred, kind, order, queue_start, queue_end,
             queue_pred, critical, progress):  # fmt: skip
    """List scheduling: of all heads that may go, the one that can start first; ties by row.

    An instruction holds its engine from ``start`` to ``release`` and its result is visible at
    ``done``; ``lead`` is what follows its operands and may overlap with a busy engine.  A transfer
    is split over its queues by descriptors (``wide`` of them from ``first_queue`` on, or all in
    turn).  A queue is at its sustained pace (``hold`` per descriptor, at least ``least`` for its
    share) unless it is ahead of that by less than ``tolerance``: then it is ``quick``.
    ``progress``: rows done, heap size, next queue, error.
    """
    rows = engine.size
    n, heap, turn = progress[0], progress[1], progress[2]
    queues = queue_free.size
    stop = min(rows, n + limit)
    while n < stop:
        best, best_time = -1, 0.0
        if is_given:
            best = given_order[n]
            e = engine[best]
            if missing[best] > 0 or (e != DMA and heads[e] != best):
                progress[3] = n + 1
                break
        else:
            for e in range(DMA):
                h = heads[e]
                if h < 0 or missing[h] > 0:
                    continue
                t = max(free[e], ready[h] + lead[h])
                if e == VECTOR:
                    if ports[h] & SBUF_PORT:
                        t = max(t, port_free[1])
                    if ports[h] & PSUM_PORT:
                        t = max(t, port_free[3])
                elif e == GPSIMD and ports[h] & SBUF_PORT:
                    t = max(t, port_free[0])
                elif e == SCALAR and ports[h] & PSUM_PORT:
                    t = max(t, port_free[2])
                if best < 0 or t < best_time or (t == best_time and h < best):
                    best, best_time = h, t
            if heap > 0 and (
                best < 0
                or heap_time[0] < best_time
                or (heap_time[0] == best_time and heap_row[0] < best)
            ):
                best = heap_row[0]
                heap -= 1  # pop: the last entry sinks from the top
                t, r = heap_time[heap], heap_row[heap]
                at = 0
                while True:
                    child = 2 * at + 1
                    if child >= heap:
                        break
                    if child + 1 < heap and (
                        heap_time[child + 1] < heap_time[child]
                        or (
                            heap_time[child + 1] == heap_time[child]
                            and heap_row[child + 1] < heap_row[child]
                        )
                    ):
                        child += 1
                    if t < heap_time[child] or (t == heap_time[child] and r < heap_row[child]):
                        break
                    heap_time[at], heap_row[at] = heap_time[child], heap_row[child]
                    at = child
                if heap > 0:
                    heap_time[at], heap_row[at] = t, r
        row = best
        e = engine[row]
        if e == DMA:
            issued = ready[row]
            start[row] = issued
            finish = issued + lead[row]
            why, by, slowest = ready_kind[row], ready_pred[row], -1
            k = transfer[row]
            use = wide[row] if wide[row] > 0 else queues
            begin = first_queue[row] if wide[row] > 0 else turn
            each = descriptors[row] // use
            extra = descriptors[row] - each * use
            for j in range(use if each > 0 else extra):
                q = begin + j
                if q >= queues:
                    q -= queues
                t = issued + lead[row]
                waits = queue_free[q] > t
                if waits:
                    t = queue_free[q]
                count = each + 1 if j < extra else each
                paid = max(debt[q], t - tolerance) + max(count * hold[row], least[row])
                debt[q] = paid
                end = max(t + max(count * quick[row], quick_least[row]), paid)
                queue_start[k, q], queue_end[k, q] = t, end
                queue_pred[k, q] = queue_row[q] if waits else -1
                if end > finish or slowest < 0:
                    finish, slowest = end, q
                queue_free[q] = end
                queue_row[q] = row
            if wide[row] == 0:
                turn = (turn + extra) % queues
            if slowest >= 0 and queue_pred[k, slowest] >= 0:
                why, by = W_QUEUE, queue_pred[k, slowest]
            critical[k] = slowest
            release[row] = finish
            done[row] = finish + drain[row]
        else:
            t, why, by = free[e], W_ENGINE, last_row[e]
            if by < 0:
                why = W_START
            if ready[row] + lead[row] > t:
                t, why, by = ready[row] + lead[row], ready_kind[row], ready_pred[row]
            other = -1
            if e == VECTOR:
                if ports[row] & SBUF_PORT and port_free[1] > t:
                    t, other = port_free[1], 1
                if ports[row] & PSUM_PORT and port_free[3] > t:
                    t, other = port_free[3], 3
            elif e == GPSIMD and ports[row] & SBUF_PORT and port_free[0] > t:
                t, other = port_free[0], 0
            elif e == SCALAR and ports[row] & PSUM_PORT and port_free[2] > t:
                t, other = port_free[2], 2
            if other >= 0:
                why, by = W_PORT, port_row[other]
            start[row] = t
            end = t + hold[row]
            release[row] = end
            done[row] = end + drain[row]
            free[e] = end
            last_row[e] = row
            heads[e] = next_row[row]
            if e == VECTOR:
                if ports[row] & SBUF_PORT:
                    port_free[0], port_row[0] = end, row
                if ports[row] & PSUM_PORT:
                    port_free[2], port_row[2] = end, row
            elif e == GPSIMD and ports[row] & SBUF_PORT:
                port_free[1], port_row[1] = end, row
            elif e == SCALAR and ports[row] & PSUM_PORT:
                port_free[3], port_row[3] = end, row
        pred[row] = by
        kind[row] = why
        order[n] = row
        n += 1
        for k in range(succ_start[row], succ_start[row + 1]):
            s = succ_row[k]
            if succ_kind[k] == WAR:
                t, why = release[row], W_WAR
            elif succ_kind[k] == WAW:
                t, why = done[row], W_WAW
            elif succ_kind[k] == STATED:
                t, why = done[row], W_STATED
            elif engine[s] == e and e != DMA:
                t, why = start[row] + chain[row], W_CHAIN
            else:
                t, why = done[row], W_RAW
            if t > ready[s] or ready_pred[s] < 0:
                ready[s], ready_pred[s], ready_kind[s] = t, row, why
            missing[s] -= 1
            if missing[s] == 0 and engine[s] == DMA and not is_given:
                at = heap  # push
                heap += 1
                t = ready[s]
                while at > 0:
                    parent = (at - 1) // 2
                    if heap_time[parent] < t or (heap_time[parent] == t and heap_row[parent] < s):
                        break
                    heap_time[at], heap_row[at] = heap_time[parent], heap_row[parent]
                    at = parent
                heap_time[at], heap_row[at] = t, s
    progress[0], progress[1], progress[2] = n, heap, turn
