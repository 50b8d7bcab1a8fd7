// Drawings that are made once on canvases of their own and then copied.

import { fitCanvas } from "./canvas.js";

export class Sprites {
  constructor() {
    this.kept = new Map();
  }
  clear() {
    this.kept.clear();
  }
  /** Return the canvas of a key; `paint(context)` draws it the first time. */
  get(key, width, height, paint) {
    let canvas = this.kept.get(key);
    if (!canvas) {
      canvas = document.createElement("canvas");
      paint(fitCanvas(canvas, width, height));
      this.kept.set(key, canvas);
    }
    return canvas;
  }
}
