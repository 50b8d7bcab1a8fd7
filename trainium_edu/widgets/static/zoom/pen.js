// A pen for one level: it takes the level's units and draws where the camera sees them.

import { clamp } from "../shared/time.js";
import { WIDE, fade, grown } from "./places.js";

const READABLE = [5, 7]; // pixels: smaller letters fade
const TOO_LARGE = [46, 80];

export class Pen {
  alpha = 1;

  constructor(ctx, colours, width, height) {
    Object.assign(this, { ctx, colours, width, height });
  }
  /** Draw the level into this rectangle of the picture. */
  at([x, y, wide]) {
    Object.assign(this, { x, y, scale: wide / WIDE });
  }
  /** A colour by its name, or as it is. */
  ink(colour) {
    return this.colours[colour] ?? colour;
  }
  point([x, y]) {
    return [this.x + x * this.scale, this.y + y * this.scale];
  }
  toScreen([x, y, w, h]) {
    return [...this.point([x, y]), w * this.scale, h * this.scale];
  }
  pixels(units, least, most) {
    return clamp(units * this.scale, least, most);
  }

  box(rect, { fill = null, line = null, radius = 0, width = 2, a = 1, dash = [] }) {
    const { ctx } = this;
    const [x, y, w, h] = this.toScreen(rect);
    if (x + w <= 0 || y + h <= 0 || x >= this.width || y >= this.height) return;
    ctx.globalAlpha = a * this.alpha;
    ctx.beginPath();
    ctx.roundRect(x, y, w, h, radius * this.scale);
    if (fill) {
      ctx.fillStyle = this.ink(fill);
      ctx.fill();
    }
    if (line) {
      ctx.strokeStyle = this.ink(line);
      ctx.lineWidth = this.pixels(width, 0.5, 6);
      ctx.setLineDash(dash);
      ctx.stroke();
    }
  }
  /** A box with a line around it, filled with `a` of its colour over the paper. */
  block(rect, colour, a, radius, width) {
    this.box(rect, { fill: colour, a, radius });
    this.box(rect, { line: colour, radius, width });
  }
  /** A white box with a line around it. */
  card(rect, colour, radius, width) {
    this.box(rect, { fill: this.colours.paper, radius });
    this.box(rect, { line: colour, radius, width });
  }
  /** A grid of small boxes, the visible ones only; `shade(i, j)` is how strong. */
  dots(place, columns, rows, colour, shade) {
    const { ctx } = this;
    const [x0, y0] = this.point(place(0, 0));
    const [x1, y1] = this.point(place(1, 1));
    const seen = (first, step, size, count) => [
      clamp(Math.floor(-first / step) - 1, 0, count),
      clamp(Math.floor((size - first) / step) + 2, 0, count),
    ];
    const [left, right] = seen(x0, x1 - x0, this.width, columns);
    const [top, bottom] = seen(y0, y1 - y0, this.height, rows);
    ctx.fillStyle = this.ink(colour);
    for (let j = top; j < bottom; j++)
      for (let i = left; i < right; i++) {
        ctx.globalAlpha = shade(i, j) * this.alpha;
        ctx.fillRect(...this.toScreen(place(i, j)));
      }
  }
  /** A line through points [x, y], or [x, y, cx, cy] for a bend towards (cx, cy). */
  line(points, colour, width = 3, { a = 1, dash = [] } = {}) {
    const { ctx } = this;
    ctx.globalAlpha = a * this.alpha;
    ctx.strokeStyle = ctx.fillStyle = this.ink(colour);
    ctx.lineWidth = this.pixels(width, 0.6, 8);
    ctx.setLineDash(dash.map((d) => d * this.scale));
    ctx.beginPath();
    ctx.moveTo(...this.point(points[0]));
    for (const [x, y, ...bend] of points.slice(1))
      if (bend.length) ctx.quadraticCurveTo(...this.point(bend), ...this.point([x, y]));
      else ctx.lineTo(...this.point([x, y]));
    ctx.stroke();
  }
  arrow(points, colour, width, more) {
    this.line(points, colour, width, more);
    this.head(points.at(-2), points.at(-1));
  }
  arrows(points, colour, width) {
    this.arrow(points, colour, width);
    this.head(points[1], points[0]);
  }
  head(from, to) {
    const { ctx } = this;
    const angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
    const corner = (turn) =>
      this.point([to[0] + 14 * Math.cos(angle + turn), to[1] + 14 * Math.sin(angle + turn)]);
    ctx.beginPath();
    ctx.moveTo(...this.point(to));
    for (const turn of [2.6, -2.6]) ctx.lineTo(...corner(turn));
    ctx.fill();
  }
  text(label, [x, y], size, more = {}) {
    const { colour = this.colours.ink, align = "center", weight = 400, turned = false } = more;
    const { ctx } = this;
    const px = size * this.scale;
    const seen = this.alpha * fade(px, ...READABLE) * (1 - fade(px, ...TOO_LARGE));
    if (seen <= 0) return;
    Object.assign(ctx, { globalAlpha: seen, fillStyle: colour, textAlign: align });
    ctx.textBaseline = "middle";
    ctx.font = `${weight} ${px}px ${this.colours.font}`;
    ctx.save();
    ctx.translate(...this.point([x, y]));
    if (turned) ctx.rotate(-Math.PI / 2);
    ctx.fillText(label, 0, 0);
    ctx.restore();
  }
  title(label, at, size) {
    this.text(label, at, size, { weight: 700 });
  }
  note(label, at, size, more) {
    this.text(label, at, size, { colour: this.colours.muted, ...more });
  }
  /** A frame around a part of the level, in pixels whatever the scale. */
  mark(part, by, colour, width, { radius = 9, ...more } = {}) {
    const [frame, pixel] = [grown(part, by / this.scale), 1 / this.scale];
    this.alpha = 1;
    this.box(frame, { line: colour, width: width * pixel, radius: radius * pixel, ...more });
  }
}
