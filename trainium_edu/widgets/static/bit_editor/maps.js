// Where a number stands: in the whole range of its format, and among its neighbours.

import { shape } from "../shared/elements.js";
import { line, path, rect, words } from "../shared/svg.js";
import { placeLabels } from "./labels.js";

const picture = (width, height, caption) => {
  const svg = shape("svg", { width, height, role: "img", "aria-label": caption });
  svg.append(words(0, 11, caption, "te-be-small"));
  return svg;
};

/** The whole range, with marks of the format and the number among them. */
export function drawRange({ ticks, marks, here, zone, caption }, width) {
  const x = (share) => 12 + share * (width - 24);
  const svg = picture(width, 62, caption);
  if (zone) svg.append(rect(x(zone[0]), 22, x(zone[1]) - x(zone[0]), 16, "te-be-zone"));
  svg.append(line(x(0), 38, x(1), 38, "te-be-base"));
  svg.append(path(ticks.map((t) => `M${x(t).toFixed(1)},30V38`).join(""), "te-be-ticks"));
  const texts = marks.map(([share, text]) => [x(share), text]);
  for (const [middle, text] of placeLabels(texts, width, 6.2, 8)) {
    svg.append(words(middle, 54, text, "te-be-small", "middle"));
  }
  if (here !== null) svg.append(path(`M${x(here)},38 l-6,-12 h12 z`, "te-be-marker"));
  return svg;
}

/** The numbers next to it, `close` as [share of the width, text, whether it is this one]. */
export function drawNear(close, caption, width) {
  const x = (share) => 12 + share * (width - 24);
  const svg = picture(width, 58, caption);
  svg.append(line(x(0), 34, x(1), 34, "te-be-base"));
  for (const [share, , isMine] of close) {
    svg.append(line(x(share), 24, x(share), 38, isMine ? "te-be-mine" : "te-be-ticks"));
    if (isMine) svg.append(path(`M${x(share)},24 l-6,-10 h12 z`, "te-be-marker"));
  }
  const mineFirst = [...close].sort((a, b) => b[2] - a[2]);
  const texts = mineFirst.map(([share, text]) => [x(share), text]);
  placeLabels(texts, width, 6.6, 6).forEach(([middle, text], i) => {
    const isMine = i === 0 && mineFirst[0][2];
    const kind = isMine ? "te-be-strong" : "te-be-small";
    svg.append(words(middle, 52, text, kind, "middle"));
  });
  return svg;
}
