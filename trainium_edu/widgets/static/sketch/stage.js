// The picture: SVG over images, and a wipe that uncovers one image over another.

import { slider } from "../shared/controls.js";
import { make } from "../shared/elements.js";
import { wantsNoMotion } from "../shared/time.js";

const GLIDE = { duration: 700, easing: "ease-in-out" };
const WIPE = "Wipe: before on the left, after on the right";

/** Python's pixels, four bytes each, on a canvas of their size that is shown at its place. */
function drawImage([x, y, width, height, columns, rows, offset], view) {
  const style = `left:${x}px;top:${y}px;width:${width}px;height:${height}px`;
  const canvas = make("canvas", { width: columns, height: rows, "aria-hidden": "true", style });
  const bytes = new Uint8ClampedArray(view.buffer, view.byteOffset + offset, columns * rows * 4);
  const image = new ImageData(bytes.slice(), columns, rows);
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

/** Where a rectangle is now, also in the middle of its way. */
function standing(node) {
  const { x, width } = getComputedStyle(node);
  return { x, width };
}

export class Stage {
  constructor() {
    const look = { class: "te-sk-wipe", max: 1000, value: 500, step: 10, title: `Drag: ${WIPE}` };
    this.wipe = slider(WIPE, () => this.uncover(), look);
    this.drawn = make("div", "te-sk-drawn");
    this.element = make("div", "te-sk-stage", this.drawn, this.wipe);
    this.after = null; // the canvas that the wipe uncovers
    this.gliding = []; // the shapes that move on from where they are
  }
  uncover() {
    if (!this.after) return;
    const percent = this.wipe.value / 10;
    this.after.style.clipPath = `inset(0 0 0 ${percent}%)`;
    this.wipe.setAttribute("aria-valuetext", `${Math.round(percent)} % before`);
  }
  draw(scene, pixels) {
    const canvases = scene.images.map((image) => drawImage(image, pixels));
    const begins = this.gliding.map(standing);
    this.drawn.replaceChildren(...canvases);
    this.drawn.insertAdjacentHTML("beforeend", scene.svg); // Python escapes its texts
    this.gliding = scene.glides.map((place) => this.drawn.lastChild.children[place]);
    // While a slider is dragged the picture keeps up with the hand.
    if (document.activeElement?.type !== "range" && !wantsNoMotion())
      this.gliding.forEach((node, i) => begins[i] && node.animate([begins[i], {}], GLIDE));
    this.after = canvases[scene.wipe] ?? null;
    this.wipe.hidden = !this.after;
    if (this.after) {
      const { left, top, width, height } = this.after.style;
      Object.assign(this.wipe.style, { left, top, width, height });
    }
    this.uncover();
    const size = { width: `${scene.width}px`, height: `${scene.height}px` };
    Object.assign(this.drawn.lastChild.style, size);
    this.element.style.height = size.height;
  }
}
