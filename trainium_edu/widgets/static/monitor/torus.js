// Chips and links, lit by what a collective carries at the moment.

import { Plan } from "../collective/plan.js";
import { StagePainter } from "../collective/stage.js";
import { cleared, write } from "../shared/canvas.js";
import { make } from "../shared/elements.js";

const ROOM = 0.1; // of a chip, as a share of the picture
const CAPTION = "A box is a chip with two ranks, a line a link. Pink links carry the sum.";

class TorusPainter extends StagePainter {
  paint(c, { film, plan, traffic: { heatOf, part }, tones }) {
    Object.assign(this, { film, plan, tones, notes: film.layout.notes });
    for (let k = 0; k < film.wireCount; k++) this.drawWire(c, k);
    const busy = Array.from({ length: film.linkCount }, (_, k) => k).filter((k) => heatOf(k) > 0);
    for (const k of busy) this.drawHeat(c, k, heatOf(k));
    for (let chip = 0; chip < film.chips; chip++) this.drawChip(c, chip);
    for (let i = film.chips; i < plan.places.length; i++) this.drawSwitch(c, i);
    c.fillStyle = tones.full;
    for (const k of busy) {
      const [x, y] = plan.onPath([k], part);
      c.beginPath();
      c.arc(x, y, 2.6, 0, 2 * Math.PI);
      c.fill();
    }
  }
  /** A chip as a box with its number: what its buffers hold is not shown here. */
  paintChip(c, chip) {
    const { tones } = this;
    const { half } = this.plan;
    this.paintBox(c, [-half, -half, 2 * half, 2 * half], 6);
    const font = `600 ${half > 12 ? 12 : 9}px ${tones.font}`;
    write(c, String(chip), 0, 0.5, { font, colour: tones.full, align: "center" });
  }
}

export class Torus {
  constructor() {
    this.painter = new TorusPainter();
    this.canvas = make("canvas", { role: "img" });
    this.element = make("div", "te-tm-torus", CAPTION, this.canvas);
  }
  fit(film, tones) {
    this.element.hidden = !film.chips;
    if (!film.chips) return;
    const width = Math.max(220, this.element.clientWidth);
    const height = film.chips > 2 ? Math.round(Math.min(width * 0.86, 330)) : 90; // two in a row
    const size = { width, height };
    const layout = { ...film.layout, room: Math.min(ROOM, film.layout.room) };
    const mark = getComputedStyle(this.element).getPropertyValue("--links").trim() || tones.mark;
    const plan = new Plan(film, layout, size);
    Object.assign(this, { film, size, plan, tones: { ...tones, mark } });
    this.painter.forget();
  }
  draw(traffic, said) {
    const { film, plan, size, tones } = this;
    if (!film?.chips) return;
    const c = cleared(this.canvas, size.width, size.height);
    this.painter.paint(c, { film, plan, tones, traffic: traffic ?? { heatOf: () => 0, part: 0 } });
    this.canvas.setAttribute("aria-label", `The machine's chips and links: ${said}`);
  }
}
