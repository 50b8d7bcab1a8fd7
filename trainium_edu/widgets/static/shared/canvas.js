// Canvases: sharp on every screen, and in the colours of the page.

/** Give a canvas the pixels of its place on the screen; returns its context, in CSS pixels. */
export function fitCanvas(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const wide = Math.max(1, Math.round(width * ratio)); // one of no width cannot be drawn on another
  const high = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== wide || canvas.height !== high) {
    Object.assign(canvas, { width: wide, height: high });
    Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

/** Fit a canvas to its place on the screen and clear it; returns its context. */
export function cleared(canvas, width, height) {
  const c = fitCanvas(canvas, width, height);
  c.clearRect(0, 0, width, height);
  return c;
}

/** Draw the outline of a rectangle; the next lines are one pixel wide again. */
export function frame(c, colour, lineWidth, x, y, width, height) {
  Object.assign(c, { strokeStyle: colour, lineWidth });
  c.strokeRect(x, y, width, height);
  c.lineWidth = 1;
}

/** Whether JupyterLab's theme is dark, or, on another page, the reader's system. */
export function pageIsDark() {
  const light = document.body.dataset.jpThemeLight;
  if (light !== undefined) return light === "false";
  return window.matchMedia("(prefers-color-scheme: dark)").matches;
}

/** The page's colours and fonts; read them again when the theme changes. */
export function readTones(root) {
  const style = getComputedStyle(root);
  const tone = (name, other) => style.getPropertyValue(`--jp-${name}`).trim() || other;
  return {
    paper: tone("layout-color0", "#ffffff"),
    lane: tone("layout-color1", "#fafafa"),
    soft: tone("layout-color2", "#eeeeee"),
    full: tone("ui-font-color0", "#111111"),
    ink: tone("ui-font-color1", "#222222"),
    muted: tone("ui-font-color2", "#616161"),
    strong: tone("border-color1", "#bbbbbb"),
    line: tone("border-color2", "#dddddd"),
    brand: tone("brand-color1", "#1976d2"),
    mark: "#D55E00",
    font: tone("ui-font-family", "sans-serif"),
    code: tone("code-font-family", "monospace"),
    dark: pageIsDark(),
  };
}

/** Relative luminance of a colour #rrggbb, from 0 to 1 (WCAG 2.2). */
export function luminance(colour) {
  const [r, g, b] = [1, 3, 5].map((i) => {
    const c = parseInt(colour.slice(i, i + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

const letters = new Map();

/** Black or white, whichever reads better on a colour. */
export function letterOn(colour) {
  if (!letters.has(colour)) letters.set(colour, luminance(colour) > 0.18 ? "#000" : "#fff");
  return letters.get(colour);
}

/** Write a text at a place, with a rim of another colour around its letters if one is given. */
export function write(c, text, x, y, look) {
  const { font, colour, align = "left", baseline = "middle", halo = null } = look;
  c.font = font;
  c.textAlign = align;
  c.textBaseline = baseline;
  if (halo) {
    c.lineWidth = 3;
    c.strokeStyle = halo;
    c.strokeText(text, x, y);
  }
  c.fillStyle = colour;
  c.fillText(text, x, y);
}

/** Draw a straight line. */
export function stroke(c, x0, y0, x1, y1, colour, width = 1, dash = []) {
  c.strokeStyle = colour;
  c.lineWidth = width;
  c.setLineDash(dash);
  c.beginPath();
  c.moveTo(x0, y0);
  c.lineTo(x1, y1);
  c.stroke();
  c.setLineDash([]);
}
