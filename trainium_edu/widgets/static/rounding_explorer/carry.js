// The gap that x lies in, and one throw of the dice in it: pure.

/** x in its gap: `p` is its share of the way up, and so the probability that it is rounded up. */
export function inGap(gap, place) {
  const p = place / gap.ticks;
  const goesUp = p > 0.5 || (p === 0.5 && gap.tie_goes_up); // to nearest, ties to even
  return { p, goesUp, value: gap.lower + (gap.upper - gap.lower) * p };
}

/** The first 16 of the bits that are dropped, which random bits are added to. */
export function leadingBits(place, { dropped_bits: count, ticks }) {
  const dropped = (BigInt(place) << BigInt(count)) / BigInt(ticks);
  return dropped.toString(2).padStart(count, "0").slice(0, 16).padEnd(16, "0");
}

/** Add 16 random bits to 16 bits: the sum's bits, and whether it carries into the kept part. */
export function addRandomBits(lead, word) {
  const sum = parseInt(lead, 2) + word;
  return { bits: bits16(sum % 65536), carries: sum >= 65536 };
}

export const bits16 = (value) => value.toString(2).padStart(16, "0");

/** Where a step of the keyboard leads from a place, or nothing. */
export function stepFrom(place, ticks, { key, shiftKey }) {
  const step = shiftKey ? 1 : ticks / 128;
  return {
    ArrowRight: place + step,
    ArrowUp: place + step,
    ArrowLeft: place - step,
    ArrowDown: place - step,
    PageUp: place + ticks / 8,
    PageDown: place - ticks / 8,
    Home: 0,
    End: ticks - 1,
  }[key];
}
