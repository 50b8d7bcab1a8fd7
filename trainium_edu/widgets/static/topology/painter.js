// Paint a machine.  A chip always covers what lies behind or before it, so that no way is drawn
// through a chip that is not on it.

import { write } from "../shared/canvas.js";

/**
 * Paint what is `seen`: `way` lists chips, `onWay` their cables; one cable may be cut or pointed
 * at.
 */
export function paint(c, seen, { way, onWay, cut, pointed, notes, tones }) {
  for (const k of seen.cablesByDepth((cable) => onWay.has(cable))) {
    const state = { isOnWay: onWay.has(k), isCut: k === cut, isPointed: k === pointed };
    paintCable(c, seen.cables[k], { ...state, tones });
  }
  for (const chip of seen.chipsByDepth) {
    const place = way.indexOf(chip);
    const isEnd = place === 0 || (place >= 0 && place === way.length - 1);
    const note = notes[chip];
    paintChip(c, seen.chips[chip], seen.halfOf(chip), { chip, place, isEnd, note, tones });
  }
}

function paintCable(c, points, { isOnWay, isCut, isPointed, tones }) {
  const near = points.reduce((sum, p) => sum + p[3], 0) / points.length;
  const stroke = (width, colour) => {
    c.lineWidth = width * near;
    c.strokeStyle = colour;
    c.beginPath();
    for (const [x, y] of points) c.lineTo(x, y);
    c.stroke();
  };
  c.lineJoin = "round";
  c.setLineDash(isCut ? [2, 8] : []);
  if (!isCut) stroke(isOnWay ? 10 : 7, tones.lane); // so that crossings show what is in front
  const width = isPointed ? 7 : isOnWay ? 6 : isCut ? 2.5 : 3.5;
  stroke(width, isOnWay || isCut ? tones.mark : isPointed ? tones.brand : tones.strong);
  c.setLineDash([]);
}

function paintChip(c, [x, y], half, { chip, place, isEnd, note, tones }) {
  const box = (more, colour) => {
    const side = 2 * (half + more);
    c.fillStyle = colour;
    c.beginPath();
    c.roundRect(x - half - more, y - half - more, side, side, 6);
    c.fill();
  };
  box(3.5, tones.lane); // a gap around each chip: cables pass behind it, never through it
  box(0, place >= 0 ? tones.mark : tones.soft);
  c.strokeStyle = isEnd ? tones.full : tones.strong;
  c.lineWidth = isEnd ? 2.5 : 1;
  c.stroke();
  const shown = half > 13.5 ? note : "";
  const colour = place >= 0 ? "#000" : tones.full;
  const text = { colour, align: "center" };
  const number = { ...text, font: `600 ${half > 13 ? 13 : 10}px ${tones.font}` };
  write(c, String(chip), x, y - (shown ? half * 0.28 : 0), number);
  if (shown)
    write(c, shown, x, y + half * 0.48, { ...text, font: `${half > 15 ? 10 : 9}px ${tones.font}` });
}
