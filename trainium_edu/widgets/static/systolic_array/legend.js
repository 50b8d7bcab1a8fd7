// What the colours mean, and what the cells may show.

import { make } from "../shared/elements.js";
import { INK } from "./palette.js";

/** What the cells may show, as [value, text]. */
export function showsOf({ isLarge, keepsSums, stayName, acrossName }) {
  if (isLarge) {
    return [
      ["sums", "colour: partial sums"],
      ["works", "colour: who multiplies"],
    ];
  }
  return [
    ["all", "show: everything that fits"],
    ["sums", keepsSums ? "show: sums" : "show: partial sums"],
    ["stays", `show: ${stayName}s that stay`],
    ["across", `show: ${acrossName} values`],
  ];
}

export function legendOf({ isLarge, keepsSums, stayName, acrossName, columns, loads }) {
  const next = loads.length > 1 ? " for the next tile" : "";
  const onWay = `${stayName}, on its way in${next}`;
  const inCorner = `corner: a ${stayName} waits${next}`;
  const entries = [
    [INK.above, "positive sum"],
    [INK.below, "negative sum"],
  ];
  if (!isLarge) entries.push([INK.across, `${acrossName}, on its way right`]);
  if (keepsSums) entries.push([INK.wait, "stationary, on its way down"]);
  else if (!isLarge) entries.push([INK.wait, columns <= 6 ? onWay : inCorner]);
  const swatch = ([colour, text]) =>
    make("span", {}, make("i", { style: `background:${colour}` }), text);
  return make("div", "te-row te-array-legend", ...entries.map(swatch));
}
