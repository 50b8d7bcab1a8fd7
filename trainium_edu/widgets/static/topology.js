// The topology explorer: a machine to turn; point at a chip for the way there, click a cable to cut
// it.
//
// Chips, cables and every way between chips come from Python, once; the page turns them and looks
// ways up.

import { readTones } from "./shared/canvas.js";
import { choices, menu, slider } from "./shared/controls.js";
import { button, make } from "./shared/elements.js";
import { countDrawing, onChange, onSize, onTheme, shows, tell } from "./shared/life.js";
import { onWord } from "./shared/pointing.js";
import { clamp, ease, glide, mix } from "./shared/time.js";
import { homeOf, wayOf } from "./topology/scene.js";
import { Stage } from "./topology/stage.js";
import { tellWay } from "./topology/words.js";

const HINT =
  "Drag to turn. Point at a chip: the way there. Click a chip: start from it. " +
  "Click a cable: cut it, or mend it.";

class TopologyExplorer {
  constructor(model, el) {
    Object.assign(this, { model, scenes: JSON.parse(model.get("scenes")) });
    const bytes = model.get("ways");
    this.ways = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    Object.assign(this, { grown: 1, pointed: -1, stopGrowing: () => {} });
    this.build();
    el.append(this.root);
    this.stops = [
      onTheme(() => this.fit()),
      onSize(() => this.wantedWidth !== this.stage.size?.width && this.fit(), this.root),
      onChange(model, {
        machine: () => this.takeMachine(),
        drawn_as: () => this.showLayout(),
        "start end cut": () => this.tellWay(),
      }),
      () => this.stopGrowing(),
      onWord("cable", (ends) => this.point(this.wireOf(ends.replace("-", " - ")))),
    ];
    this.takeMachine();
    requestAnimationFrame(() => this.unroll()); // when it stands on the page
  }
  build() {
    const { model } = this;
    const set = (name) => (value) => tell(model, { [name]: value });
    const names = Object.keys(this.scenes).map((name) => [name, name]);
    this.machines = menu("Machine", names, set("machine"), { class: "te-speed" });
    this.layouts = choices("Draw as", set("drawn_as"), { class: "te-layouts" });
    const turn = (degrees) => this.look({ ...this.view, spin: (degrees * Math.PI) / 180 });
    this.spin = slider("Turn through the fourth dimension, degrees", turn, { max: 90, value: 0 });
    this.spinBox = make("label", "te-topo-spin", "4th dimension", this.spin);
    const reset = () => this.look(homeOf(this.layout));
    const again = button("Turn back to the first view", "reset view", reset);
    const controls = [this.machines, this.layouts.element, again, this.spinBox];
    const leave = () => this.point(-1);
    const start = set("start");
    this.stage = new Stage({
      chips: { focus: (i) => this.goTo(i), click: start, blur: leave },
      wires: { focus: (k) => this.point(k), click: (k) => this.cutOrMend(k), blur: leave },
      turn: (yaw, pitch) => this.turn(yaw, pitch),
      hover: ({ chip, wire }) => {
        this.point(wire);
        if (chip >= 0) this.goTo(chip);
      },
      press: ({ chip, wire }) => {
        if (chip >= 0) start(chip);
        else if (wire >= 0) this.cutOrMend(wire);
      },
      leave,
    });
    this.told = make("div", { class: "te-topo-told", role: "status", "aria-live": "polite" });
    this.root = make(
      "div",
      { class: "te te-topo", role: "group", "aria-label": "Topology explorer" },
      make("div", "te-row te-topo-top", ...controls),
      this.stage.element,
      this.told,
      make("div", "te-hint te-topo-hint", HINT),
    );
  }

