// One training step as Python packed it (viz/step_frames.py): two timelines, "on" with sums that
// travel during the backward pass and "off" after it, and the links' bytes in each collective.

import { Wiring } from "../collective/wiring.js";
import { pairsOf } from "../shared/bytes.js";
import { clamp } from "../shared/time.js";

const TRACKS = ["compute", "links", "host"];

/** One of the timelines. */
class Line {
  constructor(film, name) {
    const [ns, nameOf, trackOf] = ["ns", "name", "track"].map((what) => film[`${name}_${what}`]);
    let buckets = 0;
    this.spans = Array.from(nameOf, (text, i) => {
      const track = TRACKS[trackOf[i]];
      const bucket = track === "links" ? buckets++ : -1;
      const number = bucket < 0 ? "" : ` ${buckets}`;
      const [start, end] = ns.subarray(2 * i, 2 * i + 2);
      return { name: film.names[text] + number, track, bucket, start, end };
    });
    this.exposed = pairsOf(film[`${name}_exposed`]);
    this.buckets = this.spans.filter((span) => span.bucket >= 0);
    this.end = Math.max(0, ...this.spans.map((span) => span.end));
    this.exposedNs = this.exposed.reduce((sum, [from, to]) => sum + to - from, 0);
    this.linksNs = this.buckets.reduce((sum, { start, end }) => sum + end - start, 0);
  }
  /** What runs at a time: { compute, bucket }, undefined where nothing does. */
  at(ns) {
    const runs = this.spans.filter(({ start, end }) => start <= ns && ns < end);
    return {
      compute: runs.findLast((span) => span.bucket < 0),
      bucket: runs.find((span) => span.bucket >= 0),
    };
  }
}

export class StepFilm extends Wiring {
  constructor(bytes) {
    super(bytes);
    this.on = new Line(this, "on");
    this.off = new Line(this, "off");
    this.end = Math.max(this.on.end, this.off.end);
    for (const line of [this.on, this.off]) line.moments = this.momentsOf(line);
  }
  /** The steps of a bucket's schedule: { ends, bytes }, or null where it is not known. */
  billOf(span) {
    const k = this.bills[span.bucket];
    return k === undefined ? null : { ends: this[`ends_${k}`], bytes: this[`bytes_${k}`] };
  }
  /** When a step of a bucket's schedule ends; a bill's own time is stretched to the span's. */
  endOf(span, { ends }, step) {
    return span.start + ((span.end - span.start) * ends[step]) / ends.at(-1);
  }
  /** All times at which something begins or ends. */
  momentsOf(line) {
    const times = line.spans.flatMap((span) => {
      const bill = span.bucket >= 0 && this.billOf(span);
      const inside = bill ? Array.from(bill.ends, (_, i) => this.endOf(span, bill, i)) : [];
      return [span.start, ...inside, span.end];
    });
    const sorted = [...new Set(times)].sort((a, b) => a - b);
    return sorted.filter((t, i) => i === 0 || t - sorted[i - 1] > 1e-6 * line.end);
  }
  /** What links carry at a time: { step, steps, part, most, links, heatOf }, or null. */
  trafficAt(line, ns) {
    const span = line.at(ns).bucket;
    const bill = span && this.billOf(span);
    if (!bill) return null;
    const steps = bill.ends.length;
    const share = ((ns - span.start) / (span.end - span.start)) * bill.ends.at(-1);
    const slack = 1e-6 * bill.ends.at(-1); // a moment is the beginning of what follows
    const found = bill.ends.findIndex((end) => share < end - slack);
    const step = found < 0 ? steps - 1 : found;
    const began = step ? bill.ends[step - 1] : 0;
    const part = clamp((share - began) / (bill.ends[step] - began || 1), 0, 1);
    const count = this.linkCount;
    const carried = bill.bytes.subarray(step * count, (step + 1) * count);
    const most = carried.reduce((a, b) => Math.max(a, b), 0);
    const top = bill.bytes.reduce((a, b) => Math.max(a, b), 0) || 1;
    const links = carried.reduce((sum, b) => sum + (b > 0), 0);
    const heatOf = (link) => carried[link] / top;
    return { step, steps, part, most, links, heatOf };
  }
}

/** The time at a fractional position among moments. */
export function timeAt(moments, position) {
  const i = Math.min(moments.length - 1, Math.floor(position));
  const next = moments[Math.min(moments.length - 1, i + 1)];
  return moments[i] + (next - moments[i]) * (position - i);
}

/** The position of a time among moments. */
export function positionAt(moments, ns) {
  const before = moments.findLastIndex((t) => t <= ns);
  const i = Math.max(0, before);
  const next = moments[i + 1];
  return next === undefined ? i : i + Math.max(0, (ns - moments[i]) / (next - moments[i]));
}

/** Where the cursor stands first: in the middle of the first bucket, so that links are lit. */
export function firstMoment(line) {
  const [first] = line.buckets;
  return first ? (first.start + first.end) / 2 : 0;
}
