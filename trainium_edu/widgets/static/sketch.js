// Controls over a picture that Python writes as SVG (viz/scene.py, viz/svg.py). Nothing is computed
// here: a control's new value goes to Python, a picture, texts and a table come back.

import { Asker } from "./shared/asking.js";
import { button, make } from "./shared/elements.js";
import { countDrawing, onChange, onSize, shows } from "./shared/life.js";
import { Playback } from "./shared/playback.js";
import { wantsNoMotion } from "./shared/time.js";
import { Controls } from "./sketch/controls.js";
import { Stage } from "./sketch/stage.js";

/** A sentence with its **strong** words. */
function sentence(text) {
  const parts = text.split("**");
  return make("p", {}, ...parts.map((part, i) => (i % 2 ? make("strong", {}, part) : part)));
}

/** A table's parts; on its side, where each row is a column, it is narrower. */
function tableParts({ head, rows }, onItsSide) {
  const swatch = (colour) => (colour ? [make("i", { style: `background:${colour}` }), " "] : []);
  const name = (scope, row) => make("th", { scope }, ...swatch(row.colour), row.cells[0]);
  const look = (row) => ({ class: row.marked ? "te-sk-marked" : null });
  const cell = (row, i) => make("td", onItsSide ? look(row) : {}, row.cells[i]);
  const title = (scope, i) => make("th", { scope }, head[i]);
  const numbers = head.map((_, i) => i).slice(1);
  const [heads, lines] = onItsSide
    ? [
        [title("col", 0), ...rows.map((row) => name("col", row))],
        numbers.map((i) => make("tr", {}, title("row", i), ...rows.map((row) => cell(row, i)))),
      ]
    : [
        head.map((_, i) => title("col", i)),
        rows.map((row) =>
          make("tr", look(row), name("row", row), ...numbers.map((i) => cell(row, i))),
        ),
      ];
  return [make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...lines)];
}

class Sketch {
  constructor(model, host) {
    Object.assign(this, { model, host, width: 0 });
    this.asker = new Asker(model, "values", 3000);
    this.stage = new Stage();
    this.controls = new Controls(model.get("controls"), (change) => this.asker.ask(change));
    this.said = make("div", "te-sk-said");
    this.table = make("table", "te-table");
    this.live = make("div", { class: "te-live", "aria-live": "polite" });
    this.row = model.get("buttons").map(([press, text, help]) => {
      const look = { class: "te-sk-button", "data-press": press };
      return button(help, text, () => model.send({ press }), look);
    });
    const row = this.row.length ? [make("div", "te-sk-row", ...this.row)] : [];
    const bar = make("div", "te-row te-sk-controls", ...row, ...this.controls.elements);
    const scroll = make("div", "te-sk-scroll", this.table);
    const look = { class: "te te-sk", role: "group", "aria-label": model.get("label") };
    host.append(make("div", look, bar, this.stage.element, this.said, scroll, this.live));
    this.stops = [
      onChange(model, { page: () => this.draw() }),
      onSize(() => this.fit(), this.stage.element),
      () => this.asker.dispose(),
    ];
    this.draw();
  }
  /** Fit the table to its place, and ask for a picture as wide. */
  fit() {
    const width = this.stage.element.clientWidth;
    if (Math.abs(width - this.width) < 3) return;
    this.width = width;
    this.drawTable(this.model.get("page").table);
    if (width > 100 && Math.abs(width - this.asker.values.width) > 3) this.asker.ask({ width });
  }
  /** Play the page's film; who wants no motion sees its end first. */
  play() {
    const film = () => this.model.get("page").film;
    const pace = { framesPerSecond: this.model.get("page").rate };
    const describe = (frame) => film()[frame].alt;
    const draw = (at) => this.stage.draw(film()[Math.round(at)]);
    const name = this.model.get("label");
    this.player = new Playback(name, film().length, draw, { ...pace, describe });
    this.stage.element.before(this.player.element);
    if (wantsNoMotion()) this.player.seek(film().length);
    else this.player.begin();
  }
  /** Draw the table as it is; if it is too wide, on its side if it is short, or closer together. */
  drawTable(given) {
    const { table } = this;
    const draw = (isClose, onItsSide) => {
      table.classList.toggle("te-sk-close", isClose);
      table.replaceChildren(...(given ? tableParts(given, onItsSide) : []));
      return table.offsetWidth <= table.parentElement.clientWidth;
    };
    const isShort = given && given.rows.length < 4;
    if (draw(false, false) || (isShort && draw(false, true))) return;
    if (!draw(true, false) && !draw(true, true)) draw(true, false);
  }
  draw() {
    const page = this.model.get("page");
    this.asker.take();
    this.controls.show(this.asker.values, page, this.asker.isBehind);
    for (const one of this.row)
      one.ariaCurrent = one.dataset.press === page.pressed ? "step" : null;
    if (!page.film.length) this.stage.draw(page.scene, this.model.get("pixels"));
    else if (this.player) this.player.refresh();
    else this.play();
    this.said.replaceChildren(...page.said.map(sentence));
    this.drawTable(page.table);
    this.live.textContent = page.said.join(" ").replaceAll("**", "");
    countDrawing(this.host);
    this.asker.answered();
  }
}

export default shows(Sketch);
