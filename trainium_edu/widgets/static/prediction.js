// A question with one input and a commit button.  The browser only asks; Python checks the value,
// records it, and answers through the traits `committed` and `status`.

const SUPPRESS = "data-lm-suppress-shortcuts"; // else JupyterLab takes keys typed here as commands
const askingAgain = new Set(); // keys whose learner pressed "Change"
let focusNext = null; // the key whose fresh view takes the focus (committing redraws the cell)

function element(tag, options = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "onclick") node.addEventListener("click", value);
    else if (value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  if (["button", "input"].includes(tag)) node.setAttribute(SUPPRESS, "true");
  node.append(...children);
  return node;
}

function askNumber(model, commit) {
  const input = element("input", { type: "text", inputmode: "decimal", autocomplete: "off",
    spellcheck: "false", "aria-label": `Your prediction: ${model.get("question")}` });
  input.addEventListener("keydown", (event) => { if (event.key === "Enter") commit(); });
  const box = element("div", { class: "te-predict-row", style: "margin-bottom:8px" }, input, model.get("unit"));
  return { box, value: () => input.value };
}

function askChoice(model) {
  const group = `te-choice-${Math.random().toString(36).slice(2)}`;
  const legend = element("legend", { class: "te-predict-tag" }, "Choose one");
  const box = element("fieldset", { "aria-label": model.get("question") }, legend);
  for (const option of model.get("options")) {
    const input = element("input", { type: "radio", name: group, value: option });
    box.append(element("div", { class: "te-predict-row" }, element("label", {}, input, option)));
  }
  return { box, value: () => box.querySelector("input:checked")?.value ?? null };
}

function askOrder(model, _commit, say) {
  const items = [...model.get("options")];
  const list = element("ol", { "aria-label": model.get("question") });
  const move = (index, by) => {
    const other = index + by;
    if (other < 0 || other >= items.length) return;
    [items[index], items[other]] = [items[other], items[index]];
    draw();
    const row = list.children[other];
    const buttons = row.querySelectorAll("button");
    const wanted = by < 0 ? buttons[0] : buttons[1];
    (wanted.disabled ? (by < 0 ? buttons[1] : buttons[0]) : wanted).focus();
    say(`${items[other]} is now number ${other + 1} of ${items.length}.`);
  };
  const draw = () => {
    list.replaceChildren(...items.map((item, index) => {
      const up = element("button", { type: "button", "aria-label": `Move ${item} up`,
        disabled: index === 0, onclick: () => move(index, -1) }, "↑");
      const down = element("button", { type: "button", "aria-label": `Move ${item} down`,
        disabled: index === items.length - 1, onclick: () => move(index, 1) }, "↓");
      const row = element("div", { class: "te-predict-row" },
        element("span", { class: "te-predict-item" }, item), up, down);
      row.addEventListener("keydown", (event) => {
        const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
        if (by) { event.preventDefault(); move(index, by); }
      });
      return element("li", {}, row);
    }));
  };
  draw();
  return { box: list, value: () => items };
}

const ASK = { number: askNumber, choice: askChoice, order: askOrder };

function render({ model, el }) {
  const id = model.get("key");
  const root = element("section", { class: "te-predict", "aria-label": `Prediction: ${model.get("question")}` });
  const live = element("p", { class: "te-predict-status", role: "status", "aria-live": "polite", tabindex: "-1" });
  const body = element("div");
  root.append(
    element("div", { class: "te-predict-tag" }, "Predict first"),
    element("div", { class: "te-predict-question" }, model.get("question")),
    body, live,
  );
  el.append(root);
  const say = (text) => { live.textContent = text; };

  const ask = () => {
    const commit = () => {
      focusNext = id;
      askingAgain.delete(id);
      model.send({ type: "commit", value: asked.value() });
    };
    const asked = ASK[model.get("kind")](model, commit, say);
    const button = element("button", { type: "button", class: "te-predict-commit", onclick: commit }, "Commit");
    body.replaceChildren(asked.box, button);
  };
  const rest = () => {
    if (model.get("locked")) { body.replaceChildren(); return; }
    const change = element("button", { type: "button", onclick: () => {
      askingAgain.add(id);
      ask();
      body.querySelector("input, button")?.focus();
    } }, "Change my prediction");
    body.replaceChildren(change);
  };
  const draw = () => {
    if (model.get("committed") && !askingAgain.has(id)) rest(); else ask();
    say(model.get("status"));
  };
  const onStatus = () => { // a value that was refused leaves the input as it is
    say(model.get("status"));
    if (model.get("committed") && !askingAgain.has(id)) rest();
  };
  model.on("change:status", onStatus);
  model.on("change:commits", onStatus);
  draw();
  if (focusNext === id && model.get("committed")) { focusNext = null; setTimeout(() => live.focus(), 0); }
  return () => { model.off("change:status", onStatus); model.off("change:commits", onStatus); };
}
export default { render };
