// What the colours mean, and what the cells may show.

import { make, swatch } from "../shared/elements.js";
import { INK } from "./palette.js";

/** What the cells may show, as [value, text]. */
export function showsOf({ isLarge, keepsSums, stayName, acrossName }) {
  const large = { sums: "colour: partial sums", works: "colour: who multiplies" };
  const sums = keepsSums ? "show: sums" : "show: partial sums";
  const [stays, across] = [`show: ${stayName}s that stay`, `show: ${acrossName} values`];
  return Object.entries(
    isLarge ? large : { all: "show: everything that fits", sums, stays, across },
  );
}

export function legendOf({ isLarge, keepsSums, stayName, acrossName, columns, loads }) {
  const next = loads.length > 1 ? " for the next tile" : "";
  const onWay = `${stayName}, on its way in${next}`;
  const inCorner = `corner: a ${stayName} waits${next}`;
  const entries = { [INK.above]: "positive sum", [INK.below]: "negative sum" };
  if (!isLarge) entries[INK.across] = `${acrossName}, on its way right`;
  if (keepsSums) entries[INK.wait] = "stationary, on its way down";
  else if (!isLarge) entries[INK.wait] = columns <= 6 ? onWay : inCorner;
  const entry = ([colour, text]) => make("span", {}, swatch(colour), text);
  return make("div", "te-row te-array-legend", ...Object.entries(entries).map(entry));
}
