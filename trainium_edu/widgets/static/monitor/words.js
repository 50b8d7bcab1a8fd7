// What the training monitor says: pure.

import { bytesText, listed, lossText, many, nsText } from "../shared/words.js";

/** Agreement of the replicas after a step. */
export function agreementText(run, step) {
  const ranks = run.differing(step);
  if (!ranks.length) return `all ${run.ranks} replicas are equal, bit for bit`;
  const verb = ranks.length === 1 ? "differs" : "differ";
  const who = `${ranks.length === 1 ? "rank" : "ranks"} ${listed(ranks)}`;
  return `${who} ${verb} from the others, since step ${run.firstSplit + 1}`;
}

/** A run at a step, counted from 0. */
export function runText(run, step) {
  if (!run.done) return `No step yet of ${run.planned}.`;
  const known = run.accuracyAt(step);
  const accuracy = known
    ? `, test accuracy ${(100 * known[1]).toFixed(1)} % (step ${known[0]})`
    : "";
  return `After step ${step + 1} of ${run.planned}: loss ${lossText(run.loss[step])}${accuracy}.`;
}

/** A whole step with overlap or without. */
export function stepText(line, isOn) {
  const time = `One step takes ${nsText(line.end)}`;
  if (!line.buckets.length) return `${time}, without communication.`;
  const sums = many(line.buckets.length, "bucket");
  const how = isOn ? "with overlap" : "without overlap";
  const exposed = line.exposedNs ? `${nsText(line.exposedNs)} of it exposed` : "none of it exposed";
  return `${time} ${how}: ${nsText(line.linksNs)} of communication in ${sums}, ${exposed}.`;
}

/** The share of the step in which each engine works. */
export const sharesText = (shares) =>
  shares.map(([name, share]) => `${name} ${(100 * share).toFixed(1)} %`).join(" · ");

/** What runs at a moment. */
export function momentText(film, line, ns) {
  const { compute, bucket } = line.at(ns);
  const engines = compute ? compute.name : "engines wait";
  const traffic = film.trafficAt(line, ns);
  let links = bucket ? bucket.name : "links idle";
  if (traffic) {
    const { links: count, most, step, steps } = traffic;
    const load = count
      ? `${many(count, "link")} with up to ${bytesText(most)}`
      : "inside the chips";
    links += `, step ${step + 1} of ${steps}: ${load}`;
  }
  return `${nsText(ns)}: ${engines} · ${links}`;
}
