// What a check's card says below its buttons; it stays while that grows, so that readers are told.
// The stock buttons above it get what they lack.

import { make } from "./shared/elements.js";
import { onChange } from "./shared/life.js";
import { watchControls } from "./shared/naming.js";

function render({ model, el }) {
  const said = make("div", { role: "status", style: "margin-left: 2px" });
  el.append(said);
  const show = () => {
    said.innerHTML = model.get("html");
  };
  show();
  const stops = [onChange(model, { html: show }), watchControls(el)];
  return () => {
    for (const stop of stops) stop();
  };
}
export default { render };
