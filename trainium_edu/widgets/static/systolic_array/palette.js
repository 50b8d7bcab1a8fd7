// Colours of sums: blue below zero, orange above, the stronger the larger.

const SHADES = 24; // of each sign
const BELOW = [0, 114, 178];
const ABOVE = [230, 159, 0];

export const INK = { across: "#009E73", wait: "#CC79A7", above: "#E69F00", below: "#0072B2" };

/** The number of a value's shade, from 0 to 2 * SHADES; `scale` has the strongest one. */
export function shadeOf(value, scale) {
  if (!Number.isFinite(value)) return value < 0 ? 0 : 2 * SHADES;
  const size = Math.min(1, Math.abs(value) / scale) ** 0.6;
  return SHADES + Math.round(Math.sign(value) * size * SHADES);
}

/** All shades on a paper, as [r, g, b]. */
export function shadesOn(paper, isDark) {
  return Array.from({ length: 2 * SHADES + 1 }, (_, i) => {
    const strength = Math.abs(i - SHADES) / SHADES;
    const share = isDark ? 0.2 + 0.62 * strength : 0.12 + 0.6 * strength;
    const to = i < SHADES ? BELOW : ABOVE;
    return paper.map((from, c) => Math.round(from + (to[c] - from) * share));
  });
}

/** Pack opaque red, green, blue into one pixel, as ImageData holds it on little-endian machines. */
export const packed = (r, g, b) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

/** Return a colour of the page as [r, g, b]. */
function rgbOf(css) {
  const probe = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  probe.fillStyle = css;
  probe.fillRect(0, 0, 1, 1);
  return [...probe.getImageData(0, 0, 1, 1).data.slice(0, 3)];
}

export class Palette {
  constructor(tones, scale) {
    this.scale = scale;
    this.paper = rgbOf(tones.lane);
    this.rgb = shadesOn(this.paper, tones.dark);
    this.texts = this.rgb.map((rgb) => `rgb(${rgb.join()})`);
    this.pixels = Uint32Array.from(this.rgb, (rgb) => packed(...rgb));
  }
  shade(value) {
    return shadeOf(value, this.scale);
  }
  css(value) {
    return this.texts[this.shade(value)];
  }
}
