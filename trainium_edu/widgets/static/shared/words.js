// Numbers, times, sizes and lists as people read them.

/** A text with minus signs in place of hyphens. */
export const minus = (text) => text.replaceAll("-", "−");

/** "1 hop", "2 hops". */
export const many = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

/** Numbers with commas; of a long list the first ones and the last. */
export const listed = (numbers, most = 6) =>
  numbers.length <= most
    ? numbers.join(", ")
    : `${numbers.slice(0, most - 1).join(", ")} … ${numbers.at(-1)}`;

/** A chip, with the ranks on it where there are several. */
export function chipName(chip, ranks) {
  const own = Array.from({ length: ranks }, (_, k) => chip * ranks + k);
  return ranks === 1 ? `chip ${chip}` : `chip ${chip}, ranks ${listed(own)}`;
}

/** A number in at most so many significant digits, as short as it can be written. */
export const plain = (value, digits = 3) => String(Number(value.toPrecision(digits)));

/** Three digits of a loss, however small. */
export function lossText(loss) {
  if (!Number.isFinite(loss)) return "—";
  return loss.toFixed(loss >= 100 ? 0 : loss >= 10 ? 1 : loss >= 1 ? 2 : 3);
}

const TIMES = { s: 1e9, ms: 1e6, µs: 1e3, ns: 1 };

/** Write a time with its unit. */
export function nsText(ns, digits = 3) {
  const unit = Object.keys(TIMES).find((name) => Math.abs(ns) >= 0.9995 * TIMES[name]) ?? "ns";
  const value = ns / TIMES[unit];
  return `${Number(value.toPrecision(Math.max(digits, Math.abs(value) >= 100 ? 3 : 1)))} ${unit}`;
}

/** Write a moment with enough digits for a window of time that is `span` long. */
export function momentText(ns, span) {
  const [scale, unit] =
    ns >= 2e6 || span >= 2e6 ? [1e6, "ms"] : ns >= 999.5 || span >= 2e3 ? [1e3, "µs"] : [1, "ns"];
  return `${(ns / scale).toFixed(decimals(span / scale / 300))} ${unit}`;
}

/** The least of 1, 2 and 5 times a power of ten that is not below a step. */
export function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 5, 10].find((m) => m * power >= least * 0.999);
}

/** How many decimals tell steps of this size apart: 0 to 6. */
export const decimals = (step) => Math.min(6, Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)));

export function bytesText(bytes) {
  if (bytes < 0) return "−" + bytesText(-bytes);
  const units = Object.entries({ GiB: 2 ** 30, MiB: 2 ** 20, KiB: 2 ** 10 });
  const [unit, scale] = units.find(([, size]) => bytes >= size) ?? ["B", 1];
  return `${Number((bytes / scale).toPrecision(bytes < 1000 * scale ? 3 : 4))} ${unit}`;
}

export const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.0995 ? 1 : 0)} %`;

/** Cut a text to so many characters; what is too short to be read becomes nothing. */
export function shortened(text, most, least = 1) {
  if (text.length <= most) return text;
  return most > least ? `${text.slice(0, Math.max(1, most - 1))}…` : "";
}
