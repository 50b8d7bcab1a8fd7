// What a check's card says below its buttons, and their keys kept from JupyterLab's shortcuts.  Joined
// behind controls.js, whose watchControls looks after every control of this output.

export default {
  render({ model, el }) {
    const show = () => {
      el.innerHTML = model.get("html");
    };
    el.style.marginLeft = "2px"; // as ipywidgets.HTML above it
    el.setAttribute("role", "status"); // it stays while what it says grows, so that readers are told
    show();
    model.on("change:html", show);
    const stop = watchControls(el);
    return () => {
      model.off("change:html", show);
      stop();
    };
  },
};
