"""Compiled loops of placement and scheduling: flat arrays in, ``out`` arrays filled.

Every loop does at most `limit` rows per call and leaves where it stopped in ``progress``, so that a
long program comes back to Python between pieces.  Times are float64 nanoseconds, all multiples of
2**-20, so that sums are exact.
"""

import trainium_edu.numerics.launch  # noqa: F401  (loads Numba)

# isort: split
from numba import njit

__all__ = ["first_fit", "hazards", "reorder", "rotate", "simulate", "successors"]

RAW, WAW, WAR, STATED = 1, 2, 3, 4  # kinds of edges
# why an instruction started no earlier (waits.Wait has the words)
W_START, W_ENGINE, W_RAW, W_WAW, W_WAR, W_PORT, W_QUEUE, W_CHAIN, W_STATED, W_MADE = range(10)
TENSOR, VECTOR, SCALAR, GPSIMD, SYNC, DMA = 0, 1, 2, 3, 4, 5
SBUF_PORT, PSUM_PORT = 1, 2


@njit(cache=True)
def _sink(heap, until, low, high):
    """Sink the first of ``heap[low:high]`` to its place, so that the least `until` is first."""
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
    """Assign each instance (in order of first access) the slot of its site that died first.

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
def first_fit(low, high, boxes, align, bank, capacity, count, order):
    """Put boxes [low, high) into the lowest free bytes of the partitions while they are alive.

    The rows of ``boxes``: a box lives in rows start..end (both included) and on partitions
    [p0, p1), has an address and a size.  The first ``count[0]`` entries of ``order`` are boxes that
    have an address, by address; what is placed joins them.
    A box that fits nowhere gets -1.  ``bank`` > 0: up to that size inside one bank, longer ones
    from a bank's first byte.
    """
    start, end, p0, p1 = boxes[0], boxes[1], boxes[2], boxes[3]
    address, size = boxes[4], boxes[5]
    for i in range(low, high):
        lowest = 0
        if size[i] > 0:
            for k in range(count[0]):
                j = order[k]
                if start[j] > end[i] or end[j] < start[i] or p0[j] >= p1[i] or p1[j] <= p0[i]:
                    continue
                if address[j] >= lowest + size[i]:
                    break
                if address[j] + size[j] > lowest:
                    lowest = address[j] + size[j]
                    lowest = -(-lowest // align[i]) * align[i]
                    if bank > 0:
                        if size[i] > bank:
                            lowest = -(-lowest // bank) * bank
                        elif lowest // bank != (lowest + size[i] - 1) // bank:
                            lowest = (lowest // bank + 1) * bank
        if lowest + size[i] > capacity:
            address[i] = -1
            continue
        address[i] = lowest
        at = count[0]
        while at > 0 and address[order[at - 1]] > lowest:
            order[at] = order[at - 1]
            at -= 1
        order[at] = i
        count[0] += 1


@njit(cache=True)
def hazards(limit, row_access, row_engine, places, is_write, tracked, newest, edge_of, edge_start,
            edges, progress):  # fmt: skip
    """Find which earlier rows each row must wait for, by overlap of the bytes they touch.

    Per domain (bytes that may overlap) two linked lists hold the writes and the reads that still
    matter, from ``newest[0]`` and ``newest[1]`` on: a write drops what it covers; a read of the
    same bytes by the same in-order engine takes the place of the earlier one.  ``progress``: next
    row, edges so far.  Edges beyond the length of ``edges`` are counted and not stored.
    ``limit``: of nodes that are looked at, after which it returns at the end of a row.
    """
    domain, older, owner = places[4], places[5], places[6]
    r0, r1, b0, b1 = places[0], places[1], places[2], places[3]
    edge_pred, edge_kind = edges["row"], edges["kind"]
    row, count = progress[0], progress[1]
    while row < row_engine.size and limit > 0:
        engine = row_engine[row]
        edge_start[row] = count
        for a in range(row_access[row], row_access[row + 1]):
            d, writes, merged = domain[a], is_write[a], False
            if not tracked[d]:
                continue
            for reads in range(2):
                before, node = -1, newest[reads, d]
                while node >= 0:
                    limit -= 1
                    follow, is_covered = older[node], False
                    if (
                        r0[node] < r1[a] and r0[a] < r1[node]
                        and b0[node] < b1[a] and b0[a] < b1[node]
                    ):  # fmt: skip
                        pred = owner[node]
                        is_other = row_engine[pred] != engine or engine == DMA
                        if writes or not reads:
                            kind = WAR if reads else WAW if writes else RAW
                            if pred != row and (is_other or kind == RAW):
                                k = edge_of[pred]
                                if k < edge_start[row]:
                                    edge_of[pred] = count
                                    if count < edges.size:
                                        edge_pred[count], edge_kind[count] = pred, kind
                                    count += 1
                                elif k < edges.size and kind < edge_kind[k]:
                                    edge_kind[k] = kind
                            is_covered = (
                                writes and r0[a] <= r0[node] and r1[node] <= r1[a]
                                and b0[a] <= b0[node] and b1[node] <= b1[a]
                            )  # fmt: skip
                        elif (
                            not is_other and r0[a] == r0[node] and r1[a] == r1[node]
                            and b0[a] == b0[node] and b1[a] == b1[node]
                        ):  # fmt: skip
                            owner[node] = row
                            merged = True
                            break
                    if not is_covered:
                        before = node
                    elif before < 0:
                        newest[reads, d] = follow
                    else:
                        older[before] = follow
                    node = follow
            if not merged:
                mine = 0 if writes else 1
                older[a] = newest[mine, d]
                newest[mine, d] = a
                owner[a] = row
        limit -= 1
        row += 1
    edge_start[row] = count
    progress[0], progress[1] = row, count


@njit(cache=True)
def successors(edge_start, edges, start, followers, cursor):
    """Turn edges by follower into edges by predecessor (a counting sort)."""
    rows, edge_pred, edge_kind = edge_start.size - 1, edges["row"], edges["kind"]
    row_of, kind_of = followers["row"], followers["kind"]
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
def _earliest(e, row, lead, rows, streams):
    """Return when the next row of a stream can start, what holds it back, and by which row."""
    t, by = streams[e]["free"], streams[e]["row"]
    why = W_START if by < 0 else W_ENGINE
    if rows[row]["ready"] + lead > t:
        t, by = rows[row]["ready"] + lead, rows[row]["ready_predecessor"]
        why = rows[row]["ready_wait"]
    if rows[row]["ports"] & SBUF_PORT and e in (VECTOR, GPSIMD):
        other = streams[VECTOR + GPSIMD - e]
        if other["sbuf_free"] > t:
            t, why, by = other["sbuf_free"], W_PORT, other["sbuf_row"]
    if rows[row]["ports"] & PSUM_PORT and e in (VECTOR, SCALAR):
        other = streams[VECTOR + SCALAR - e]
        if other["psum_free"] > t:
            t, why, by = other["psum_free"], W_PORT, other["psum_row"]
    return t, why, by


@njit(cache=True)
def simulate(limit, tolerance, kinds, rows, first, followers, streams, queues, shares, heap,
             progress):  # fmt: skip
    """List scheduling: of all heads that may go, the one that can start first; ties by row.

    Where the last row has a place in ``order``, rows go in that order instead.

    An instruction holds its engine from ``start`` to ``release`` and its result is visible at
    ``done``; ``lead`` is what follows its operands and may overlap with a busy engine.  A transfer
    is split over its queues by descriptors (``wide`` of them from ``first`` on, or all in turn).  A
    queue is at its sustained pace (``hold`` per descriptor, at least ``least`` for its share)
    unless it is ahead of that by less than `tolerance`: then it is ``quick``.

    The tables and their contents are those of ``scheduler``, `first` and `followers` those of
    ``hazards``, `heap` transfers that may go.  `progress`: rows done, heap size, next queue, error.
    """
    lead, hold, drain, chain = kinds["lead"], kinds["hold"], kinds["result"], kinds["chain"]
    quick, least, quick_least = kinds["quick"], kinds["fixed"], kinds["quick_fixed"]
    making, generator = kinds["making"], kinds["generator"]
    first_queue, wide, descriptors = kinds["first_queue"], kinds["wide"], kinds["descriptors"]
    ready, start, release, done = rows["ready"], rows["start"], rows["release"], rows["done"]
    kind_of, transfer, next_row = rows["kind"], rows["transfer"], rows["next_row"]
    missing, order, critical = rows["missing"], rows["order"], rows["critical"]
    ready_pred, ready_wait = rows["ready_predecessor"], rows["ready_wait"]
    pred, wait, engine, ports = rows["predecessor"], rows["wait"], rows["engine"], rows["ports"]
    share_start, share_end, share_pred = shares["start"], shares["end"], shares["predecessor"]
    follower, edge = followers["row"], followers["kind"]
    head, free, last_row = streams["head"], streams["free"], streams["row"]
    debt, queue_free, queue_row = queues["debt"], queues["free"], queues["row"]
    n, waiting, turn = progress[0], progress[1], progress[2]
    is_given = rows.size > n and order[rows.size - 1] >= 0
    stop = min(rows.size, n + limit)
    while n < stop:
        row, soonest, why, by = -1, 0.0, W_START, -1
        if is_given:
            row = order[n]
            e = engine[row]
            if missing[row] > 0 or (e != DMA and head[e] != row):
                progress[3] = n + 1
                break
            if e != DMA:
                soonest, why, by = _earliest(e, row, lead[kind_of[row]], rows, streams)
        else:
            for e in range(DMA):
                h = head[e]
                if h < 0 or missing[h] > 0:
                    continue
                t, what, other = _earliest(e, h, lead[kind_of[h]], rows, streams)
                if row < 0 or t < soonest or (t == soonest and h < row):
                    row, soonest, why, by = h, t, what, other
            if waiting > 0 and (
                row < 0 or ready[heap[0]] < soonest or (ready[heap[0]] == soonest and heap[0] < row)
            ):
                row = heap[0]
                waiting -= 1
                heap[0] = heap[waiting]
                _sink(heap, ready, 0, waiting)
        e, kind = engine[row], kind_of[row]
        if e == DMA:
            issued = ready[row]
            if making[kind] > 0:
                maker = streams[generator[kind]]
                if maker["made"] > issued:
                    issued, ready_wait[row], ready_pred[row] = (
                        maker["made"],
                        W_MADE,
                        maker["made_row"],
                    )
                streams["made"][generator[kind]] = issued + making[kind]
                streams["made_row"][generator[kind]] = row
            start[row] = issued
            finish = issued + lead[kind]
            why, by, slowest = ready_wait[row], ready_pred[row], -1
            k = transfer[row]
            use = wide[kind] if wide[kind] > 0 else queues.size
            begin = first_queue[kind] if wide[kind] > 0 else turn
            each = descriptors[kind] // use
            extra = descriptors[kind] - each * use
            for j in range(use if each > 0 else extra):
                q = begin + j
                if q >= queues.size:
                    q -= queues.size
                waits = queue_free[q] > issued + lead[kind]
                t = queue_free[q] if waits else issued + lead[kind]
                count = each + 1 if j < extra else each
                paid = max(debt[q], t - tolerance) + max(count * hold[kind], least[kind])
                debt[q] = paid
                end = max(t + max(count * quick[kind], quick_least[kind]), paid)
                share_start[k, q], share_end[k, q] = t, end
                share_pred[k, q] = queue_row[q] if waits else -1
                if end > finish or slowest < 0:
                    finish, slowest = end, q
                queue_free[q] = end
                queue_row[q] = row
            if wide[kind] == 0:
                turn = (turn + extra) % queues.size
            if slowest >= 0 and share_pred[k, slowest] >= 0:
                why, by = W_QUEUE, share_pred[k, slowest]
            critical[row] = slowest
            release[row] = finish
            done[row] = finish + drain[kind]
        else:
            end = soonest + hold[kind]
            start[row], release[row], done[row] = soonest, end, end + drain[kind]
            free[e], last_row[e], head[e] = end, row, next_row[row]
            if ports[row] & SBUF_PORT:
                streams["sbuf_free"][e], streams["sbuf_row"][e] = end, row
            if ports[row] & PSUM_PORT:
                streams["psum_free"][e], streams["psum_row"][e] = end, row
        pred[row], wait[row], order[n] = by, why, row
        n += 1
        for k in range(first[row], first[row + 1]):
            s = follower[k]
            if edge[k] == WAR:
                t, why = release[row], W_WAR
            elif edge[k] == WAW:
                t, why = done[row], W_WAW
            elif edge[k] == STATED:
                t, why = done[row], W_STATED
            elif engine[s] == e and e != DMA:
                t, why = start[row] + chain[kind], W_CHAIN
            else:
                t, why = done[row], W_RAW
            if t > ready[s] or ready_pred[s] < 0:
                ready[s], ready_pred[s], ready_wait[s] = t, row, why
            missing[s] -= 1
            if missing[s] == 0 and engine[s] == DMA and not is_given:
                at = waiting  # push
                waiting += 1
                while at > 0:
                    above = heap[(at - 1) // 2]
                    if ready[above] < ready[s] or (ready[above] == ready[s] and above < s):
                        break
                    heap[at], at = above, (at - 1) // 2
                heap[at] = s
    progress[0], progress[1], progress[2] = n, waiting, turn


@njit(cache=True)
def reorder(limit, window, rows, first, followers, row_access, tile, tiles, memories, streams,
            waiting, progress):  # fmt: skip
    """Order rows by list scheduling: of those ready within `window`, the first to start goes first.

    Every engine and the queues together take one instruction at a time; ties go by row.  ``left``:
    accesses still to come of each tile, ``alive``: bytes of each memory that are taken, which stay
    within ``room`` except for the oldest row that is left.  ``waiting[e, :count[e]]``: rows of
    engine e in the window whose operands are there.  ``progress``: rows done, the oldest row left,
    the end of the window.
    """
    engine, lead, hold, result = rows["engine"], rows["lead"], rows["hold"], rows["result"]
    ready, missing, order = rows["ready"], rows["missing"], rows["order"]
    memory, size, touches, due = tiles["memory"], tiles["bytes"], tiles["touches"], tiles["left"]
    alive, room = memories["alive"], memories["room"]
    free, counts = streams["free"], streams["count"]
    done, oldest, end = progress[0], progress[1], progress[2]
    stop = min(engine.size, done + limit)
    while done < stop:
        while end < min(engine.size, oldest + window):
            if missing[end] == 0:
                e = engine[end]
                waiting[e, counts[e]] = end
                counts[e] += 1
            end += 1
        best, where, soonest = -1, -1, 0.0
        for e in range(counts.size):
            for k in range(counts[e]):
                row = waiting[e, k]
                t = max(free[e], ready[row] + lead[row])
                if best >= 0 and (t > soonest or (t == soonest and row > best)):
                    continue
                if row != oldest:
                    fits = True
                    for m in range(1, 3):
                        more = 0
                        for a in range(row_access[row], row_access[row + 1]):
                            i = tile[a]
                            if memory[i] == m and due[i] > 0 and due[i] == touches[i]:
                                more += size[i]
                        fits = fits and (more == 0 or alive[m] + more <= room[m])
                    if not fits:
                        continue
                best, where, soonest = row, k, t
        e = engine[best]
        counts[e] -= 1
        waiting[e, where] = waiting[e, counts[e]]
        for a in range(row_access[best], row_access[best + 1]):
            i = tile[a]
            if due[i] == touches[i]:
                alive[memory[i]] += size[i]
            due[i] -= 1
            if due[i] == 0:
                alive[memory[i]] -= size[i]
        free[e] = soonest + hold[best]
        there = free[e] + result[best]
        for k in range(first[best], first[best + 1]):
            row = followers[k]
            ready[row] = max(ready[row], there)
            missing[row] -= 1
            if missing[row] == 0 and row < end:
                other = engine[row]
                waiting[other, counts[other]] = row
                counts[other] += 1
        order[done] = best
        missing[best] = -1
        while oldest < engine.size and missing[oldest] < 0:
            oldest += 1
        done += 1
    progress[0], progress[1], progress[2] = done, oldest, end
