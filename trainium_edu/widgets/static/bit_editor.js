// The bit editor: flip the bits of one number, read what they stand for.  Every value and every
// text comes from Python (trainium_edu.numerics); this page flips a bit of the code and draws the
// answer.

import { drawNear, drawRange } from "./bit_editor/maps.js";
import { Strip } from "./bit_editor/strip.js";
import { field, menu } from "./shared/controls.js";
import { button, focusable, make, swatch } from "./shared/elements.js";
import { countDrawing, onChange, onSize, shows } from "./shared/life.js";

const span = (kind, ...parts) => make("span", `te-be-${kind}`, ...parts);
const hint = (text) => make("span", "te-hint", text);

class BitEditor {
  constructor(model, host) {
    Object.assign(this, { model, host, width: 0 });
    this.formats = model.get("formats"); // [{name, label, colour, about}]
    this.strip = new Strip({
      flip: (bit) => this.send({ do: "flip", bit }),
      step: (way) => this.send({ do: "step", way }),
    });
    for (const name of ["reading", "formula", "facts", "map"]) {
      this[name] = make("div", `te-be-${name}`);
    }
    this.others = make("table", "te-table te-be-others");
    this.live = make("div", { class: "te-live", "aria-live": "polite" });
    const head = [this.buildTop(), this.strip.element, this.reading, this.formula];
    const rest = [this.buildSteps(), this.facts, this.map, this.others, this.live];
    this.root = make("div", "te te-be", ...head, ...rest);
    host.append(this.root);
    this.stops = [
      onChange(model, { answer: () => this.draw() }),
      onSize(() => this.map.clientWidth !== this.width && this.drawMap(), this.map),
    ];
    this.draw();
  }
  send(content) {
    this.model.send(content);
  }
  buildTop() {
    const open = (format) => this.send({ do: "format", format });
    const encode = (text) => this.send({ do: "type", text });
    const options = this.formats.map((f) => [f.name, f.label]);
    this.format = menu("Number format", options, open, { class: "te-field" });
    const look = { class: "te-field", size: 10, placeholder: "e.g. 0.1" };
    this.typed = field("A number such as 0.1 or 1/3; Enter encodes it", encode, look);
    this.marks = span("marks");
    this.message = make("span", { class: "te-be-message", role: "status" });
    return make(
      "div",
      "te-row te-be-bar",
      make("label", {}, "Format ", this.format),
      make("label", {}, "Encode ", this.typed),
      button("Encode the number typed", "Go", () => encode(this.typed.value)),
      this.marks,
      this.message,
    );
  }
  buildSteps() {
    const step = (name, text, way) => button(name, text, () => this.send({ do: "step", way }));
    this.down = step("The next smaller number", "◀ next smaller", -1);
    this.up = step("The next larger number", "next larger ▶", 1);
    [this.below, this.above] = [span("near"), span("near")];
    const parts = [this.down, this.below, hint("·"), this.above, this.up];
    return make("div", "te-row te-be-bar te-be-steps", ...parts);
  }

  draw() {
    const answer = this.model.get("answer");
    const format = this.formats.find((f) => f.name === answer.format);
    this.root.style.setProperty("--c", format.colour);
    this.format.value = answer.format;
    this.format.title = format.about;
    this.strip.show(answer);
    const go = (name) => button(`Go to ${name}`, name, () => this.send({ do: "landmark", name }));
    this.marks.replaceChildren(...answer.landmarks.map(go));
    const value = make("strong", {}, answer.value_text);
    this.reading.replaceChildren(value, hint(answer.kind_text));
    const inked = ([kind, text]) => (kind ? make("b", `te-${kind}`, text) : text);
    this.formula.replaceChildren(...answer.formula.map(inked));
    const fact = ([name, text]) => [hint(name), make("span", {}, text)];
    this.facts.replaceChildren(...answer.facts.flatMap(fact));
    this.below.textContent = answer.below_text;
    this.above.textContent = answer.above_text;
    this.down.disabled = !answer.below_text;
    this.up.disabled = !answer.above_text;
    this.message.textContent = answer.message;
    this.drawOthers(answer);
    this.live.textContent = answer.sentence;
    this.drawMap();
    countDrawing(this.host);
  }
  /** The same value in the other formats, a row each. */
  drawOthers(answer) {
    const heads = ["Format", "keeps", "code", "what happened"];
    const head = heads.map((text) => make("th", { scope: "col" }, text));
    const rows = answer.others.map(({ format, value, hex, outcome, said }) => {
      const { label, colour } = this.formats.find((f) => f.name === format);
      const click = () => this.send({ do: "format", format });
      const look = { type: "button", class: "te-be-open", on: { click } };
      const name = focusable(`Edit the bits in ${label}`, look);
      const open = make("button", name, swatch(colour), " ", label);
      const cells = Object.entries({ number: value, code: hex, [outcome]: said });
      const data = cells.map(([kind, text]) => make("td", `te-be-${kind}`, text));
      return make("tr", {}, make("th", { scope: "row" }, open), ...data);
    });
    this.others.replaceChildren(
      make("caption", {}, answer.others_caption),
      make("thead", {}, make("tr", {}, ...head)),
      make("tbody", {}, ...rows),
    );
  }
  drawMap() {
    this.width = this.map.clientWidth;
    const answer = this.model.get("answer");
    const width = Math.max(260, this.width || 700);
    const maps = [drawRange(answer.range, width)];
    if (answer.close.length > 1) maps.push(drawNear(answer.close, answer.close_caption, width));
    this.map.replaceChildren(...maps);
  }
}

export default shows(BitEditor);
