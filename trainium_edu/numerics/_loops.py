"""Compiled loops of the `numerics` floor: arrays in, ``out`` filled, nothing checked.

Read ``rounding_scalar.py`` first: it holds the same steps, under the same names, for one number.
Numba widens ``uint32 + uint32`` to 64 bits; the ``U32(...)`` around every step brings it back, so
that sixteen numbers fit into one vector register.
"""

import trainium_edu.numerics.launch  # noqa: F401  (loads Numba)

# isort: split
import numpy as np
from numba import njit, prange, types
from numba.extending import intrinsic, overload

U32 = np.uint32
U64 = np.uint64
LOW = U64(0xFFFFFFFF)
TILE_BLOCKS = 16  # Philox blocks whose words are laid out together, and
TILE = 8 * TILE_BLOCKS  # the elements they serve with 16 bits each
DRAW = 2 * TILE  # two tiles are drawn at a time


def use_wide_registers():
    """Use 512-bit vectors in this loop, where LLVM prefers 256; no result depends on it."""


@intrinsic
def _set_vector_width(typing_context):
    def codegen(context, builder, signature, arguments):
        # llvmlite checks names against a list that lacks this one; a plain set insertion does not
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.none(), codegen


@overload(use_wide_registers, inline="always")  # into the loop itself, whose width it is
def _use_wide_registers():
    def body():
        _set_vector_width()

    return body


# --- Philox4x32-10: random bits ---


@njit(cache=True, inline="always")
def _philox_two_tiles(first_block, seed, step, words):
    """Draw 32 blocks into ``words`` (uint32[2, 4, 16] laid flat): tile, word of block, block.

    The two tiles advance together, so that the multiplier always has something to do.  Each word
    sits in a 64-bit lane whose upper half may hold rubbish until the mask at the end.
    """
    other = first_block + U64(TILE_BLOCKS)
    low_a, high_a = U32(first_block & LOW), first_block >> U64(32)
    low_b, high_b = U32(other & LOW), other >> U64(32)
    for i in range(TILE_BLOCKS):  # 16 divides 2^32: the upper word stays within a tile
        a0, a1, a2, a3 = U64(U32(low_a + U32(i))), high_a, step & LOW, step >> U64(32)
        b0, b1, b2, b3 = U64(U32(low_b + U32(i))), high_b, step & LOW, step >> U64(32)
        key0, key1 = seed & LOW, seed >> U64(32)
        for _ in range(10):
            p, q = U64(0xD2511F53) * (a0 & LOW), U64(0xCD9E8D57) * (a2 & LOW)
            r, s = U64(0xD2511F53) * (b0 & LOW), U64(0xCD9E8D57) * (b2 & LOW)
            a0, a1, a2, a3 = (q >> U64(32)) ^ a1 ^ key0, q, (p >> U64(32)) ^ a3 ^ key1, p
            b0, b1, b2, b3 = (s >> U64(32)) ^ b1 ^ key0, s, (r >> U64(32)) ^ b3 ^ key1, r
            key0, key1 = key0 + U64(0x9E3779B9), key1 + U64(0xBB67AE85)
        words[i], words[i + 16] = U32(a0 & LOW), U32(a1 & LOW)
        words[i + 32], words[i + 48] = U32(a2 & LOW), U32(a3 & LOW)
        words[i + 64], words[i + 80] = U32(b0 & LOW), U32(b1 & LOW)
        words[i + 96], words[i + 112] = U32(b2 & LOW), U32(b3 & LOW)


@njit(cache=True)
def philox_tiles(first_tile, seed, step, out):
    """Fill ``out`` (uint32[n, 128]) with 2 n tiles of Philox words."""
    use_wide_registers()
    for t in range(out.shape[0]):
        _philox_two_tiles((first_tile + U64(2 * t)) * U64(TILE_BLOCKS), seed, step, out[t])


# --- BF16 and TF32, the upper bits of the word ---


@njit(cache=True)
def nearest_upper(words, drop, place, out):
    """Round FP32 words to the nearest code without their lowest bits, moved up by `place`."""
    use_wide_registers()
    below_half = U32(U32(U32(1) << U32(U32(drop - U32(1)) & U32(31))) - U32(1))
    for i in range(words.size):
        word = U32(words[i])
        odd = U32(U32(word >> U32(drop & U32(31))) & U32(1))
        rounded = U32(U32(word + below_half) + odd)
        value = word.view(np.float32)
        rounded = U32(word | U32(0x00400000)) if value != value else rounded  # NaN: make it quiet
        out[i] = U32(U32(rounded >> U32(drop & U32(31))) << U32(place & U32(31)))


