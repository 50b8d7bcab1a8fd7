// What a check's card says below its buttons; it stays while that grows, so that readers are told.
// The stock buttons above it get what they lack.

import { make } from "./shared/elements.js";
import { onChange, shows } from "./shared/life.js";
import { watchControls } from "./shared/naming.js";

class Card {
  constructor(model, host) {
    const said = make("div", { role: "status", style: "margin-left: 2px" });
    host.append(said);
    const show = () => Object.assign(said, { innerHTML: model.get("html") });
    show();
    this.stops = [onChange(model, { html: show }), watchControls(host)];
  }
}

export default shows(Card);
