// The timeline explorer on a page of its own: its model has what the page was given, and sends
// nothing back.

import * as explorer from "./timeline_explorer.js";

/** Unpack what an element of the page holds: gzip in base64. */
async function bytes(id) {
  const text = atob(document.getElementById(id).textContent);
  const packed = new Blob([Uint8Array.from(text, (letter) => letter.charCodeAt(0))]);
  const unpacked = packed.stream().pipeThrough(new DecompressionStream("gzip"));
  return new DataView(await new Response(unpacked).arrayBuffer());
}

/** Let the widget follow the reader's light or dark theme as it follows JupyterLab's. */
function followTheme() {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const follow = () => (document.body.dataset.jpThemeLight = String(!dark.matches));
  dark.addEventListener("change", follow);
  follow();
}

async function show(given) {
  const traits = { ...given, book: await bytes("book"), film: await bytes("film") };
  const model = {
    get: (name) => traits[name],
    set: (name, value) => (traits[name] = value),
    on: () => {},
    off: () => {},
    save_changes: () => {},
  };
  followTheme();
  explorer.default.render({ model, el: document.getElementById("explorer") });
}

export default show;
