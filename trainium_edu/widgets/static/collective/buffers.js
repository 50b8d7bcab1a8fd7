// Every rank's buffer, chunk by chunk: as full as its sum.

import { write } from "../shared/canvas.js";
import { Sprites } from "../shared/sprites.js";
import { clamp, mix } from "../shared/time.js";

const LEFT = 30;
const HEAD = 34;
const ARRIVES = 0.62; // the share of a step after which cells fill

export class BufferPainter {
  constructor() {
    this.settled = new Sprites(); // the cells of one step
    this.step = -1;
  }
  forget() {
    this.settled.clear();
  }
  draw(c, { film, position, chip, tones, width, height }) {
    Object.assign(this, { film, tones, chip });
    this.width = (width - LEFT - 4) / film.chunks; // of a cell
    this.height = (height - HEAD - 4) / film.ranks;
    const step = film.doneAt(position);
    if (step !== this.step) this.settled.clear();
    this.step = step;
    const isWide = width > 380;
    const cells = this.settled.get(`${chip}`, width, height, (p) => this.paintAll(p, isWide));
    c.drawImage(cells, 0, 0, width, height);
    const filled = clamp((position - step - ARRIVES) / (1 - ARRIVES), 0, 1);
    if (filled > 0 && step < film.steps) this.fill(c, filled);
    if (film.values && this.width >= 26 && this.height >= 15) {
      this.writeValues(c, filled >= 1 ? step + 1 : step);
    }
    if (step < film.steps && this.width > 5) this.outlineMoves(c, position - step);
  }
  eachCell(action) {
    const { ranks, chunks } = this.film;
    for (let i = 0; i < ranks * chunks; i++) action(Math.floor(i / chunks), i % chunks);
  }
  /** The middle of a cell. */
  middle(rank, chunk) {
    return [LEFT + (chunk + 0.5) * this.width, HEAD + (rank + 0.5) * this.height];
  }
  paintAll(c, isWide) {
    const { film, height, step, tones, width } = this;
    const title = `Every rank's buffer${isWide ? ", chunk by chunk: as full as its sum" : ""}`;
    const top = { baseline: "top" };
    write(c, title, 2, 2, { ...top, font: `600 12px ${tones.font}`, colour: tones.ink });
    const small = { font: `10px ${tones.font}`, colour: tones.muted };
    for (let k = 0; k < film.chunks; k += Math.ceil(18 / width)) {
      write(c, String(k), this.middle(0, k)[0], 20, { ...small, ...top, align: "center" });
    }
    for (let r = 0; r < film.ranks; r += Math.ceil(11 / height)) {
      write(c, String(r), LEFT - 5, this.middle(r, 0)[1], { ...small, align: "right" });
    }
    c.fillStyle = tones.strong; // shows between the cells
    c.fillRect(LEFT - 1, HEAD - 1, film.chunks * width + 1, film.ranks * height + 1);
    c.fillStyle = tones.brand;
    for (const rank of this.chip >= 0 ? film.ranksOf(this.chip) : []) {
      c.fillRect(LEFT - 4, HEAD + rank * height, 3, height);
    }
    this.eachCell((r, k) => this.paintCell(c, r, k, film.held(step, r, k) / film.full));
  }
  paintCell(c, rank, chunk, share) {
    const gap = this.width > 4 && this.height > 4 ? 1 : 0;
    const [x, y] = [LEFT + chunk * this.width, HEAD + rank * this.height];
    const [wide, high] = [this.width - gap, this.height - gap];
    c.fillStyle = this.tones.lane;
    c.fillRect(x, y, wide, high);
    if (share <= 0) return;
    c.fillStyle = this.film.palette[chunk];
    c.globalAlpha = 0.34; // that there is something at all shows at any size; the bar is how much
    c.fillRect(x, y, wide, high);
    c.globalAlpha = 1;
    const bar = Math.min(high, Math.max(2, high * share));
    c.fillRect(x, y + high - bar, wide, bar);
  }
  /** Let the cells that change in this step fill. */
  fill(c, filled) {
    const { film, step } = this;
    this.eachCell((r, k) => {
      const [now, next] = [film.held(step, r, k), film.held(step + 1, r, k)];
      if (now !== next) this.paintCell(c, r, k, mix(now, next, filled) / film.full);
    });
  }
  writeValues(c, step) {
    const { film, height, tones } = this;
    const font = `600 ${height >= 60 ? 20 : height >= 26 ? 13 : 11}px ${tones.font}`;
    const look = { font, colour: tones.full, halo: tones.lane, align: "center" };
    this.eachCell((r, k) => {
      if (!film.held(Math.min(step, film.steps), r, k)) return;
      write(c, String(film.value(step, r, k)), ...this.middle(r, k), look);
    });
  }
  /** Ring the cells that leave in this step, and dash those that they reach. */
  outlineMoves(c, f) {
    const { film, height, width } = this;
    const leave = new Path2D();
    const reach = new Path2D();
    let count = 0;
    const ring = (path, rank, chunk) =>
      path.rect(LEFT + chunk * width + 0.5, HEAD + rank * height + 0.5, width - 2, height - 2);
    for (const m of film.byStep[this.step]) {
      for (const chunk of film.chunksOf(m)) {
        ring(leave, film.msg_src[m], chunk);
        ring(reach, film.msg_dst[m], chunk);
        count++;
      }
    }
    if (count > 80) return; // too many to tell apart
    c.strokeStyle = this.tones.full;
    c.lineWidth = width > 12 ? 1.5 : 1;
    c.stroke(leave);
    if (count <= 64) c.setLineDash([2, 2]);
    c.lineWidth = f > ARRIVES && width > 12 ? 1.5 : count > 64 ? 0.5 : 1;
    c.stroke(reach);
    c.setLineDash([]);
  }
}
