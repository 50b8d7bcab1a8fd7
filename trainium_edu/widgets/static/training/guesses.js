// What a network reads in each test image, frame by frame: pure.

const FLASH_FRAMES = 3;

export class Guesses {
  /** `guesses` holds a digit per image, one frame behind the other. */
  constructor(guesses, labels) {
    Object.assign(this, { guesses, labels, count: labels.length });
    this.frames = guesses.length / this.count;
  }
  read(frame, i) {
    return this.guesses[frame * this.count + i];
  }
  isRight(frame, i) {
    return this.read(frame, i) === this.labels[i];
  }
  /** How many images are read correctly in each frame. */
  rightPerFrame() {
    return Array.from({ length: this.frames }, (_, frame) => {
      let right = 0;
      for (let i = 0; i < this.count; i++) right += this.isRight(frame, i) ? 1 : 0;
      return right;
    });
  }
  /** How strongly an image still flashes because it has just turned right: 0 to 1. */
  flash(frame, part, i) {
    for (let back = 1; back <= FLASH_FRAMES && back <= frame; back++) {
      if (!this.isRight(frame - back, i)) return 1 - (back - 1 + part) / FLASH_FRAMES;
    }
    return 0;
  }
  /** The frame from which on it is always read correctly, or -1. */
  settled(i) {
    let frame = this.frames;
    while (frame > 0 && this.isRight(frame - 1, i)) frame--;
    return frame < this.frames ? frame : -1;
  }
}
