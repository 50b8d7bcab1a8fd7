// Give stock ipywidgets controls what they lack: an accessible name (their visible description),
// and JupyterLab's shortcuts kept away (without that, typing "b" on a slider inserts a notebook
// cell).

const CONTROLS = "input, select, button, textarea, [role=slider], [tabindex='0']";

function nameControls(area) {
  for (const control of area.querySelectorAll(CONTROLS)) {
    control.dataset.lmSuppressShortcuts ??= "true";
    if (control.hasAttribute("aria-label")) continue;
    const label = control.closest(".jupyter-widgets")?.querySelector(".widget-label");
    const name = label?.textContent.trim();
    if (name) control.setAttribute("aria-label", name);
  }
}

/** Name the controls of the output that `el` stands in, now and as they come; returns a stop. */
export function watchControls(el) {
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
