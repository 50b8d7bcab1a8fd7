// One curve over the steps of a run, with a cursor: loss in logarithms, or accuracy in percent.

import { Plot } from "../shared/plot.js";
import { roundStep } from "../shared/words.js";

const MOST_POINTS = 2000; // more of them than pixels

export class Curve extends Plot {
  points = [];

  /** `kind` is "loss" or "accuracy"; `seek(step)` when the picture is pressed or dragged on. */
  constructor(kind, title, seek) {
    super(title, "steps", { height: 200, top: kind === "loss" ? 0 : 100 });
    this.kind = kind;
    const drag = (event) => event.buttons && seek(Math.round(this.stepAt(event.offsetX)) - 1);
    this.picture.addEventListener("pointerdown", drag);
    this.picture.addEventListener("pointermove", drag);
  }
  /** Take the points so far, [steps done, value], and a bound if known; draw all but the cursor.
   *  Of runs before, too; the axis counts passes, if they are what is planned. */
  take(points, { planned, passes, bound, earlier, tested = true }) {
    const { kind } = this;
    this.points = points;
    const before = earlier.map((run) => (kind === "loss" ? run.loss : run.points));
    const values = [points, ...before].flatMap((run) => run.map(([, value]) => value));
    const perPass = planned / (passes || planned);
    this.below = passes ? "passes over the data" : "steps";
    const every = passes ? Math.max(1, roundStep(passes / 8)) * perPass : undefined;
    const least = tested ? 0.2 : 3; // a run that is only compared with others fills its plot
    this.layout(planned, values, { every, unit: perPass, least });
    const stride = Math.ceil(points.length / MOST_POINTS);
    const shown = points.filter((_, i) => i % stride === 0 || i === points.length - 1);
    this.look = `te-tm-${earlier.length ? `run${earlier.length}` : kind}`;
    const { look } = this;
    const dots = kind === "accuracy" && shown.length <= 40 ? shown : [];
    this.still.append(
      ...(bound ? [this.level(bound)] : []),
      ...before.flatMap((run, i) => this.before(run, i)),
      this.curve(shown, look),
      ...dots.map((point) => this.dot(point, look, 3)),
    );
  }
  /** A run before: its curve, and a dot where it ended. */
  before(points, number) {
    const look = `te-tm-run${number}`;
    const end = points.at(-1);
    const isThere = end && Number.isFinite(end[1]);
    return [this.curve(points, look), ...(isThere ? [this.dot(end, look, 4)] : [])];
  }
  /** Put the cursor behind a number of steps, on the last point known there. */
  moveTo(done, said) {
    const known = this.points.findLast(([step, value]) => step <= done && Number.isFinite(value));
    const dot = known ? [this.dot(known, this.look)] : [];
    this.show([this.upright(done), ...dot], said(known));
  }
}
