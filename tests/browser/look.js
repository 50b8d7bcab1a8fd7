// What the browser tests ask of a page; loaded before the page's own scripts.
window.look = {
  controls:
    ".jp-OutputArea-output " +
    ":is(input, button, select, textarea, canvas[tabindex], [role=slider], [tabindex='0'])",

  /** How many JupyterLab commands have begun and not ended. */
  commands: 0,

  /** Begin a JupyterLab command. */
  execute(name, given) {
    this.commands++;
    const end = () => this.commands--;
    window.jupyterapp.commands.execute(name, given).then(end, end);
  },

  /** Whether the notebook's own kernel is connected and idle. */
  kernelIsReady() {
    const session = window.jupyterapp?.shell.currentWidget?.sessionContext;
    return Boolean(session?.isReady && session.session?.kernel?.status === "idle");
  },

  /** Resolve when the first control stands in an output. */
  firstControl() {
    return new Promise((resolve) => {
      const wait = () => {
        if (document.querySelector(this.controls)) resolve(true);
        else requestAnimationFrame(wait);
      };
      wait();
    });
  },

  /** Click on the first element of this kind as soon as it is drawn. */
  clickOnceDrawn(selector) {
    const watcher = new MutationObserver(() => {
      const found = document.querySelector(selector);
      if (!found) return;
      watcher.disconnect();
      found.click();
    });
    watcher.observe(document.body, { childList: true, subtree: true });
  },

  /** Wait until an element neither changed nor moved for some frames; whether it came to that. */
  async still(element, frames = 6, seconds = 15) {
    let rest = 0;
    let place = "";
    const watcher = new MutationObserver(() => (rest = 0));
    watcher.observe(element, { subtree: true, childList: true, attributes: true });
    for (const begin = performance.now(); performance.now() - begin < 1000 * seconds; rest++) {
      if (rest > frames) break;
      await new Promise(requestAnimationFrame);
      const now = JSON.stringify(element.getBoundingClientRect());
      if (now !== place) rest = 0;
      place = now;
    }
    watcher.disconnect();
    return rest > frames;
  },

  /** Bring each cell into view, for as long as it takes to be drawn. */
  async everyCell() {
    for (const cell of document.querySelectorAll(".jp-Notebook .jp-Cell")) {
      cell.scrollIntoView({ block: "nearest" });
      for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
    }
  },

  /** List what takes focus in outputs: its name, and whether JupyterLab lets its keys be. */
  focusable() {
    const name = (e) =>
      e.getAttribute("aria-label") ||
      e.getAttribute("aria-labelledby") ||
      e.title ||
      e.textContent ||
      e.closest("label")?.textContent ||
      e.labels?.[0]?.textContent ||
      "";
    return [...document.querySelectorAll(this.controls)]
      .filter((e) => e.getClientRects().length && !e.disabled)
      .filter((e) => !e.matches(".jp-OutputArea-output") && e.tabIndex >= 0)
      .map((e) => ({
        what: e.outerHTML.slice(0, 160),
        name: name(e).trim(),
        safe: e.dataset.lmSuppressShortcuts === "true",
      }));
  },

  /** Give the focus to the control of this number; whether it took it. */
  focusOn(number) {
    const control = document.querySelectorAll(this.controls)[number];
    if (!control?.getClientRects().length || control.disabled) return false;
    control.focus();
    return document.activeElement === control;
  },

  /** The text of every error or stderr output. */
  trouble() {
    const kinds = ["error", "stderr"].map((k) => `[data-mime-type='application/vnd.jupyter.${k}']`);
    return [...document.querySelectorAll(kinds.join())].map((e) => e.innerText).filter(Boolean);
  },

  /** The text of every output that says its widget failed. */
  brokenWidgets() {
    const sayings = /Error displaying widget|Loading widget|model not found|Failed to load model/i;
    const outputs = [...document.querySelectorAll(".jp-OutputArea-output")];
    return outputs.map((e) => e.innerText).filter((text) => sayings.test(text));
  },

  /** Outputs that are wider than the page gives them. */
  tooWide() {
    return [...document.querySelectorAll(".jp-OutputArea-output")]
      .filter((e) => e.scrollWidth > e.clientWidth + 2 && !e.querySelector("pre"))
      .map((e) => `${e.innerText.slice(0, 60)} ${e.scrollWidth} > ${e.clientWidth}`);
  },
};
