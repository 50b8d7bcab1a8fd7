// A PNG with alternative text that tells Python which theme the page has; the stock controls of the
// panel around it get their names.

import { pageIsDark } from "./shared/canvas.js";
import { make } from "./shared/elements.js";
import { onChange, onTheme, shows, tell } from "./shared/life.js";
import { watchControls } from "./shared/naming.js";

const PATIENCE = 3000; // ms: then a picture for the other theme is better than none

class Picture {
  constructor(model, host) {
    const style = "display: block; max-width: 100%; height: auto";
    this.image = make("img", { style, on: { load: () => URL.revokeObjectURL(this.image.src) } });
    host.append(this.image);
    const follow = () => {
      if (model.get("dark") === pageIsDark()) return;
      this.veil = this.image.animate({ opacity: [0, 0] }, PATIENCE); // light would flash on dark
      tell(model, { dark: pageIsDark() });
    };
    const draws = { "png alt width": () => this.draw(model) };
    this.stops = [onChange(model, draws), onTheme(follow), watchControls(host)];
    this.draw(model);
    follow();
  }
  draw(model) {
    if (model.get("dark") === pageIsDark()) this.veil?.cancel();
    const bytes = new Blob([model.get("png")], { type: "image/png" });
    const look = { src: URL.createObjectURL(bytes), alt: model.get("alt") };
    Object.assign(this.image, look).style.width = `${model.get("width")}px`;
  }
}

export default shows(Picture);
