// Thousands of short numbers in small cells, written straight into pixels: a canvas that spells each
// of them anew takes many times as long.  Not exported: joined before a player's file.

const GRID_CHARACTERS = "0123456789.−eNa∞…";

/** Pack opaque red, green, blue into one pixel, as ImageData holds it on little-endian machines. */
const packed = (r, g, b) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

/** Return a colour of the page as [r, g, b]. */
function rgbOf(css) {
  const probe = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  probe.fillStyle = css;
  probe.fillRect(0, 0, 1, 1);
  return [...probe.getImageData(0, 0, 1, 1).data.slice(0, 3)];
}

/**
 * A picture of rows × columns numbers.  fit() once per size and theme, paint() and erase() what
 * changed, flush(), and draw `canvas` wherever it belongs.
 */
function createNumberGrid(rows, columns) {
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d");
  let image = null;
  let pixels = null;
  let side = 0; // of a cell, in device pixels
  let inset = 1;
  let ink = [0, 0, 0];
  let glyphs = new Map();
  let inks = new Map(); // by colour behind: the pixel for each coverage from 0 to 255
  let first = Infinity, last = -1; // rows of cells that wait for flush()

  function fit(cell, ratio, size, colour) {
    side = cell * ratio;
    inset = Math.max(1, Math.round(ratio));
    ink = colour;
    canvas.width = Math.ceil(columns * side);
    canvas.height = Math.ceil(rows * side);
    image = new ImageData(canvas.width, canvas.height);
    pixels = new Uint32Array(image.data.buffer);
    inks = new Map();
    glyphs = new Map();
    const high = Math.ceil(size * ratio * 1.2);
    const pen = new OffscreenCanvas(2 * high, high).getContext("2d", { willReadFrequently: true });
    pen.font = `${size * ratio}px sans-serif`;
    pen.textBaseline = "middle";
    for (const character of GRID_CHARACTERS) {
      const advance = pen.measureText(character).width;
      const wide = Math.min(2 * high, Math.ceil(advance));
      pen.clearRect(0, 0, 2 * high, high);
      pen.fillText(character, 0, high / 2);
      const drawn = pen.getImageData(0, 0, wide, high).data;
      glyphs.set(character, { advance, wide, high, cover: Uint8Array.from({ length: wide * high }, (_, i) => drawn[4 * i + 3]) });
    }
    first = 0;
    last = rows - 1;
  }
  function inkOn([r, g, b]) {
    const key = packed(r, g, b);
    if (!inks.has(key)) {
      inks.set(key, Uint32Array.from({ length: 256 }, (_, a) =>
        packed(...[r, g, b].map((v, i) => Math.round(v + (ink[i] - v) * a / 255)))));
    }
    return inks.get(key);
  }
  function box(row, column) {
    const x0 = Math.round(column * side), y0 = Math.round(row * side);
    return [x0 + inset, y0 + inset, Math.round((column + 1) * side) - inset, Math.round((row + 1) * side) - inset];
  }
  function fill(x0, y0, x1, y1, pixel) {
    for (let y = y0; y < y1; y++) pixels.fill(pixel, y * canvas.width + x0, y * canvas.width + x1);
  }
  const widthOf = (text) => [...text].reduce((sum, character) => sum + (glyphs.get(character)?.advance ?? 0), 0);
  /** Write the first of some spellings that fits on a colour, with a coloured edge if one is given. */
  function paint(row, column, spellings, back, edge = null) {
    let [x0, y0, x1, y1] = box(row, column);
    first = Math.min(first, row);
    last = Math.max(last, row);
    if (edge) {
      fill(x0, y0, x1, y1, packed(...edge));
      x0++; y0++; x1--; y1--;
    }
    const tint = inkOn(back);
    fill(x0, y0, x1, y1, tint[0]);
    const text = spellings.find((spelling) => widthOf(spelling) <= x1 - x0 + 0.5) ?? "…";
    let place = (x0 + x1 - widthOf(text)) / 2;
    for (const character of text) {
      const glyph = glyphs.get(character);
      if (!glyph) continue;
      const x = Math.max(x0, Math.round(place));
      place += glyph.advance;
      const top = (y0 + y1 - glyph.high + 1) >> 1;
      for (let v = Math.max(0, y0 - top); v < glyph.high && top + v < y1; v++) {
        const at = (top + v) * canvas.width + x;
        for (let u = 0; u < glyph.wide && x + u < x1; u++) {
          const cover = glyph.cover[v * glyph.wide + u];
          if (cover) pixels[at + u] = tint[cover];
        }
      }
    }
  }
  function erase(row, column) {
    first = Math.min(first, row);
    last = Math.max(last, row);
    fill(...box(row, column), 0);
  }
  function flush() {
    if (last < first) return;
    const top = Math.floor(first * side);
    context.putImageData(image, 0, 0, 0, top, canvas.width, Math.ceil((last + 1) * side) - top);
    first = Infinity;
    last = -1;
  }
  return { canvas, fit, paint, erase, flush };
}
