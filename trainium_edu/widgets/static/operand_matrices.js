// W, X and dst as matrices beside the array: which of their numbers is where, cycle by cycle.
//
// Python labels every operand element and runs the same plan on the labels (see _labels in
// widgets/systolic_array.py); the labels say which element a PE holds.  A picture is drawn once a
// cycle.  Not exported: joined before systolic_array.js.

const MATRIX_GAP = 20, MATRIX_TITLE = 17;

/**
 * Draw the three matrices of a film that has them.  draw(t, picked, element, look) once a cycle;
 * holders(t) lists the PEs that hold the element under the pointer.
 */
function createOperandMatrices({ film, label, sumOf, onPoint, onFollow }) {
  const { rows, columns, k: kAll, m: mAll, n: nAll } = film;
  const per = rows * columns;
  const outputs = film.dataflow === "output-stationary";
  const swapped = film.dataflow === "input-stationary";
  const matrices = {
    W: { name: "W [K, M]", high: kAll, wide: mAll, value: (i) => film.w[i] },
    X: { name: "X [K, N]", high: kAll, wide: nAll, value: (i) => film.x[i] },
    dst: { name: "dst = Wᵀ X  [M, N]", high: mAll, wide: nAll, value: (i) => psum[i] },
  };
  // which planes of labels belong to which operand, and the bit that says a label is there
  const holds = outputs
    ? { W: [[film.of_down, DOWN]], X: [[film.of_across, ACROSS]] }
    : swapped
      ? { W: [[film.of_across, ACROSS]], X: [[film.of_stays, STAYS], [film.of_waiting, WAITS]] }
      : { W: [[film.of_stays, STAYS], [film.of_waiting, WAITS]], X: [[film.of_across, ACROSS]] };
  const stayingName = outputs ? "" : swapped ? "X" : "W";
  const psum = new Float32Array(mAll * nAll);
  const landed = new Uint8Array(mAll * nAll);
  const needed = new Uint8Array(mAll * nAll); // how many sums make an element
  for (let i = 0; i < film.r_cycle.length; i++) needed[film.r_m[i] * nAll + film.r_n[i]]++;
  let cell = 24;
  let size = 12;
  let pointed = null; // {name, i}
  const canvas = make("canvas", { role: "img", on: { pointermove: point, pointerleave: () => set(null), pointerdown: follow } });

  /** Lay the matrices side by side, or dst below the others; return the height. */
  function layout(width) {
    const room = width - 2 * MATRIX_GAP - 6;
    const one = Math.floor(room / (mAll + 2 * nAll));
    const two = Math.floor((room + MATRIX_GAP) / Math.max(mAll + nAll, nAll));
    const below = one < 17;
    cell = Math.max(9, Math.min(26, below ? two : one));
    size = Math.max(7, Math.min(12, cell * 0.5));
    let x = 1;
    let y = MATRIX_TITLE;
    for (const matrix of Object.values(matrices)) {
      if (below && matrix === matrices.dst) {
        x = 1;
        y += kAll * cell + MATRIX_TITLE + 6;
      }
      Object.assign(matrix, { x, y });
      x += matrix.wide * cell + MATRIX_GAP;
    }
    return Math.max(...Object.values(matrices).map(({ y: top, high }) => top + high * cell)) + 4;
  }
  /** Where each element is at a cycle: 1 in use or on its way, 2 waiting in a PE; dst: its PE + 1. */
  function whereabouts(t) {
    const at = { W: new Uint8Array(kAll * mAll), X: new Uint8Array(kAll * nAll), dst: new Uint16Array(mAll * nAll) };
    for (let j = 0; j < per; j++) {
      const bits = film.state[t * per + j];
      for (const name of ["W", "X"]) {
        for (const [labels, bit] of holds[name]) {
          if (bits & bit) at[name][labels[t * per + j] - 1] |= bit === WAITS ? 2 : 1;
        }
      }
      const sum = sumOf(t, Math.floor(j / columns), j % columns);
      if (sum) at.dst[sum.m * nAll + sum.n] = j + 1;
    }
    return at;
  }
  /** Fill PSUM as it stands at the end of a cycle; results are in the order of their cycles. */
  function fill(t) {
    psum.fill(0);
    landed.fill(0);
    for (let i = 0; i < film.r_cycle.length && film.r_cycle[i] <= t; i++) {
      const j = film.r_m[i] * nAll + film.r_n[i];
      psum[j] = film.r_adds[i] ? Math.fround(psum[j] + film.r_value[i]) : film.r_value[i];
      landed[j]++;
    }
  }
  /** The elements that a PE works with: {W, X, dst}, absent where it holds none. */
  function elementsOf(t, k, m) {
    const j = t * per + k * columns + m;
    const found = {};
    for (const name of ["W", "X"]) {
      for (const [labels, bit] of holds[name]) if (bit !== WAITS && film.state[j] & bit) found[name] = labels[j] - 1;
    }
    const sum = sumOf(t, k, m);
    if (sum) found.dst = sum.m * nAll + sum.n;
    return found;
  }
  function draw(c, t, picked, element, look) {
    const { tones, shadeOf } = look;
    c.clearRect(0, 0, look.width, look.height);
    fill(t);
    const where = whereabouts(t);
    c.textBaseline = "middle";
    for (const [name, matrix] of Object.entries(matrices)) {
      c.textAlign = "left";
      c.font = "600 12px sans-serif";
      c.fillStyle = tones.ink;
      c.fillText(matrix.name, matrix.x, matrix.y - 9);
      c.font = `${size}px sans-serif`;
      c.textAlign = "center";
      for (let i = 0; i < matrix.high * matrix.wide; i++) {
        const [x, y] = cornerOf(matrix, i);
        const here = where[name][i];
        const inUse = name === stayingName && here & 1;
        const there = name !== "dst" || landed[i];
        if (name === "dst" && there) c.fillStyle = shadeOf(psum[i]);
        else c.fillStyle = inUse ? tones.soft : tones.paper;
        c.fillRect(x, y, cell, cell);
        if (here && !inUse) {
          c.strokeStyle = name === "dst" ? "#E69F00" : here & 2 || name === "W" ? "#CC79A7" : "#009E73";
          const inset = cell < 18 ? 1 : 2.5;
          c.lineWidth = cell < 18 ? 1.2 : 2;
          c.strokeRect(x + inset, y + inset, cell - 2 * inset, cell - 2 * inset);
        }
        c.fillStyle = here || (name === "dst" && landed[i] === needed[i]) ? tones.ink : tones.muted;
        c.fillText(there ? short(matrix.value(i)) : here ? short(runningSum(t * per + here - 1)) : "·", x + cell / 2, y + cell / 2 + 0.5);
      }
      c.lineWidth = 1;
      c.strokeStyle = tones.line;
      c.strokeRect(matrix.x - 0.5, matrix.y - 0.5, matrix.wide * cell + 1, matrix.high * cell + 1);
    }
    if (element) frame(c, matrices.dst, element.m * nAll + element.n, "#0072B2");
    for (const [name, i] of Object.entries(elementsOf(t, picked.k, picked.m))) frame(c, matrices[name], i, tones.mark);
    if (!pointed) return;
    frame(c, matrices[pointed.name], pointed.i, tones.ink);
    if (pointed.name !== "dst") return;
    c.strokeStyle = tones.ink; // a column of W and a column of X make an element
    for (const [matrix, j] of [[matrices.W, Math.floor(pointed.i / nAll)], [matrices.X, pointed.i % nAll]]) {
      c.strokeRect(matrix.x + j * cell, matrix.y, cell, kAll * cell);
    }
  }
  /** The sum that a PE holds for a result. */
  function runningSum(j) {
    if (!outputs) return number(film.down, j);
    return number(film.state[j] & STAYS ? film.stays : film.leaving, j);
  }
  const cornerOf = (matrix, i) => [matrix.x + (i % matrix.wide) * cell, matrix.y + Math.floor(i / matrix.wide) * cell];
  function frame(c, matrix, i, colour) {
    const [x, y] = cornerOf(matrix, i);
    c.strokeStyle = colour;
    c.lineWidth = 2;
    c.strokeRect(x, y, cell, cell);
    c.lineWidth = 1;
  }
  function under(event) {
    for (const [name, matrix] of Object.entries(matrices)) {
      const column = Math.floor((event.offsetX - matrix.x) / cell);
      const row = Math.floor((event.offsetY - matrix.y) / cell);
      if (row >= 0 && row < matrix.high && column >= 0 && column < matrix.wide) return { name, i: row * matrix.wide + column };
    }
    return null;
  }
  function set(next) {
    if (next?.name === pointed?.name && next?.i === pointed?.i) return;
    pointed = next;
    onPoint();
  }
  function point(event) {
    if (event.pointerType === "mouse") set(under(event));
  }
  function follow(event) {
    const found = under(event);
    if (found?.name === "dst") onFollow(Math.floor(found.i / nAll), found.i % nAll);
    set(found);
  }
  /** The PEs that hold the element under the pointer: [[k, m], ...]. */
  function holders(t) {
    if (!pointed) return [];
    const found = [];
    for (let j = 0; j < per; j++) {
      const [k, m] = [Math.floor(j / columns), j % columns];
      if (pointed.name === "dst") {
        const sum = sumOf(t, k, m);
        if (sum && sum.m * nAll + sum.n === pointed.i) found.push([k, m]);
      } else if (holds[pointed.name].some(([labels, bit]) => film.state[t * per + j] & bit && labels[t * per + j] - 1 === pointed.i)) {
        found.push([k, m]);
      }
    }
    return found;
  }
  function describe(t) {
    fill(t);
    const done = landed.reduce((sum, count, i) => sum + (count > 0 && count === needed[i]), 0);
    canvas.setAttribute("aria-label", `W, X and dst as matrices: ${label}. ${done} of ${mAll * nAll} elements of dst are finished`);
  }
  return { canvas, layout, draw, holders, describe };
}
