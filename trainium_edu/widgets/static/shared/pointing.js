// Words of the lesson that light a part of a picture: links like `[Vector](#light=engine-vector)`.

const MARK = "#light=";

/** The part of a kind that a link speaks of, or "": of an `engine`, `#light=engine-x` says `x`. */
export function partOf(href, kind) {
  const begin = `${MARK}${kind}-`;
  return href?.startsWith(begin) ? href.slice(begin.length) : "";
}

/** Call `light(part)` while such a word is pointed at or has the focus, and then `light("")`. */
export function onWord(kind, light) {
  let now = "";
  const follow = (event) => {
    const word = event.target.closest?.(`a[href^="${MARK}"]`)?.getAttribute("href");
    const part = partOf(word, kind);
    if (event.type === "click" && part) event.preventDefault(); // the page stays where it is
    if (part === now) return;
    now = part;
    light(part);
  };
  const events = ["pointerover", "focusin", "click"];
  for (const name of events) document.addEventListener(name, follow);
  return () => events.forEach((name) => document.removeEventListener(name, follow));
}
