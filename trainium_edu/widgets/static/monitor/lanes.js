// The timeline of one step: a lane for engines, one for links, and below them where only links
// work; with a cursor.

import { focusable, make, shape } from "../shared/elements.js";
import { answerKey } from "../shared/keys.js";
import { line, rect, words } from "../shared/svg.js";
import { nsText, roundStep } from "../shared/words.js";
import { linear } from "../shared/plot.js";

const LEFT = 62;
const RIGHT = 24;
const LANES = { compute: 8, links: 38 }; // their tops
const HIGH = 26;
const MARK = 72;
const AXIS = 84;
const HEIGHT = 108;

/** Round times from 0 on, about five of them. */
export function timeTicks(end) {
  const every = roundStep(end / 5 || 1);
  return Array.from({ length: Math.floor(end / every + 1e-9) + 1 }, (_, i) => i * every);
}

export class Lanes {
  /** `seek(ns)` when it is pressed or dragged on; `walk(by)` from moment to moment. */
  constructor({ seek, walk, keys }) {
    this.still = shape("g");
    this.cursor = line(0, 2, 0, AXIS, "te-cursor te-tm-now");
    this.picture = shape("svg", { class: "te-plot", height: HEIGHT });
    this.picture.append(this.still, this.cursor);
    const drag = (event) => event.buttons && seek(this.back(event.offsetX));
    const actions = { ArrowLeft: () => walk(-1), ArrowRight: () => walk(1), ...keys };
    const name = "Timeline of one step: arrow keys go from event to event, O switches overlap";
    const keydown = (event) => answerKey(event, actions);
    const on = { keydown, pointerdown: drag, pointermove: drag };
    const look = { class: "te-tm-lanes", tabindex: 0, role: "group", title: null, on };
    this.element = make("div", focusable(name, look), this.picture);
  }
  draw(film, timeline) {
    const width = Math.max(300, this.element.clientWidth);
    this.x = linear(0, film.end || 1, LEFT, width - RIGHT);
    this.back = (x) =>
      Math.min(timeline.end, Math.max(0, linear(LEFT, width - RIGHT, 0, film.end)(x)));
    const { x } = this;
    const parts = [
      words(LEFT - 8, LANES.compute + 17, "engines", "te-small", "end"),
      words(LEFT - 8, LANES.links + 17, "links", "te-small", "end"),
    ];
    for (const top of Object.values(LANES)) {
      parts.push(rect(LEFT, top, width - RIGHT - LEFT, HIGH, "te-tm-lane"));
    }
    for (const span of timeline.spans) parts.push(...this.block(span));
    for (const [from, to] of timeline.exposed) {
      parts.push(rect(x(from), MARK, Math.max(1, x(to) - x(from)), 5, "te-tm-exposed"));
    }
    for (const ns of timeTicks(film.end)) {
      parts.push(line(x(ns), AXIS - 3, x(ns), AXIS + 2, "te-axis"));
      parts.push(words(x(ns), AXIS + 16, ns ? nsText(ns) : "0", "te-small", "middle"));
    }
    parts.push(line(LEFT, AXIS, width - RIGHT, AXIS, "te-axis"));
    parts.push(line(x(timeline.end), 2, x(timeline.end), AXIS, "te-tm-end"));
    this.picture.setAttribute("width", width);
    this.still.replaceChildren(...parts);
  }
  /** A span as a box, with its name where there is room. */
  block({ name, track, start, end }) {
    const { x } = this;
    const lane = track === "links" ? track : "compute";
    const [left, wide] = [x(start), Math.max(0.8, x(end) - x(start) - 0.6)];
    const box = rect(left, LANES[lane], wide, HIGH, `te-tm-block te-tm-${track}`);
    box.append(shape("title", {}, `${name}, ${nsText(end - start)}`));
    const room = Math.floor((wide - 8) / 6.2);
    if (room < 5) return [box];
    const text = name.length > room ? `${name.slice(0, room - 1)}…` : name;
    return [box, words(left + 4, LANES[lane] + 17, text, `te-tm-inside te-tm-in-${track}`)];
  }
  moveTo(ns) {
    const at = this.x(ns);
    this.cursor.setAttribute("x1", at);
    this.cursor.setAttribute("x2", at);
  }
}
