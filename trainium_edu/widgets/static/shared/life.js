// What a view listens to while it stands on a page.  Each returns a function that ends it.

// A picture pushes down what follows it: anchored, the page would scroll past the new picture.  And
// a paragraph stands off the fold above it.
const LOOK =
  ".jp-WindowedPanel-outer{overflow-anchor:none}.jp-MarkdownOutput details{margin:0 0 1em}";
const STILL = { id: "te-still", textContent: LOOK };
if (globalThis.document?.head && !document.getElementById(STILL.id))
  document.head.append(Object.assign(document.createElement("style"), STILL));

/** Call when the theme changes, once its colours hold. */
export function onTheme(action) {
  const watcher = new MutationObserver(() => requestAnimationFrame(action));
  const attributeFilter = ["data-jp-theme-light", "data-jp-theme-name"];
  watcher.observe(document.body, { attributes: true, attributeFilter });
  return () => watcher.disconnect();
}

/** Call when one of some elements changes its size, and once at the beginning. */
export function onSize(action, ...elements) {
  const watcher = new ResizeObserver(action);
  for (const element of elements) watcher.observe(element);
  return () => watcher.disconnect();
}

/** Call when traits of the model change: `{ "name other": action }`. */
export function onChange(model, actions) {
  const pairs = Object.entries(actions).flatMap(([names, action]) =>
    names.split(" ").map((name) => [`change:${name}`, action]),
  );
  for (const [event, action] of pairs) model.on(event, action);
  return () => pairs.forEach(([event, action]) => model.off(event, action));
}

/** Set traits and send them. */
export function tell(model, traits) {
  for (const [name, value] of Object.entries(traits)) model.set(name, value);
  model.save_changes();
}

/** Draw at most once a frame: returns a function that asks for it, with `cancel`. */
export function onceAFrame(draw) {
  let request = 0;
  const ask = () => {
    request ||= requestAnimationFrame(() => {
      request = 0;
      draw();
    });
  };
  ask.cancel = () => {
    cancelAnimationFrame(request);
    request = 0;
  };
  return ask;
}

/** What an entry file exports: a view on each page, which ends when its `stops` are called. */
export const shows = (View) => ({
  render({ model, el }) {
    const view = new View(model, el);
    return () => view.stops.forEach((stop) => stop());
  },
});

/** Count the drawings of a view, for tests and for the curious. */
export function countDrawing(element) {
  element.dataset.drawn = String(Number(element.dataset.drawn || 0) + 1);
}
