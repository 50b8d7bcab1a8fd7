// The timeline explorer: engines, DMA queues, memories and source of one run on one clock.
//
// Everything shown was worked out in Python: the book (what does not change with time) comes once,
// a film (one timing) comes again whenever a slider moves.  Only where to draw is decided here.

import { createLanes } from "./explorer/engine_lanes.js";
import { dataOf } from "./explorer/film.js";
import { listenTo } from "./explorer/gestures.js";
import { createKnobs } from "./explorer/knobs.js";
import { createMemory } from "./explorer/memory_map.js";
import { createOverview } from "./explorer/overview.js";
import { showDetails, showLegend, showResult } from "./explorer/result.js";
import { NOTHING, RunState } from "./explorer/run_state.js";
import { createSource } from "./explorer/source_lines.js";
import { upper } from "./explorer/spans.js";
import { GUTTER, RIGHT } from "./explorer/time_window.js";
import { Tip } from "./explorer/tip.js";
import { createTools } from "./explorer/toolbar.js";
import { readTones } from "./shared/canvas.js";
import { make } from "./shared/elements.js";
import { onChange, onSize, onTheme, onceAFrame, shows, tell } from "./shared/life.js";
import { onWord } from "./shared/pointing.js";
import { clamp } from "./shared/time.js";

const LEAST_WIDTH = 40; // pixels: narrower is a panel that is not on the page
const KEYS = "Wheel or + and − zoom (click the picture first), drag moves, arrow keys go from ";
const HINTS = {
  timeline: `${KEYS}one to the next, Enter zooms in, C follows the critical path.`,
  memory: `${KEYS}tile to tile.`,
};

let explorers = 0;

class Explorer {
  films = 0;
  asked = 0; // when the slider was moved that the next drawing answers

  constructor(model, el) {
    const given = { id: `te-core-${++explorers}` };
    for (const name of ["label", "panels", "colours"]) given[name] = model.get(name);
    this.model = model;
    this.paint = onceAFrame(() => this.draw());
    this.s = new RunState(given, this.paint);
    this.build();
    el.append(this.root);
    this.takeBook();
    this.knobs.build();
    this.takeFilm();
    this.fit();
    this.followWindow();
    this.stops = [
      onTheme(() => this.fit()),
      onSize(() => this.fit(), this.time),
      onWord("engine", (key) => this.lightEngine(key)),
      onChange(model, {
        book: () => this.takeBook(),
        film: () => this.takeFilm(),
        window: () => this.followWindow(),
        picked: () => this.followPick(),
        sliders: () => this.knobs.build(),
      }),
      this.paint.cancel,
      this.knobs.dispose,
    ];
  }

  build() {
    const { s } = this;
    const has = (panel) => s.panels.includes(panel);
    this.overview = has("timeline") && createOverview(s);
    this.lanes = has("timeline") && createLanes(s);
    this.memory = has("memory") && createMemory(s);
    this.source = has("source") ? createSource(s, (line) => this.pick({ line })) : null;
    this.panels = [this.lanes, this.memory, this.overview].filter(Boolean);
    this.knobs = createKnobs(this.model, s.label);
    this.tools = createTools(s, () => this.relayout());
    const div = (css, ...children) => make("div", `te-core-${css}`, ...children.filter(Boolean));
    for (const name of ["title", "result", "details", "legend"]) this[name] = div(name);
    this.live = make("div", "te-live");
    for (const spoken of [this.result, this.live]) spoken.setAttribute("aria-live", "polite");
    this.time = div("time", ...[this.overview, this.lanes, this.memory].map((p) => p?.element));
    const head = div("head te-row", this.title, this.tools.element);
    const body = div("body", this.source?.element, div("right", this.time, this.legend));
    const hint = div("hint", HINTS[has("timeline") ? "timeline" : "memory"]);
    const parts = [head, this.knobs.element, this.result, body, hint, this.details, this.live];
    const look = { class: "te te-core", role: "group", "aria-label": s.label };
    this.root = make("div", look, ...parts);
    this.tip = new Tip(this.root);
    for (const panel of [this.lanes, this.memory]) if (panel) listenTo(s, panel, this);
  }

  // ---- data and drawing
  takeBook() {
    this.s.book = dataOf(this.model.get("book"));
  }
  takeFilm() {
    const { s } = this;
    s.takeFilm(dataOf(this.model.get("film")));
    this.films++;
    this.title.textContent = s.film.title;
    this.tools.show(s.film);
    showResult(this.result, s.film, s.baseline);
    if (s.tones) showLegend(this.legend, s.film, s.tones);
    this.relayout();
    this.asked = this.knobs.answered();
  }
  relayout() {
    for (const part of [...this.panels, this.source]) part?.layout?.();
    this.say();
    this.paint();
  }
  draw() {
    const { view, cursor, film } = this.s;
    const { dataset } = this.root;
    const begin = performance.now();
    for (const panel of this.panels) panel.draw();
    const end = performance.now();
    dataset.draw = (end - begin).toFixed(2);
    dataset.window = `${view.lo.toFixed(3)} ${view.hi.toFixed(3)}`;
    dataset.cursor = cursor.toFixed(3);
    dataset.makespan = film.makespan.toFixed(3);
    dataset.films = String(this.films);
    if (this.asked) dataset.answered = (end - this.asked).toFixed(1);
    this.asked = 0;
  }
  /** Take the size and the colours that the page gives: before it stood there it had none. */
  fit() {
    const { s } = this;
    const width = this.time.clientWidth - GUTTER - RIGHT;
    if (width >= LEAST_WIDTH) s.view.width = width;
    s.tones = readTones(this.root);
    showLegend(this.legend, s.film, s.tones);
    this.paint();
  }
  followWindow() {
    const [lo, hi] = this.model.get("window");
    this.s.view.end = Math.max(this.s.view.end, hi); // behind the run's end: another run's scale
    if (hi > lo) this.s.view.show(lo, hi);
  }

  // ---- what is picked and pointed at; listenTo() calls these
  pick(found) {
    const { s } = this;
    s.pick(found);
    this.root.dataset.lit = String(s.countLit);
    this.say();
    this.source?.mark();
    this.paint();
    const { picked, line, book } = s;
    tell(this.model, { picked, picked_line: line >= 0 ? book.lines[line].line : 0 });
  }
  lightEngine(key) {
    this.s.word = key;
    this.s.light();
    this.root.dataset.lit = String(this.s.countLit);
    this.paint();
  }
  followPick() {
    const row = this.model.get("picked");
    if (row !== this.s.picked && row < this.s.film.rows_start.length) this.pick({ row });
  }
  followPath(way) {
    const { film, view, piece } = this.s;
    const { start, until, row } = film.path;
    if (!start.length) return;
    const next = piece < 0 ? upper(until, view.lo) : piece + way;
    const at = clamp(next, 0, start.length - 1);
    this.pick({ row: row[at], piece: at });
  }
  hover(panel, found, event) {
    const { s } = this;
    const isOther = Object.keys(NOTHING).some((key) => found[key] !== s.hover[key]);
    s.hover = found;
    if (isOther) {
      this.tip.show(s, found);
      this.source?.mark();
    }
    panel.element.style.cursor = found.row >= 0 || found.tile >= 0 ? "pointer" : "grab";
    this.tip.place(event);
    this.paint();
  }
  leave() {
    Object.assign(this.s, { hover: NOTHING, cursor: -1 });
    this.tip.hide();
    this.source?.mark();
    this.paint();
  }
  say() {
    this.live.textContent = showDetails(this.details, this.s);
  }
}

export default shows(Explorer);
