// A PNG with alternative text that tells Python which theme the page has.  Joined behind controls.js,
// so that every panel with a picture has named controls.
function pageIsDark() {
  const flag = document.body.dataset.jpThemeLight;
  if (flag !== undefined) return flag === "false";
  return window.matchMedia("(prefers-color-scheme: dark)").matches;
}

function render({ model, el }) {
  const img = document.createElement("img");
  img.style.maxWidth = "100%";
  img.style.height = "auto";
  img.style.display = "block";
  el.append(img);
  let url = null;

  const showPng = () => {
    const old = url;
    url = URL.createObjectURL(new Blob([model.get("png")], { type: "image/png" }));
    img.onload = () => old && URL.revokeObjectURL(old);
    img.src = url;
  };
  const showRest = () => {
    img.alt = model.get("alt");
    img.style.width = `${model.get("width")}px`;
  };
  const followTheme = () => {
    if (model.get("dark") !== pageIsDark()) {
      model.set("dark", pageIsDark());
      model.save_changes();
    }
  };
  model.on("change:png", showPng);
  model.on("change:alt", showRest);
  model.on("change:width", showRest);
  const watcher = new MutationObserver(followTheme);
  watcher.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
  showRest();
  showPng();
  followTheme();
  const stopNaming = watchControls(el);
  return () => {
    stopNaming();
    watcher.disconnect();
    model.off("change:png", showPng);
    model.off("change:alt", showRest);
    model.off("change:width", showRest);
    if (url) URL.revokeObjectURL(url);
  };
}
export default { render };
