// Time: where a player stands and how it moves on.  Nothing here touches the page but `glide`.

export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
export const mix = (a, b, t) => a + (b - a) * t;

/** From 0 to 1, slow at both ends. */
export const ease = (t) => (t < 0.5 ? 2 * t * t : 1 - (2 - 2 * t) ** 2 / 2);

/** Whether the reader asked for no motion. */
export const wantsNoMotion = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

/** A position among frames 0 to last, that stands (direction 0) or moves (1, or -1 backwards). */
export class Clock {
  constructor(frames, framesPerSecond) {
    this.framesPerSecond = framesPerSecond;
    this.speed = 1;
    this.direction = 0;
    this.setFrames(frames);
  }
  setFrames(count) {
    this.last = Math.max(0, count - 1);
    this.position = 0;
    this.direction = 0;
  }
  seek(to) {
    this.position = clamp(to, 0, this.last);
  }
  /** Go to a whole frame: from between two frames, the next one in that direction is one step. */
  step(by) {
    const from = by > 0 ? Math.floor(this.position + 1e-9) : Math.ceil(this.position - 1e-9);
    this.seek(from + by);
  }
  /** Begin to move; from the end that lies ahead, start at the other one. */
  start(way) {
    if (this.isAtEnd(way)) this.seek(way > 0 ? 0 : this.last);
    this.direction = way;
  }
  isAtEnd(way) {
    return way > 0 ? this.position >= this.last : way < 0 && this.position <= 0;
  }
  /** Let time pass (a quarter of a second at most: a tab may have slept); stops at an end. */
  pass(seconds) {
    const frames = this.speed * this.framesPerSecond * Math.min(0.25, seconds);
    this.seek(this.position + this.direction * frames);
    if (this.isAtEnd(this.direction)) this.direction = 0;
  }
}

/**
 * Call `show(t)` once a frame with t from 0 to 1 over some milliseconds, and at once with t = 1
 * where no motion is wanted; after that `done()`.  It ends when `root` leaves the page; returns a
 * function that ends it before.
 */
export function glide(root, milliseconds, show, done = () => {}) {
  const began = performance.now();
  let request = 0;
  const tick = (now) => {
    const t = wantsNoMotion() ? 1 : clamp((now - began) / milliseconds, 0, 1);
    show(t);
    if (t === 1) done();
    else if (root.isConnected) request = requestAnimationFrame(tick);
  };
  tick(began);
  return () => cancelAnimationFrame(request);
}
