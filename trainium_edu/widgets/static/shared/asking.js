// Questions to Python: one under way at a time, and behind it only the newest.

import { tell } from "./life.js";

export class Asker {
  /** `trait` is a dictionary that Python answers to; without an answer the next one may go. */
  constructor(model, trait, patience) {
    Object.assign(this, { model, trait, patience, waiting: null, isBehind: false });
    this.take();
  }
  /** Take over what Python has, unless something newer is still to be sent. */
  take() {
    if (!this.isBehind) this.values = { ...this.model.get(this.trait) };
  }
  ask(change) {
    Object.assign(this.values, change);
    if (this.waiting !== null) {
      this.isBehind = true;
      return;
    }
    this.waiting = setTimeout(() => this.answered(), this.patience);
    this.values.ask = (this.values.ask || 0) + 1; // so that the same question has an answer again
    tell(this.model, { [this.trait]: { ...this.values } });
  }
  answered() {
    this.dispose();
    if (!this.isBehind) return;
    this.isBehind = false;
    this.ask({});
  }
  dispose() {
    clearTimeout(this.waiting);
    this.waiting = null;
  }
}
