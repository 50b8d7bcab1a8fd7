// Where the camera is: at a level (whole numbers) or on its way to one.

import { clamp, glide } from "../shared/time.js";

const LEAST = 500; // ms of a short way
const LEVEL = 750; // ms more for each level
const LEVEL_OF_A_FLIGHT = 2200; // ms
const NEAR = 0.005; // half a step of the slider: the last frames of a way look like its end
const smooth = (t) => t * t * (3 - 2 * t);

export class Camera {
  isFlying = false;
  stop = () => {};

  /** `view` hears: moved(z) always, rests(level, hasCome) where it stays, flies(isFlying). */
  constructor(z, last, view) {
    Object.assign(this, { z, goal: z, last, view });
  }
  /** The next level inwards and outwards; between two levels that look apart, the nearest. */
  get inner() {
    return Math.floor(this.z + NEAR) + 1;
  }
  get outer() {
    return Math.ceil(this.z - NEAR) - 1;
  }
  place(z) {
    this.z = clamp(z, 0, this.last);
    this.view.moved(this.z);
  }
  /** Stay somewhere, also between levels. */
  stayAt(z) {
    this.halt();
    this.place(z);
    this.goal = Math.round(this.z);
    this.view.rests(this.goal, false);
  }
  go(to, way = smooth, milliseconds = null) {
    const from = this.z;
    this.halt();
    this.goal = clamp(to, 0, this.last);
    const length = Math.abs(this.goal - from);
    const show = (t) => this.place(from + (this.goal - from) * way(t));
    this.stop = glide(this.view.root, milliseconds ?? LEAST + LEVEL * length, show, () => {
      this.halt();
      this.view.rests(this.goal, true);
    });
  }
  /** Fly through all levels, from the outermost one again if this is the last. */
  fly() {
    if (this.z > this.last - 0.01) this.place(0);
    this.go(this.last, (t) => t, (this.last - this.z) * LEVEL_OF_A_FLIGHT);
    this.#showFlying(true);
  }
  halt() {
    this.stop();
    this.#showFlying(false);
  }
  #showFlying(isFlying) {
    this.isFlying = isFlying;
    this.view.flies(isFlying);
  }
}
