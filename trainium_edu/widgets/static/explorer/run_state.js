// What all panels of a run share: its data, the window of time, what is picked, lit and shown.

import { indexFilm } from "./film.js";
import { lighting } from "./lighting.js";
import { TimeWindow } from "./time_window.js";

const MARGIN = 1.01; // time shown behind the last result
export const NOTHING = { row: -1, piece: -1, tile: -1 };

export class RunState {
  film = null;
  book = null;
  tones = null;
  baseline = 0; // ns of the first timing
  cursor = -1; // ns, -1 for none
  hover = NOTHING;
  picked = -1; // a row of the film
  piece = -1;
  tile = -1;
  line = -1; // of the book
  word = ""; // the key of an engine that the lesson's words point at
  critical = true;
  allMemory = false;
  queues = false;
  ports = false;
  lit = null;
  litTile = null;

  /** `given` are id, label, panels, colours; `changed` is called on a move. */
  constructor(given, changed) {
    Object.assign(this, given);
    this.view = new TimeWindow(changed);
  }
  nameOf = (row) => {
    const { film, book } = this;
    return book.names[book.i_name[film.rows_instruction[row]]];
  };
  colourOf = (key) => this.colours[key] ?? this.colours.sync;

  /** Take another timing; what is picked stays while the rows are the same. */
  takeFilm(film) {
    const isSameRun = film.rows_start.length === this.film?.rows_start.length;
    this.baseline ||= film.baseline || film.makespan;
    this.film = indexFilm(film);
    this.view.setEnd(Math.max(film.makespan, this.baseline) * MARGIN || 1);
    if (!isSameRun) this.picked = -1;
    this.piece = this.tile = -1;
    this.hover = NOTHING;
    this.light();
  }
  pick({ row = -1, piece = -1, tile = -1, line = -1 }) {
    Object.assign(this, { picked: row, piece, tile, line });
    const { rows_start: start, rows_end: end } = this.film;
    const { view } = this;
    if (row >= 0 && (end[row] < view.lo || start[row] > view.hi))
      view.around((start[row] + end[row]) / 2);
    this.light();
  }
  light() {
    Object.assign(this, lighting(this));
  }
  /** How many rows are not dimmed. */
  get countLit() {
    const rows = this.film.rows_start.keys();
    return this.lit ? [...rows].filter(this.lit).length : this.film.rows_start.length;
  }
}
