// The topology in motion: wires and how warm they are, chips with their buffers, messages on the
// way.

import { write } from "../shared/canvas.js";
import { Sprites } from "../shared/sprites.js";

function trace(c, [a, control, b]) {
  c.beginPath();
  c.moveTo(...a);
  c.quadraticCurveTo(...control, ...b);
  c.stroke();
}

export class StagePainter {
  constructor() {
    this.tokens = new Sprites();
    this.faces = new Sprites(); // of chips, until the step is over
    this.step = -1;
  }
  forget() {
    this.tokens.clear();
    this.faces.clear();
  }
  /** `heatOf(link)` is 0 to 1; faces are kept only while nothing `isMoving`. */
  draw(c, { film, plan, position, picked, heatOf, notes, tones, isMoving }) {
    Object.assign(this, { film, plan, picked, notes, tones });
    const step = film.doneAt(position);
    if (step !== this.step) this.faces.clear();
    this.step = step;
    for (let k = 0; k < film.wireCount; k++) this.drawWire(c, k);
    for (let k = 0; k < film.linkCount; k++) this.drawHeat(c, k, heatOf(k));
    for (let chip = 0; chip < film.chips; chip++) this.drawChip(c, chip, isMoving);
    for (let i = film.chips; i < plan.places.length; i++) this.drawSwitch(c, i);
    if (position < film.steps) this.drawMessages(c, position);
  }
  isPicked(kind, index) {
    return this.picked?.kind === kind && this.picked.index === index;
  }
  drawWire(c, k) {
    const { film, tones } = this;
    const isDown = film.down.includes(k);
    const isPicked = this.isPicked("wire", k);
    c.setLineDash(isDown ? [3, 7] : []);
    c.strokeStyle = isDown ? tones.mark : isPicked ? tones.brand : tones.line;
    c.lineWidth = isDown ? 2 : isPicked ? 11 : film.chips > 16 ? 5 : 7;
    trace(c, this.plan.curves[k]);
    c.setLineDash([]);
  }
  drawHeat(c, link, load) {
    if (load <= 0.001) return;
    c.strokeStyle = this.tones.mark;
    c.globalAlpha = 0.25 + 0.75 * load;
    c.lineWidth = 1 + 2.8 * load;
    trace(c, this.plan.lane(link));
    c.globalAlpha = 1;
  }
  drawChip(c, chip, isMoving) {
    const [x, y] = this.plan.places[chip];
    const isPicked = this.isPicked("chip", chip);
    const side = 2 * this.plan.half + 4;
    const paint = (to, u, v) => {
      to.save();
      to.translate(u, v);
      this.paintChip(to, chip, isPicked);
      to.restore();
    };
    if (isMoving) return paint(c, x, y);
    const key = `${chip} ${this.step} ${isPicked}`;
    const face = this.faces.get(key, side, side, (p) => paint(p, side / 2, side / 2));
    c.drawImage(face, x - side / 2, y - side / 2, side, side);
  }
  paintChip(c, chip, isPicked) {
    const { film, tones } = this;
    const { half } = this.plan;
    this.paintBox(c, [-half, -half, 2 * half, 2 * half], 6, isPicked);
    const note = this.notes?.[chip];
    const isBig = half > 24;
    const top = { baseline: "top" };
    const number = { ...top, colour: tones.full, font: `600 ${isBig ? 12 : 10}px ${tones.font}` };
    write(c, String(chip), 5 - half, 4 - half, number);
    if (note && half > 16) {
      const font = `${isBig ? 11 : 9}px ${tones.font}`;
      write(c, note, half - 4, 4 - half, { ...top, colour: tones.muted, align: "right", font });
    }
    for (const rank of film.ranksOf(chip)) this.paintBars(c, rank);
  }
  paintBox(c, place, radius, isPicked = false) {
    c.fillStyle = this.tones.soft;
    c.strokeStyle = isPicked ? this.tones.brand : this.tones.strong;
    c.lineWidth = isPicked ? 3 : 1;
    c.beginPath();
    c.roundRect(...place, radius);
    c.fill();
    c.stroke();
  }
  /** A rank's buffer as bars, one per chunk: as high as the share of the sum that it holds. */
  paintBars(c, rank) {
    const { film } = this;
    const { x, y, width, height: row } = this.plan.rowOf(rank);
    const height = row - 2;
    c.fillStyle = this.tones.lane;
    c.fillRect(x, y, width, height);
    const wide = width / film.chunks;
    for (let k = 0; k < film.chunks; k++) {
      const high = (height * film.held(this.step, rank, k)) / film.full;
      if (!high) continue;
      c.fillStyle = film.palette[k];
      const bar = Math.max(0.6, wide - (wide > 3 ? 0.6 : 0));
      c.fillRect(x + k * wide, y + height - high, bar, high);
    }
  }
  drawSwitch(c, i) {
    const { tones } = this;
    const [x, y] = this.plan.places[i];
    const name = this.notes?.[i] || "switch";
    const font = `600 12px ${tones.font}`;
    c.font = font;
    const half = c.measureText(name).width / 2 + 14;
    this.paintBox(c, [x - half, y - 13, 2 * half, 26], 13);
    write(c, name, x, y, { font, colour: tones.full, align: "center" });
  }
  drawMessages(c, position) {
    const { film, plan } = this;
    const step = film.stepAt(position);
    const f = position - step;
    const ids = film.byStep[step];
    for (const m of ids) {
      const [begins, ends] = [film.msg_begins[m], film.msg_ends[m]];
      if (f < begins || f > ends) continue;
      const t = (f - begins) / (ends - begins);
      const path = film.pathOf(m);
      const place = path.length ? plan.onPath(path, t) : plan.insideChip(m, t);
      const chunks = film.chunksOf(m);
      const radius = !path.length ? 3 : this.radiusOf(chunks, ids.length);
      this.drawToken(c, place, chunks, radius);
    }
  }
  radiusOf(chunks, messages) {
    if (messages > 200) return 4;
    return chunks.length === 1 && this.film.chunks > 64 ? 6 : 9;
  }
  /** A disc with the colours of its chunks. */
  drawToken(c, [x, y], chunks, radius) {
    const half = radius + 2;
    const key = `${radius} ${chunks.join(" ")}`;
    const token = this.tokens.get(key, 2 * half, 2 * half, (p) => {
      p.translate(half, half);
      this.paintToken(p, chunks, radius);
    });
    c.drawImage(token, x - half, y - half, 2 * half, 2 * half);
  }
  paintToken(c, chunks, radius) {
    const { film, tones } = this;
    const shown = Math.min(chunks.length, 8);
    const angle = (i) => (2 * Math.PI * i) / shown - Math.PI / 2;
    for (let i = 0; i < shown; i++) {
      c.fillStyle = film.palette[chunks[Math.floor((i * chunks.length) / shown)]];
      c.beginPath();
      c.moveTo(0, 0);
      c.arc(0, 0, radius, angle(i), angle(i + 1));
      c.fill();
    }
    c.strokeStyle = tones.full;
    c.lineWidth = radius < 8 ? 0.7 : 1.2;
    c.beginPath();
    c.arc(0, 0, radius, 0, 2 * Math.PI);
    c.stroke();
    if (radius < 8) return;
    const isOne = chunks.length === 1;
    const text = isOne ? String(chunks[0]) : `×${chunks.length}`;
    const font = `600 10px ${tones.font}`;
    const colour = isOne ? film.letters[chunks[0]] : "#fff";
    const halo = isOne ? null : "#000000b0";
    write(c, text, 0, 0.5, { font, colour, halo, align: "center" });
  }
}
