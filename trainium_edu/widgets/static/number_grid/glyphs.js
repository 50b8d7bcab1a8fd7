// Characters as how much of each pixel they cover, and what that looks like on a colour.

const CHARACTERS = "0123456789.−eNa∞…";

/** Pack opaque red, green, blue into one pixel, as ImageData holds it on little-endian machines. */
export const packed = (r, g, b) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

/** Return a function from a colour behind to the pixel of an ink for each coverage, 0 to 255. */
export function inks(ink) {
  const known = new Map();
  return (back) => {
    const key = packed(...back);
    if (!known.has(key)) {
      const mixed = (a) => back.map((v, i) => Math.round(v + ((ink[i] - v) * a) / 255));
      known.set(
        key,
        Uint32Array.from({ length: 256 }, (_, a) => packed(...mixed(a))),
      );
    }
    return known.get(key);
  };
}

/** Draw the characters once, `size` device pixels large: {advance, wide, high, cover} by each. */
export function alphabet(size) {
  const high = Math.ceil(size * 1.2);
  const pen = new OffscreenCanvas(2 * high, high).getContext("2d", { willReadFrequently: true });
  pen.font = `${size}px sans-serif`;
  pen.textBaseline = "middle";
  const glyphs = new Map();
  for (const character of CHARACTERS) {
    const advance = pen.measureText(character).width;
    const wide = Math.min(2 * high, Math.ceil(advance));
    pen.clearRect(0, 0, 2 * high, high);
    pen.fillText(character, 0, high / 2);
    const cover = pen.getImageData(0, 0, wide, high).data.filter((_, i) => i % 4 === 3);
    glyphs.set(character, { advance, wide, high, cover });
  }
  return glyphs;
}

/** Centre the first spelling that fits between two edges, or "…": `visit(glyph, x)` for each. */
export function eachPlace(glyphs, spellings, left, right, visit) {
  const widthOf = (text) =>
    [...text].reduce((sum, character) => sum + (glyphs.get(character)?.advance ?? 0), 0);
  const text = spellings.find((spelling) => widthOf(spelling) <= right - left + 0.5) ?? "…";
  let place = (left + right - widthOf(text)) / 2;
  for (const character of text) {
    const glyph = glyphs.get(character);
    if (!glyph) continue;
    visit(glyph, Math.max(left, Math.round(place)));
    place += glyph.advance;
  }
}
