// Keys: which ones are ours, and where an arrow leads.

/** The way that each arrow key points, x to the right and y down. */
export const ARROWS = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** Whether a key comes without those that make it a shortcut of the browser or of JupyterLab. */
export const isPlain = (event) => !event.ctrlKey && !event.metaKey && !event.altKey;

/** Take a key: nobody else sees it. */
export function take(event) {
  event.preventDefault();
  event.stopPropagation();
}

/** Run the action that a table has for a key, and take the key; return whether there was one. */
export function answerKey(event, actions) {
  if (!isPlain(event) || !Object.hasOwn(actions, event.key)) return false;
  take(event);
  actions[event.key]();
  return true;
}

/** Which of some points an arrow leads to from point `from`: near, and rather ahead than beside. */
export function nextPoint(points, from, [dx, dy]) {
  const [x, y] = points[from];
  let best = -1;
  let least = Infinity;
  points.forEach(([u, v], i) => {
    const ahead = (u - x) * dx + (v - y) * dy;
    const beside = Math.abs((u - x) * dy) + Math.abs((v - y) * dx);
    if (ahead > 1 && ahead + 2.5 * beside < least) {
      best = i;
      least = ahead + 2.5 * beside;
    }
  });
  return best;
}
