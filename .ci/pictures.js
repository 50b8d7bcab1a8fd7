// A page without a kernel: draw one anywidget from its stored state, as JupyterLab would.
window.show = async ({ state, buffers }) => {
  const heard = {};
  const model = {
    get: (name) => state[name],
    set: (name, value) => {
      state[name] = value;
      for (const answer of heard[`change:${name}`] ?? []) answer();
    },
    save_changes: () => {},
    send: () => {},
    on: (event, answer) => (heard[event] ??= []).push(answer),
    off: (event, answer) => {
      heard[event] = (heard[event] ?? []).filter((other) => answer && other !== answer);
    },
  };
  for (const [path, data] of buffers) {
    const holder = path.slice(0, -1).reduce((inner, key) => inner[key], state);
    holder[path.at(-1)] = new DataView(Uint8Array.from(atob(data), (c) => c.charCodeAt(0)).buffer);
  }
  const style = document.createElement("style");
  style.textContent = state._css ?? "";
  document.head.append(style);
  const file = new Blob([state._esm], { type: "text/javascript" });
  const widget = (await import(URL.createObjectURL(file))).default;
  await widget.initialize?.({ model });
  await widget.render({ model, el: document.getElementById("picture") });
  await document.fonts.ready;
};

// A player at its first frame, where little has happened, goes on to a share of its run.
window.go = (share) => {
  const slider = document.querySelector(".te-scrub");
  if (!slider || Number(slider.value) > 0) return;
  slider.value = Math.round(share * Number(slider.max));
  slider.dispatchEvent(new Event("input"));
};
