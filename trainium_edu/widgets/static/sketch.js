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

function tableParts({ head, rows }) {
  const heads = head.map((text) => make("th", { scope: "col" }, text));
  const lines = rows.map(({ cells: [name, ...cells], colour, marked }) => {
    const swatch = colour ? [make("i", { style: `background:${colour}` }), " "] : [];
    const first = make("th", { scope: "row" }, ...swatch, name);
    const rest = cells.map((text) => make("td", {}, text));
    return make("tr", { class: marked ? "te-sk-marked" : null }, first, ...rest);
  });
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
    const row = make("div", "te-sk-row", ...this.row);
    const bar = make("div", "te-row te-sk-controls", ...this.controls.elements, row);
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
  /** Ask for a picture as wide as its place. */
  fit() {
    const width = this.stage.element.clientWidth;
    if (Math.abs(width - this.width) < 3) return;
    this.width = width;
    const drawn = this.model.get("page").scene.width;
    if (width > 100 && Math.abs(width - drawn) > 3) this.asker.ask({ width });
  }
  /** Play the page's film; who wants no motion sees its end first. */
  play() {
    const film = () => this.model.get("page").film;
    this.player = new Playback({
      frames: film().length,
      framesPerSecond: 24,
      label: this.model.get("label"),
      onFrame: (at) => this.stage.draw(film()[Math.round(at)]),
      describe: (frame) => film()[frame].alt,
    });
    this.stage.element.before(this.player.element);
    if (wantsNoMotion()) this.player.seek(film().length);
    else this.player.begin();
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
    this.table.replaceChildren(...(page.table ? tableParts(page.table) : []));
    this.live.textContent = page.said.join(" ").replaceAll("**", "");
    countDrawing(this.host);
    this.asker.answered();
  }
}

export default shows(Sketch);
