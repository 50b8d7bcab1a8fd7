// The edges beside the rows: dots in lanes, near edges always, far ones of the row looked at.

import { shape } from "../shared/elements.js";
import { path } from "../shared/svg.js";
import { MOST_LANES, edgesOf, lanesOf } from "./edges.js";
import { isLayer, placesOf } from "./tree.js";

export const ROW = 24; // pixels
const LANE = 13;
const LEFT = 22; // pixels: far edges swing out here

export class Gutter {
  element = shape("svg", { class: "te-graph-gutter", "aria-hidden": "true" });

  /** Take the rows that show; returns the width that their lanes need. */
  layout(graph, shown, open) {
    Object.assign(this, { graph, shown, open });
    this.edges = edgesOf(graph.nodes, placesOf(graph, shown));
    this.lanes = lanesOf(shown.length, this.edges, (place) => open.has(shown[place]));
    const most = this.lanes.reduce((a, b) => Math.max(a, b), 0);
    this.width = LEFT + LANE * Math.min(MOST_LANES, most + 1) + 3;
    this.element.setAttribute("width", this.width);
    this.element.setAttribute("height", shown.length * ROW);
    return this.width;
  }
  x(place) {
    return LEFT + LANE * this.lanes[place];
  }
  /** Draw what is between two places, and all edges of the one looked at (or -1). */
  draw(first, last, near, colourOf) {
    const parts = [];
    const marked = [];
    for (const { from, to, far } of this.edges) {
      const isSeen = Math.min(from, to) <= last && Math.max(from, to) >= first;
      const isMarked = from === near || to === near;
      if (!isSeen || (far && !isMarked)) continue;
      const kind = from === near ? "te-graph-out" : to === near ? "te-graph-in" : "te-graph-edge";
      (isMarked ? marked : parts).push(path(far ? this.swing(from, to) : this.run(from, to), kind));
    }
    const dots = [];
    for (let place = first; place <= last; place++) {
      if (!this.open.has(this.shown[place])) dots.push(this.dot(place, near, colourOf));
    }
    this.element.replaceChildren(...parts, ...marked, ...dots);
  }
  /** Down in the lane of the value, and over to its reader in the last row. */
  run(from, to) {
    const [x, y, u, v] = [this.x(from), (from + 0.5) * ROW, this.x(to), (to + 0.5) * ROW];
    const bend = v - ROW;
    return `M${x} ${y}V${bend}C${x} ${v - 6} ${u} ${bend + 6} ${u} ${v}`;
  }
  swing(from, to) {
    const [x, y, u, v] = [this.x(from), (from + 0.5) * ROW, this.x(to), (to + 0.5) * ROW];
    const [top, way] = [Math.min(14, Math.abs(v - y) / 2), Math.sign(v - y)];
    return `M${x} ${y}C8 ${y} 8 ${y} 8 ${y + way * top}V${v - way * top}C8 ${v} 8 ${v} ${u} ${v}`;
  }
  dot(place, near, colourOf) {
    const row = this.graph.rows[this.shown[place]];
    const [cx, cy] = [this.x(place), (place + 0.5) * ROW];
    const colour = colourOf(row);
    const style = colour ? `fill:${colour}` : null;
    const more = { style, class: place === near ? "te-graph-near" : null };
    if (!isLayer(row)) return shape("circle", { cx, cy, r: colour ? 4.5 : 3.2, ...more });
    return shape("rect", { x: cx - 5, y: cy - 5, width: 10, height: 10, rx: 2, ...more });
  }
}
