// A PNG with alternative text that tells Python which theme the page has; the stock controls of the
// panel around it get their names.

import { pageIsDark } from "./shared/canvas.js";
import { make } from "./shared/elements.js";
import { onChange, onTheme, tell } from "./shared/life.js";
import { watchControls } from "./shared/naming.js";

function render({ model, el }) {
  const style = "display: block; max-width: 100%; height: auto";
  let url = null;
  let old = null;
  const img = make("img", { style, on: { load: () => URL.revokeObjectURL(old) } });
  el.append(img);

  const showPng = () => {
    old = url;
    url = URL.createObjectURL(new Blob([model.get("png")], { type: "image/png" }));
    img.src = url;
  };
  const showRest = () => {
    img.alt = model.get("alt");
    img.style.width = `${model.get("width")}px`;
  };
  const followTheme = () => {
    if (model.get("dark") !== pageIsDark()) tell(model, { dark: pageIsDark() });
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
    URL.revokeObjectURL(url);
  };
}
export default { render };
