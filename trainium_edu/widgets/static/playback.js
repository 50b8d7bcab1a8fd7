// Shared player controls: play, pause, reverse, step, scrub, speed, keys.  Not exported: a player's
// file is joined behind this one (see static/__init__.py).
//
//   const player = createPlayback({ frames, label, framesPerSecond, onFrame });
//   root.append(player.element);   player.seek(3);   player.dispose();
//
// onFrame(position) is called with a fractional position in [0, frames - 1] whenever it changes;
// with reduced motion requested, only with whole numbers.

/** Make one element with attributes, properties and children. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, f] of Object.entries(value)) element.addEventListener(event, f);
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** Attributes for anything that takes focus: a name, and JupyterLab's shortcuts kept away. */
function focusable(name, more = {}) {
  return { "aria-label": name, title: name, "data-lm-suppress-shortcuts": "true", ...more };
}

/** The signs on play buttons, everywhere the same: plain text, never an emoji. */
const GLYPHS = { play: "▶", reverse: "◀", pause: "❚❚" };

function createPlayback({ frames, label, onFrame, framesPerSecond = 8, describe = null, speeds = [0.25, 0.5, 1, 2, 4, 8, 16] }) {
  const still = window.matchMedia("(prefers-reduced-motion: reduce)");
  let last = Math.max(0, frames - 1);
  let position = 0;
  let direction = 0; // -1 reverse, 0 paused, +1 forward
  let speed = 1;
  let before = 0;
  let request = 0;
  let shown = NaN;

  const button = (name, text, action) =>
    make("button", { ...focusable(`${name}: ${label}`), type: "button", class: "te-button", on: { click: action } }, text);
  const first = button("To the first frame", "|◀", () => (pause(), seek(0)));
  const reverse = button("Play backwards", GLYPHS.reverse, () => toggle(-1));
  const back = button("One step back", "−1", () => (pause(), step(-1)));
  const play = button("Play", GLYPHS.play, () => toggle(1));
  const forth = button("One step forward", "+1", () => (pause(), step(1)));
  const scrub = make("input", {
    ...focusable(`Position: ${label}`), type: "range", min: 0, max: last, step: 1, value: 0, class: "te-scrub",
    on: { input: () => (pause(), seek(Number(scrub.value))) },
  });
  const pace = make("select", {
    ...focusable(`Speed: ${label}`), class: "te-speed",
    on: { change: () => { speed = Number(pace.value); } },
  }, ...speeds.map((s) => make("option", { value: s, ...(s === 1 ? { selected: "" } : {}) }, `${s} ×`)));
  const readout = make("span", { class: "te-readout", "aria-live": "off" });
  const element = make("div", {
    class: "te-playback", role: "group", "aria-label": `Player controls: ${label}`,
    on: { keydown: onKey },
  }, first, reverse, back, play, forth, scrub, pace, readout);

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const onControl = event.target.tagName === "SELECT" || event.target.tagName === "INPUT";
    const onButton = event.target.tagName === "BUTTON";
    const actions = {
      " ": () => !onButton && toggle(1),
      k: () => toggle(1),
      j: () => toggle(-1),
      r: () => toggle(-1),
      ArrowLeft: () => !onControl && (pause(), step(-1)),
      ArrowRight: () => !onControl && (pause(), step(1)),
      Home: () => (pause(), seek(0)),
      End: () => (pause(), seek(last)),
      "+": () => setSpeed(1),
      "-": () => setSpeed(-1),
    };
    const action = actions[event.key];
    if (!action) return;
    if (event.key === " " && onButton) return; // the button itself answers
    if (event.key.startsWith("Arrow") && onControl) return;
    action();
    event.preventDefault();
    event.stopPropagation();
  }
  function setSpeed(change) {
    const i = Math.min(speeds.length - 1, Math.max(0, speeds.indexOf(speed) + change));
    speed = speeds[i];
    pace.value = String(speed);
  }
  function update() {
    const whole = Math.round(position);
    const at = still.matches ? whole : position;
    if (at !== shown) {
      shown = at;
      onFrame(at);
      element.dataset.position = at.toFixed(3); // for tests and for the curious
      element.dataset.drawn = String(Number(element.dataset.drawn || 0) + 1);
    }
    const text = describe ? describe(whole) : `${whole} / ${last}`;
    if (Number(scrub.value) !== whole) scrub.value = String(whole);
    if (readout.textContent !== text) {
      readout.textContent = text;
      scrub.setAttribute("aria-valuetext", text);
    }
  }
  function seek(to) {
    position = Math.min(last, Math.max(0, to));
    update();
  }
  function step(by) {
    seek(by > 0 ? Math.floor(position + 1e-9) + by : Math.ceil(position - 1e-9) + by);
  }
  function pause() {
    direction = 0;
    cancelAnimationFrame(request);
    play.textContent = GLYPHS.play;
    play.setAttribute("aria-label", `Play: ${label}`);
    reverse.textContent = GLYPHS.reverse;
    element.dataset.playing = "no";
  }
  function toggle(way) {
    if (direction === way) return pause();
    pause();
    if (way > 0 && position >= last) seek(0);
    if (way < 0 && position <= 0) seek(last);
    direction = way;
    (way > 0 ? play : reverse).textContent = GLYPHS.pause;
    play.setAttribute("aria-label", `${way > 0 ? "Pause" : "Play"}: ${label}`);
    element.dataset.playing = "yes";
    before = performance.now();
    request = requestAnimationFrame(tick);
  }
  function tick(now) {
    if (!direction || !element.isConnected) return pause();
    const seconds = Math.min(0.25, (now - before) / 1000);
    before = now;
    seek(position + direction * speed * framesPerSecond * seconds);
    if ((direction > 0 && position >= last) || (direction < 0 && position <= 0)) return pause();
    request = requestAnimationFrame(tick);
  }
  /** Take a new number of frames, and go to the first. */
  function setFrames(count) {
    pause();
    last = Math.max(0, count - 1);
    scrub.max = String(last);
    shown = NaN;
    seek(0);
  }
  element.dataset.playing = "no";
  return {
    element, seek, step, pause, toggle, setFrames, onKey, refresh: () => { shown = NaN; update(); },
    get position() { return position; },
    get playing() { return direction !== 0; },
    dispose: pause,
  };
}
