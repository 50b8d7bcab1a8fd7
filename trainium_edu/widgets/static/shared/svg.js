// Parts of an SVG picture, in the classes of its style sheet.

import { shape } from "./elements.js";

export const line = (x1, y1, x2, y2, kind) => shape("line", { x1, y1, x2, y2, class: kind });
export const path = (d, kind, more = {}) => shape("path", { d, class: kind, ...more });
export const rect = (x, y, width, height, kind) =>
  shape("rect", { x, y, width, height, class: kind });
export const words = (x, y, text, kind, anchor = null) =>
  shape("text", { x, y, class: kind, "text-anchor": anchor }, text);

/** How a text at x is anchored so that it stays within a width, given the room it needs. */
export const anchorAt = (x, width, room) =>
  x < room ? "start" : x > width - room ? "end" : "middle";