@njit(cache=True)
def stochastic_bf16(words, first_tile, seed, step, drawn, random_bits, place, out):
    """Round pairs of tiles of FP32 words to BF16 codes by random words of 16 bits drawn on the way.

    Codes are moved up by `place` bits.  ``random_bits`` is ``drawn`` (uint32[128], scratch) seen as
    uint16[256].
    """
    use_wide_registers()
    for t in range(words.size // DRAW):
        _philox_two_tiles((first_tile + U64(2 * t)) * U64(TILE_BLOCKS), seed, step, drawn)
        tiles, codes = words[t * DRAW : (t + 1) * DRAW], out[t * DRAW : (t + 1) * DRAW]
        for i in range(DRAW):
            word = U32(tiles[i])
            rounded = U32(word + U32(random_bits[i]))
            value = word.view(np.float32)
            rounded = U32(word | U32(0x00400000)) if value != value else rounded
            codes[i] = U32(U32(rounded >> U32(16)) << U32(place & U32(31)))


@njit(cache=True, inline="always")
def _bf16_rows_tiles(words, first, last, tosses, seed, step, copies, out):
    """Round tiles `first` to `last` of every row by the same random words, drawn once."""
    drawn = np.empty(DRAW // 2, np.uint32)
    random_bits = drawn.view(np.uint16)
    rows, columns = words.shape
    for t in range(first, last):
        if tosses:
            _philox_two_tiles(U64(2 * t) * U64(TILE_BLOCKS), seed, step, drawn)
        begin, end = t * DRAW, min((t + 1) * DRAW, columns)
        for row in range(rows):
            codes = out[row, begin:end]
            if copies:
                tile = words[row, begin:end]
                for i in range(end - begin):
                    codes[i] = tile[i]
            if tosses:
                for i in range(end - begin):
                    word = U32(codes[i])
                    rounded = U32(word + U32(random_bits[i]))
                    value = word.view(np.float32)
                    rounded = U32(word | U32(0x00400000)) if value != value else rounded
                    codes[i] = U32(rounded & U32(0xFFFF0000))
            else:
                for i in range(end - begin):
                    word = U32(codes[i])
                    odd = U32(U32(word >> U32(16)) & U32(1))
                    rounded = U32(U32(word + U32(0x7FFF)) + odd)
                    value = word.view(np.float32)
                    rounded = U32(word | U32(0x00400000)) if value != value else rounded
                    codes[i] = U32(rounded & U32(0xFFFF0000))


@njit(cache=True, nogil=True)
def bf16_rows(words, first, last, width, tosses, seed, step, copies, out):
    """Round tiles of uint32[rows, columns] to BF16 in FP32's place: to nearest, or by tosses.

    Each row draws the same random bits.  Without `copies`, ``out`` is ``words``, under one name:
    arrays that may overlap would be worked on number by number.
    """
    use_wide_registers()
    _bf16_rows_tiles(words, first, last, tosses, seed, step, copies, out)


@njit(cache=True, parallel=True)
def bf16_rows_parallel(words, first, last, width, tosses, seed, step, copies, out):
    """Round as `bf16_rows` does, on several cores, `width` tiles at a time."""
    use_wide_registers()
    for block in prange((last - first + width - 1) // width):
        begin = first + block * width
        end = min(begin + width, last)
        _bf16_rows_tiles(words, begin, end, tosses, seed, step, copies, out)


# --- Any format: align, round, rebias, then the special codes ---


@njit(cache=True, inline="always")
def _align(magnitude, mantissa_drop, min_field):
    """Return (significand, how many of its low bits fall off, binades below the normal ones)."""
    field = U32(magnitude >> U32(23))
    seen = max(field, U32(1))
    below = U32(max(min_field, seen) - seen)
    hidden = U32(0x800000) if field > U32(0) else U32(0)
    subnormal = U32(U32(magnitude & U32(0x7FFFFF)) | hidden)
    significand = magnitude if below == U32(0) else subnormal
    return significand, U32(mantissa_drop + below), below


@njit(cache=True, inline="always")
def _round_nearest(significand, drop):
    """Drop bits, to nearest, ties to even."""
    drop = min(drop, U32(26))  # 24 bits and their half are gone by then
    half = U32(U32(U32(1) << U32(drop & U32(31))) >> U32(1))
    odd = U32(U32(significand >> U32(drop & U32(31))) & min(half, U32(1)))
    rounded = U32(U32(significand + U32(max(half, U32(1)) - U32(1))) + odd)
    return U32(rounded >> U32(drop & U32(31)))


@njit(cache=True, inline="always")
def _round_stochastically(significand, drop, random_word, n_random_bits):
    """Drop bits, up if the upper ``n_random_bits`` of them plus the random word carry over.

    The random word begins at the highest bit; as many of its bits are used as are weighed, 0 to 31.
    With none of them the number is rounded toward zero.
    """
    weighed = min(drop, n_random_bits)
    unseen = min(U32(drop - weighed), U32(31))
    random_word = U32(U32(random_word >> U32(1)) >> U32(U32(U32(31) - weighed) & U32(31)))
    rounded = U32(U32(significand >> U32(unseen & U32(31))) + random_word)
    return U32(rounded >> U32(weighed & U32(31)))


@njit(cache=True, inline="always")
def _finish(code, below, magnitude, sign, layout):
    """Rebias a rounded significand, then put in overflow, infinity, NaN and sign."""
    drop, _, rebias, max_code, overflow_code, infinity_code, nan_code, payload, sign_drop, mask = (
        layout
    )
    code = U32(code - (rebias if below == U32(0) else U32(0)))
    code = overflow_code if code > max_code else code
    code = infinity_code if magnitude == U32(0x7F800000) else code
    nan = U32(nan_code | U32(U32(magnitude >> U32(drop & U32(31))) & payload))
    is_nan = U32(U32(0) - U32(magnitude > U32(0x7F800000)))  # all ones or zero; an `if` here would
    code = U32(U32(code & U32(~is_nan)) | U32(nan & is_nan))  # loads for some numbers only
    return U32(code | U32(U32(sign >> U32(sign_drop & U32(31))) & mask))


@njit(cache=True, inline="always")
def _numbers_of(layout):
    """Return a layout (uint32[10]) as numbers, which the compiler then keeps in registers."""
    return (layout[0], layout[1], layout[2], layout[3], layout[4],
            layout[5], layout[6], layout[7], layout[8], layout[9])  # fmt: skip


@njit(cache=True)
def nearest_any(words, layout, out):
    """Round FP32 words to the nearest code, ties to even."""
    use_wide_registers()
    layout = _numbers_of(layout)
    for i in range(words.size):
        word = U32(words[i])
        sign, magnitude = U32(word & U32(0x80000000)), U32(word & U32(0x7FFFFFFF))
        significand, drop, below = _align(magnitude, layout[0], layout[1])
        rounded = _round_nearest(significand, drop)
        out[i] = _finish(rounded, below, magnitude, sign, layout)


@njit(cache=True)
def stochastic_any(words, random_bits, lift, n_random_bits, layout, out):
    """Round FP32 words up or down, each by its random bits, moved up by `lift` bits."""
    use_wide_registers()
    layout = _numbers_of(layout)
    for i in range(words.size):
        word = U32(words[i])
        sign, magnitude = U32(word & U32(0x80000000)), U32(word & U32(0x7FFFFFFF))
        significand, drop, below = _align(magnitude, layout[0], layout[1])
        random_word = U32(U32(random_bits[i]) << U32(lift & U32(31)))
        rounded = _round_stochastically(significand, drop, random_word, n_random_bits)
        out[i] = _finish(rounded, below, magnitude, sign, layout)


# --- Any format, from 64 bits: what FP32 cannot hold, and integers ---


@njit(cache=True)
def round_float64(words, to_nearest, random_bits, lift, n_random_bits, layout, is_integer, out):
    """Round FP64 words (int64) to codes, to nearest or by random bits (none: toward zero).

    The steps of ``rounding_scalar.py`` under the same names; ``layout`` is int64[10], and with
    ``is_integer`` the codes are integers from ``layout[4]`` (lowest) to ``layout[3]`` instead.
    """
    mantissa_drop, min_field, rebias, max_code, overflow_code = (
        layout[0], layout[1], layout[2], layout[3], layout[4])  # fmt: skip
    infinity_code, nan_code, payload, mask, all_bits = (
        layout[5], layout[6], layout[7], layout[8], layout[9])  # fmt: skip
    unit, infinity = np.int64(1), np.int64(0x7FF0000000000000)
    for i in range(words.size):
        word = words[i]
        magnitude = word & np.int64(0x7FFFFFFFFFFFFFFF)
        field = magnitude >> 52
        seen = max(field, unit)
        below = max(min_field, seen) - seen
        significand = magnitude
        if below > 0:
            significand = (magnitude & np.int64(0xFFFFFFFFFFFFF)) | (min(field, unit) << 52)
        drop = mantissa_drop + below
        if to_nearest:
            drop = min(drop, np.int64(54))  # 53 bits and their half are gone by then
            half = (unit << drop) >> 1
            odd = (significand >> drop) & 1
            rounded = (significand + half - 1 + odd) >> drop
        else:
            weighed = min(drop, np.int64(n_random_bits))
            unseen = min(drop - weighed, np.int64(63))
            random_word = (np.int64(random_bits[i]) << np.int64(lift)) >> (np.int64(32) - weighed)
            rounded = ((significand >> unseen) + random_word) >> weighed
        code = rounded - rebias if below == 0 else rounded
        if is_integer:
            code = -code if word < 0 else code
            out[i] = min(max(code, overflow_code), max_code) & all_bits
            continue
        code = overflow_code if code > max_code else code
        code = infinity_code if magnitude == infinity else code
        if magnitude > infinity:
            code = nan_code | ((magnitude >> mantissa_drop) & payload)
        out[i] = code | mask if word < 0 else code


# --- Running sums ---


@njit(cache=True, inline="always")
def _word_of(code, layout):
    """Return the FP32 word of a normal, infinite or NaN code (a subnormal one is a product)."""
    drop, _, rebias, max_code, _, infinity_code, nan_code, payload, sign_drop, mask = layout
    magnitude = U32(code & U32(~mask))
    word = U32(U32(magnitude + rebias) << U32(drop & U32(31)))
    is_infinity = magnitude == infinity_code and (infinity_code != nan_code or payload == U32(0))
    special = U32(0x7F800000) if is_infinity else U32(0x7FC00000)
    word = special if magnitude > max_code else word
    return U32(word | U32(U32(code & mask) << U32(sign_drop & U32(31))))


@njit(cache=True, inline="always")
def _rounded_word(word, to_nearest, random_word, n_random_bits, layout, least_normal, quantum):
    """Return the FP32 word of what an FP32 word becomes in a format."""
    sign, magnitude = U32(word & U32(0x80000000)), U32(word & U32(0x7FFFFFFF))
    significand, drop, below = _align(magnitude, layout[0], layout[1])
    if to_nearest:
        rounded = _round_nearest(significand, drop)
    else:
        rounded = _round_stochastically(significand, drop, random_word, n_random_bits)
    code = _finish(rounded, below, magnitude, sign, layout)
    size = U32(code & U32(~layout[9]))
    subnormal = U32(np.float32(np.float32(size) * quantum).view(U32) | sign)
    is_subnormal = size < least_normal and size <= layout[3]
    return subnormal if is_subnormal else _word_of(code, layout)


@njit(cache=True)
def running_sum(
    state, state_words, terms, to_nearest, seed, first_step, per_draw, n_random_bits, drawn,
    random_bits, layout, least_normal, quantum, every, out,
):  # fmt: skip
    """Add ``terms`` (float32[n, replicas or 1]) one by one to ``state`` (float32[replicas]).

    Rounds to nearest, or by random bits (none: toward zero) of (seed, first_step + i, replica);
    ``random_bits`` is the scratch ``drawn`` (uint32[128]) seen as ``per_draw`` numbers of 16 or 32
    bits.
    ``state_words`` is ``state`` seen as uint32.  Every ``every``-th state goes to a row of ``out``.
    """
    layout = _numbers_of(layout)
    shared = terms.shape[1] == 1
    lift = U32(U32(32) - U32(4096) // U32(per_draw))
    for i in range(terms.shape[0]):
        for r in range(state.size):
            if n_random_bits > 0 and r % per_draw == 0:
                first_block = U64(2 * TILE_BLOCKS * (r // per_draw))
                _philox_two_tiles(first_block, seed, first_step + U64(i), drawn)
            state[r] = state[r] + terms[i, 0 if shared else r]
            random_word = U32(U32(random_bits[r % per_draw]) << U32(lift & U32(31)))
            state_words[r] = _rounded_word(
                U32(state_words[r]), to_nearest, random_word, n_random_bits, layout, least_normal,
                quantum,
            )  # fmt: skip
        if (i + 1) % every == 0:
            for r in range(state.size):
                out[i // every, r] = state[r]


# --- Sums in a stated order ---

BLOCK = 1024  #: elements that are summed at a time: they stay in the first cache


@njit(cache=True, inline="always")
def _round_in_place(values, mode, drawn_bits, layout, least_normal, quantum):
    """Round float32[n] to a format; modes as in `sum_blocks`."""
    words = values.view(np.uint32)
    if mode == 1:
        for i in range(words.size):
            word = U32(words[i])
            odd = U32(U32(word >> U32(16)) & U32(1))
            rounded = U32(U32(word + U32(0x7FFF)) + odd)
            rounded = U32(word | U32(0x00400000)) if values[i] != values[i] else rounded
            words[i] = U32(rounded & U32(0xFFFF0000))
    elif mode == 2:
        for i in range(words.size):
            word = U32(words[i])
            rounded = U32(word + U32(drawn_bits[i]))
            rounded = U32(word | U32(0x00400000)) if values[i] != values[i] else rounded
            words[i] = U32(rounded & U32(0xFFFF0000))
    elif mode > 2:
        for i in range(words.size):
            random_word = U32(U32(drawn_bits[i]) << U32(16))
            words[i] = _rounded_word(
                U32(words[i]), mode == 3, random_word, U32(16), layout, least_normal, quantum
            )


@njit(cache=True, inline="always")
def _sum_block(
    rows, first, left, right, slot, stream, slots, block, mode, seed, layout, least_normal,
    quantum, out,
):  # fmt: skip
    """Carry out the additions of one item on one block of its columns."""
    item, begin, end, element = block
    ranks, n = rows.shape[0], end - begin
    running = np.empty((slots, BLOCK), np.float32)
    drawn = np.empty((BLOCK // DRAW + 1) * DRAW // 2, np.uint32)
    tile, skip = element // TILE, element % TILE
    drawn_bits = drawn.view(np.uint16)[skip:]
    layout = _numbers_of(layout)
    into = 0
    for step in range(first[item], first[item + 1]):
        into = slot[step]
        total = running[into, :n]
        one, two = left[step], right[step]
        a = rows[one, begin:end] if one < ranks else running[one - ranks, :n]
        b = rows[two, begin:end] if two < ranks else running[two - ranks, :n]
        if one == ranks + into:  # one array under two names would be added number by number
            for i in range(n):
                total[i] = total[i] + b[i]
        elif two == ranks + into:
            for i in range(n):
                total[i] = a[i] + total[i]
        else:
            for i in range(n):
                total[i] = a[i] + b[i]
        if mode == 2 or mode == 4:
            for pair in range((skip + n + DRAW - 1) // DRAW):
                words = drawn[pair * (DRAW // 2) : (pair + 1) * (DRAW // 2)]
                _philox_two_tiles(
                    U64(tile + 2 * pair) * U64(TILE_BLOCKS), seed, stream[step], words
                )
        _round_in_place(total, mode, drawn_bits, layout, least_normal, quantum)
    total, given = out[begin:end], running[into, :n]
    for i in range(n):
        total[i] = given[i]


@njit(cache=True)
def sum_blocks(
    rows, first, left, right, slot, stream, slots, blocks, mode, seed, layout, least_normal,
    quantum, out,
):  # fmt: skip
    """Add rows of float32[ranks, columns] in a stated order, block after block.

    A block is (item, first column, end, number of its first element for random bits).  Item i is
    summed by the additions ``first[i]`` to ``first[i + 1]``: into ``slot`` goes ``left + right``,
    each a row, or from ``ranks`` on a slot; the last gives the sum.  After each addition mode 0
    does not round, 1 rounds to BF16 and 3 to a format, 2 and 4 so by random bits of (seed, stream).
    """
    use_wide_registers()
    for i in range(blocks.shape[0]):
        block = (blocks[i, 0], blocks[i, 1], blocks[i, 2], blocks[i, 3])
        _sum_block(rows, first, left, right, slot, stream, slots, block, mode, seed, layout,
                   least_normal, quantum, out)  # fmt: skip


@njit(cache=True, parallel=True)
def sum_blocks_parallel(
    rows, first, left, right, slot, stream, slots, blocks, mode, seed, layout, least_normal,
    quantum, out,
):  # fmt: skip
    """Add as `sum_blocks` does, blocks side by side on several cores."""
    use_wide_registers()
    for i in prange(blocks.shape[0]):
        block = (blocks[i, 0], blocks[i, 1], blocks[i, 2], blocks[i, 3])
        _sum_block(rows, first, left, right, slot, stream, slots, block, mode, seed, layout,
                   least_normal, quantum, out)  # fmt: skip


# --- The benchmark's ruler ---


@njit(cache=True)
def truncating_copy(words, out):
    """Copy the upper half of FP32 words: as fast as any cast to 16 bits can be."""
    for i in range(words.size):
        out[i] = U32(words[i]) >> U32(16)
