// Give stock ipywidgets controls what they lack: an accessible name (their visible description), and
// JupyterLab's shortcuts kept away (without that, typing "b" on a slider inserts a notebook cell).

function nameControls(area) {
  const found = area.querySelectorAll("input, select, button, textarea, [role=slider], [tabindex='0']");
  for (const control of found) {
    if (control.dataset.lmSuppressShortcuts !== "true") control.dataset.lmSuppressShortcuts = "true";
    if (control.hasAttribute("aria-label")) continue;
    const label = control.closest(".jupyter-widgets")?.querySelector(".widget-label")?.textContent.trim();
    if (label) control.setAttribute("aria-label", label);
  }
}

/** Name the controls of the output area that `el` stands in, now and as they come; returns a stop function. */
function watchControls(el) {
  let watcher = null;
  let waiting = 0;
  const begin = () => {
    if (!el.isConnected) {
      waiting = requestAnimationFrame(begin);
      return;
    }
    const area = el.closest(".jp-OutputArea-output") ?? el.parentElement;
    nameControls(area);
    watcher = new MutationObserver(() => nameControls(area));
    watcher.observe(area, { childList: true, subtree: true });
  };
  begin();
  return () => {
    cancelAnimationFrame(waiting);
    watcher?.disconnect();
  };
}
