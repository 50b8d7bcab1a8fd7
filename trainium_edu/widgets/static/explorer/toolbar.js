// Buttons over the pictures: zoom, and what is shown.

import { button, make } from "../shared/elements.js";

const hasTrack = (kind) => (film) => film.tracks.some((track) => track[2] === kind);
const OF_TIME = [
  { name: "Critical path", text: "critical path", key: "critical", in: (f) => f.path.start.length },
  { name: "All DMA queues", text: "DMA queues", key: "queues", in: hasTrack("queue") },
  { name: "Shared ports", text: "ports", key: "ports", in: hasTrack("port") },
];
const WHOLE = { name: "Memory up to its capacity", text: "all of SBUF", in: () => true };
const OF_MEMORY = [{ ...WHOLE, key: "allMemory" }];

/** Make the buttons; `relayout()` is called when one of the state's flags was turned. */
export function createTools(s, relayout) {
  const { view, label, panels } = s;
  const flags = [
    ...(panels.includes("timeline") ? OF_TIME : []),
    ...(panels.includes("memory") ? OF_MEMORY : []),
  ];
  const toggles = flags.map(({ name, text, key }) => {
    const flip = () => {
      s[key] = !s[key];
      node.setAttribute("aria-pressed", String(s[key]));
      relayout();
    };
    const look = { "aria-pressed": String(s[key]), class: "te-button te-core-toggle" };
    const node = button(`${name}: ${label}`, text, flip, look);
    return node;
  });
  const group = { role: "group", "aria-label": `What is shown: ${label}` };
  const into = button(`Zoom in: ${label}`, "+", () => view.zoom(1.6));
  const out = button(`Zoom out: ${label}`, "−", () => view.zoom(1 / 1.6));
  const all = button(`Show the whole run: ${label}`, "whole run", () => view.whole());
  const element = make("div", { class: "te-row te-layouts", ...group }, into, out, all, ...toggles);
  const show = (film) => toggles.forEach((node, k) => (node.hidden = !flags[k].in(film)));
  return { element, show };
}
