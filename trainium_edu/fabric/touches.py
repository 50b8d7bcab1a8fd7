"""How often each move of a schedule touches memory, move by move.

Plain Python: fast enough for a schedule that fits on a screen, so that a player opens without
loading a compiler.  ``_loops.py`` compiles this same function for long schedules.
"""

__all__ = ["count_touches"]


def count_touches(step, src, dst, item, into, op, fused, pending, arrived, reads, writes, settles):
    """Count memory touches per move; ``pending`` is what arrived and was not yet read."""
    for m in range(step.size):
        s, i, d, j = src[m], item[m], dst[m], into[m]
        if op[m] == 3:  # settle: read the own part and all arrivals, write the sum
            reads[m] = 1 + pending[s, i]
            writes[m] = 1
            pending[s, i] = 0
        elif op[m] == 0:  # copy: a finished value; settle it first if it is not yet written
            if pending[s, i] > 0:
                settles[m] = pending[s, i] + 2
                pending[s, i] = 0
            if not fused[m]:
                reads[m] = 1
            if s != d or i != j:
                writes[m] = 1
                pending[d, j] = 0
        elif op[m] == 2:  # move: the sum goes straight to the receiver
            reads[m] = 1 + pending[s, i]
            writes[m] = 1
            pending[s, i] = 0
            pending[d, j] = 0
        elif fused[m]:  # an operand on the same chip, read when the sum is next sent or settled
            pending[d, j] += 1
        else:  # a partial: own part and arrivals are added in passing
            reads[m] = 1 + pending[s, i]
            pending[s, i] = 0
            writes[m] = 1
            if pending[d, j] == 0 or arrived[d, j] == step[m]:
                pending[d, j] += 1
            arrived[d, j] = step[m]