  // ---- what is shown
  takeMachine() {
    const { model, scenes } = this;
    this.stopGrowing();
    this.layout = null; // nothing is drawn before all of the machine is there
    this.scene = scenes[model.get("machine")];
    const { chips, layouts } = this.scene;
    this.machines.value = model.get("machine");
    this.layouts.offer(Object.entries(layouts).map(([key, { label }]) => [key, label]));
    this.stage.offer(this.scene);
    const drawn = layouts[model.get("drawn_as")] ? model.get("drawn_as") : Object.keys(layouts)[0];
    const [start, end] = ["start", "end"].map((name) => Math.min(chips - 1, model.get(name)));
    const cut = this.cut >= 0 ? model.get("cut") : "";
    tell(model, { start, end, cut, drawn_as: drawn });
    this.layout = this.before = layouts[drawn];
    this.grown = 1;
    this.pointed = -1;
    this.view = homeOf(this.layout);
    this.showLayout();
    this.fit();
    this.look(this.view);
    this.tellWay();
  }
  /** The number of the cut cable, or -1. */
  get cut() {
    return this.wireOf(this.model.get("cut"));
  }
  wireOf(ends) {
    return this.scene.wires.findIndex(([a, b]) => `${a} - ${b}` === ends);
  }
  get way() {
    const [start, end] = [this.model.get("start"), this.model.get("end")];
    return wayOf(this.scene, this.ways, start, end, this.cut);
  }
  goTo(chip) {
    if (chip !== this.model.get("end")) tell(this.model, { end: chip });
  }
  cutOrMend(wire) {
    tell(this.model, { cut: wire === this.cut ? "" : this.scene.wires[wire].join(" - ") });
  }
  point(wire) {
    if (wire === this.pointed) return;
    this.pointed = wire;
    this.draw();
  }
  tellWay() {
    if (!this.layout) return;
    const isCube = this.layout === this.scene.layouts.hypercube;
    this.told.textContent = tellWay(this.way, isCube ? this.layout.notes : null);
    this.stage.nameCables(this.scene, this.cut);
    this.draw();
  }

  // ---- turning
  look(view) {
    this.view = { ...view };
    this.spin.value = String(Math.round((view.spin * 180) / Math.PI));
    this.draw();
  }
  turn(yaw, pitch) {
    this.view.yaw += yaw;
    this.view.pitch = clamp(this.view.pitch + pitch, -1.57, 1.57);
    this.draw();
  }
  /** Let one drawing grow into another: no cable is cut or added on the way. */
  showLayout() {
    if (!this.layout) return;
    const next = this.scene.layouts[this.model.get("drawn_as")];
    this.layouts.show(this.model.get("drawn_as"));
    this.spinBox.style.visibility = next.chips.some((p) => p[3] !== 0) ? "visible" : "hidden";
    if (next !== this.layout) this.grow(this.layout, next, this.view);
  }
  /** Open with the machine's torus, which unrolls to the drawing that was asked for. */
  unroll() {
    const { torus } = this.scene.layouts;
    if (torus && torus !== this.layout) this.grow(torus, this.layout, homeOf(torus), 2400);
  }
  grow(before, layout, from, milliseconds = 1400) {
    this.stopGrowing();
    Object.assign(this, { before, layout });
    this.tellWay();
    const to = homeOf(layout);
    this.stopGrowing = glide(this.root, milliseconds, (t) => {
      this.grown = ease(t);
      const part = (name) => mix(from[name], to[name], this.grown);
      this.look({ yaw: part("yaw"), pitch: part("pitch"), spin: part("spin") });
    });
  }

  // ---- drawing
  get wantedWidth() {
    return clamp(Math.floor(this.root.clientWidth) - 2, 320, 858);
  }
  fit() {
    this.stage.fit(this.wantedWidth, readTones(this.root));
    this.draw();
  }
  draw() {
    const { before, cut, grown, layout, pointed, scene, view, way } = this;
    if (!this.stage.size || !layout) return;
    const about = `${this.model.get("machine")} drawn as ${layout.label}. ${this.told.textContent}`;
    this.stage.draw(scene, { before, layout, grown, view }, { way, cut, pointed, about });
    countDrawing(this.root);
    const angles = [view.yaw, view.pitch, view.spin];
    this.root.dataset.view = angles.map((angle) => angle.toFixed(3)).join(" ");
  }
}

export default shows(TopologyExplorer);
