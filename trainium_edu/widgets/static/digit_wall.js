// A wall of digits on a canvas: filled where the network misreads one, flashing when it turns right.
// Joined behind playback.js (make, focusable).
const PER_ROW = 36, FLASH_FRAMES = 3, MISREAD = [213, 94, 0], TURNED = [0, 114, 178];

/** Digits as white-on-nothing and black-on-nothing sheets, one 8 × 8 cell each. */
function digitSheets(images, count) {
  const sheet = (tone) => {
    const canvas = make("canvas", { width: 8 * PER_ROW, height: 8 * Math.ceil(count / PER_ROW) });
    const pen = canvas.getContext("2d");
    for (let i = 0; i < count; i++) {
      const data = new ImageData(8, 8);
      for (let p = 0; p < 64; p++) data.data.set([tone, tone, tone, images[64 * i + p]], 4 * p);
      pen.putImageData(data, 8 * (i % PER_ROW), 8 * Math.floor(i / PER_ROW));
    }
    return canvas;
  };
  return { black: sheet(0), white: sheet(255) };
}

function digitWall({ images, labels, describe }) {
  const count = labels.length, rows = Math.ceil(count / PER_ROW);
  const sheets = digitSheets(images, count);
  const canvas = make("canvas", {
    ...focusable("The test images, sorted by digit; arrow keys choose one"), tabindex: 0, role: "img", class: "te-tf-wall",
    on: { keydown: onKey, pointermove: onPoint, pointerdown: onPoint, pointerleave: () => choose(-1), blur: () => choose(-1) },
  });
  canvas.removeAttribute("title"); // the sentence below says more than a tooltip
  const large = make("canvas", { width: 56, height: 56, class: "te-tf-large", "aria-hidden": "true" });
  const sentence = make("span", { role: "status" });
  const element = make("div", {}, canvas, make("div", { class: "te-tf-about" }, large, sentence));
  let guesses = null, position = 0, tile = 20, chosen = -1;

  const read = (frame, i) => guesses[frame * count + i];
  const right = (frame, i) => read(frame, i) === labels[i];
  const isDark = () => document.body.dataset.jpThemeLight === "false";

  function onKey(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: PER_ROW, ArrowUp: -PER_ROW }[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    choose(chosen < 0 ? 0 : Math.min(count - 1, Math.max(0, chosen + step)));
    event.preventDefault();
    event.stopPropagation();
  }
  function onPoint(event) {
    const box = canvas.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left) / box.width) * PER_ROW);
    const row = Math.floor(((event.clientY - box.top) / box.height) * rows);
    const i = row * PER_ROW + column;
    choose(column >= 0 && column < PER_ROW && row >= 0 && i < count ? i : -1);
  }
  function choose(i) {
    if (i === chosen) return;
    chosen = i;
    draw(position);
  }
  /** How strongly a tile still flashes because it has just turned right: 0 to 1. */
  function flash(frame, part, i) {
    for (let back = 1; back <= FLASH_FRAMES && back <= frame; back++) {
      if (!right(frame - back, i)) return 1 - (back - 1 + part) / FLASH_FRAMES;
    }
    return 0;
  }
  function layout() {
    const ratio = window.devicePixelRatio || 1;
    tile = Math.max(12, Math.min(30, Math.floor((element.clientWidth || 760) / PER_ROW)));
    canvas.width = Math.round(tile * PER_ROW * ratio);
    canvas.height = Math.round(tile * rows * ratio);
    canvas.style.width = `${tile * PER_ROW}px`;
    canvas.style.height = `${tile * rows}px`;
  }
  function draw(to) {
    position = to;
    const frame = Math.floor(position + 1e-6), part = Math.max(0, position - frame);
    const pen = canvas.getContext("2d"), side = canvas.width / PER_ROW, dark = isDark();
    const size = Math.max(8, 8 * Math.floor((side - 2) / 8)), edge = (side - size) / 2;
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.imageSmoothingEnabled = false;
    let wrong = 0;
    for (let i = 0; i < count; i++) {
      const x = side * (i % PER_ROW), y = side * Math.floor(i / PER_ROW);
      const good = right(frame, i), strength = good ? flash(frame, part, i) : 1;
      wrong += good ? 0 : 1;
      if (strength > 0) {
        pen.fillStyle = `rgba(${(good ? TURNED : MISREAD).join()}, ${strength})`;
        pen.fillRect(x + 0.5, y + 0.5, side - 1, side - 1);
      }
      const ink = dark || strength > 0.4 ? sheets.white : sheets.black;
      pen.drawImage(ink, 8 * (i % PER_ROW), 8 * Math.floor(i / PER_ROW), 8, 8, x + edge, y + edge, size, size);
      if (i === chosen) {
        pen.strokeStyle = dark ? "#fff" : "#000";
        pen.lineWidth = Math.max(2, side / 10);
        pen.strokeRect(x + 1, y + 1, side - 2, side - 2);
      }
    }
    canvas.setAttribute("aria-label", `${count - wrong} of ${count} test images read correctly; arrow keys choose one`);
    element.dataset.wrong = wrong; // for tests and for the curious
    drawChosen(frame, dark);
  }
  function drawChosen(frame, dark) {
    const pen = large.getContext("2d");
    pen.clearRect(0, 0, 56, 56);
    pen.imageSmoothingEnabled = false;
    const i = chosen;
    large.hidden = i < 0;
    if (i >= 0) {
      pen.drawImage(dark ? sheets.white : sheets.black, 8 * (i % PER_ROW), 8 * Math.floor(i / PER_ROW), 8, 8, 0, 0, 56, 56);
    }
    const text = i < 0 ? describe(null) : describe({ frame, label: labels[i], read: read(frame, i), settled: settled(i) });
    if (sentence.textContent !== text) sentence.textContent = text;
  }
  /** The frame from which on it is always read correctly, or -1. */
  function settled(i) {
    let frame = guesses.length / count;
    while (frame > 0 && right(frame - 1, i)) frame--;
    return frame < guesses.length / count ? frame : -1;
  }
  return { element, layout, draw, setGuesses: (values) => { guesses = values; } };
}
