// Times, bytes and shares as people read them.

/** Write a time with its unit. */
export function nsText(ns, digits = 3) {
  const size = Math.abs(ns);
  const [scale, unit] = size >= 999_500 ? [1e6, "ms"] : size >= 999.5 ? [1e3, "µs"] : [1, "ns"];
  const value = ns / scale;
  return `${Number(value.toPrecision(Math.max(digits, Math.abs(value) >= 100 ? 3 : 1)))} ${unit}`;
}

/** Write a moment with enough digits for a window of time that is `span` long. */
export function momentText(ns, span) {
  const [scale, unit] =
    ns >= 2e6 || span >= 2e6 ? [1e6, "ms"] : ns >= 999.5 || span >= 2e3 ? [1e3, "µs"] : [1, "ns"];
  return `${(ns / scale).toFixed(decimals(span / scale / 300))} ${unit}`;
}

/** How many decimals tell steps of this size apart: 0 to 6. */
export const decimals = (step) => Math.min(6, Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)));

export function bytesText(bytes) {
  if (bytes < 0) return "−" + bytesText(-bytes);
  const units = [
    [2 ** 30, "GiB"],
    [2 ** 20, "MiB"],
    [2 ** 10, "KiB"],
  ];
  const [scale, unit] = units.find(([size]) => bytes >= size) ?? [1, "B"];
  return `${scale > 1 ? Number((bytes / scale).toPrecision(4)) : bytes} ${unit}`;
}

export const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.0995 ? 1 : 0)} %`;

/** Cut a text to so many characters; what is too short to be read becomes nothing. */
export function shortened(text, most, least = 1) {
  if (text.length <= most) return text;
  return most > least ? `${text.slice(0, Math.max(1, most - 1))}…` : "";
}
