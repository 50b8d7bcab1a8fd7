// A PNG with alternative text that tells Python which theme the page has; the stock controls of the
// panel around it get their names.

import { pageIsDark } from "./shared/canvas.js";
import { make } from "./shared/elements.js";
import { onChange, onTheme, tell } from "./shared/life.js";
import { watchControls } from "./shared/naming.js";

const PATIENCE = 3000; // ms: then a picture for the other theme is better than none

function render({ model, el }) {
  const style = "display: block; max-width: 100%; height: auto";
  let url = null;
  let old = null;
  let waiting = 0;
  const img = make("img", { style, on: { load: () => URL.revokeObjectURL(old) } });
  el.append(img);

  const appear = () => (img.style.visibility = "");
  const showPng = () => {
    old = url;
    url = URL.createObjectURL(new Blob([model.get("png")], { type: "image/png" }));
    img.src = url;
    if (model.get("dark") === pageIsDark()) appear();
  };
  const showRest = () => {
    img.alt = model.get("alt");
    img.style.width = `${model.get("width")}px`;
  };
  const followTheme = () => {
    if (model.get("dark") === pageIsDark()) return;
    img.style.visibility = "hidden"; // a light picture would flash on a dark page
    waiting = setTimeout(appear, PATIENCE);
    tell(model, { dark: pageIsDark() });
  };
  showRest();
  showPng();
  followTheme();
  const stops = [
    onChange(model, { png: showPng, "alt width": showRest }),
    onTheme(followTheme),
    watchControls(el),
  ];
  return () => {
    for (const stop of stops) stop();
    clearTimeout(waiting);
    URL.revokeObjectURL(url);
  };
}
export default { render };
