// Numbers and lists as people read them.

/** A text with minus signs in place of hyphens. */
export const minus = (text) => text.replaceAll("-", "−");

/** "1 hop", "2 hops". */
export const many = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

/** Numbers with commas; of a long list the first ones and the last. */
export const listed = (numbers, most = 6) =>
  numbers.length <= most
    ? numbers.join(", ")
    : `${numbers.slice(0, most - 1).join(", ")} … ${numbers.at(-1)}`;

/** A number in at most so many significant digits, as short as it can be written. */
export const plain = (value, digits = 3) => String(Number(value.toPrecision(digits)));

/** Three digits of a loss, however small. */
export function lossText(loss) {
  if (!Number.isFinite(loss)) return "—";
  return loss.toFixed(loss >= 100 ? 0 : loss >= 10 ? 1 : loss >= 1 ? 2 : 3);
}
