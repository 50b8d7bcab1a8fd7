// A training run as a film: loss, images read correctly, and all test images, played frame by frame.
// Python trains and sends bytes; joined behind playback.js, training_plot.js and digit_wall.js.

function bytesOf(view) {
  return view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);
}

function render({ model, el }) {
  const offer = model.get("offer"); // { rates, passes, per_pass }
  const labels = new Uint8Array(bytesOf(model.get("labels")));
  const images = new Uint8Array(bytesOf(model.get("images")));
  const count = labels.length, perPass = offer.per_pass, last = offer.passes * perPass;
  let right = []; // images read correctly, by frame
  let loss = new Float32Array(0);

  const passText = (frame) => `pass ${frame / perPass}`;
  const rateText = (v) => String(Number(v.toPrecision(3)));

  // ---- learning rate
  const rate = make("input", {
    ...focusable("Learning rate"), type: "range", min: 0, max: offer.rates.length - 1, step: 1, class: "te-tf-slider",
    on: { input: showRate, change: () => { model.set("rate", offer.rates[Number(rate.value)]); model.save_changes(); } },
  });
  const rateValue = make("output", { class: "te-tf-value" });
  function showRate() {
    rateValue.textContent = rateText(offer.rates[Number(rate.value)]);
    rate.setAttribute("aria-valuetext", rateValue.textContent);
  }

  // ---- pictures
  const plots = [
    trainingPlot({ title: "Loss: how wrong it is", colour: "te-tf-orange", log: true, say: lossText }),
    trainingPlot({
      title: `New images read correctly, of ${count}`, colour: "te-tf-blue", top: count,
      guess: { at: count / 10, words: "guessing blindly" }, say: (v) => v.toFixed(0),
    }),
  ];
  const wall = digitWall({ images, labels, describe });
  function describe(one) {
    if (!one) return `All ${count} new images, sorted by digit. Orange: misread. Blue: has just turned right. Point at one.`;
    const now = one.read === one.label ? "and is read as one" : `and is read as a ${one.read}`;
    const later = one.settled < 0 ? "It is misread to the end." : one.settled === 0 ? "It was never misread." : `It is read correctly for good from ${passText(one.settled)} on.`;
    return `At ${passText(one.frame)}: this is a ${one.label}, ${now}. ${later}`;
  }
  const numbers = make("div", { class: "te-tf-numbers" });
  const player = createPlayback({
    frames: last + 1, label: "a training run", framesPerSecond: perPass * 2, onFrame: draw,
    describe: (frame) => `${passText(frame)} / ${offer.passes}`,
  });
  const root = make("div", { class: "te-tf", "data-lm-suppress-shortcuts": "true" },
    make("label", { class: "te-tf-control" }, "learning rate", rate, rateValue),
    player.element, numbers,
    make("div", { class: "te-tf-plots" }, ...plots.map((p) => p.element)), wall.element);
  el.append(root);

  function draw(position) {
    if (!right.length) return;
    const frame = Math.floor(position + 1e-6);
    for (const plot of plots) plot.draw(position);
    wall.draw(position);
    const wrong = count - right[frame];
    numbers.replaceChildren(
      make("b", {}, `${right[frame]} of ${count}`), " read correctly, ", make("b", { class: "te-tf-wrong" }, `${wrong} wrong`),
      frame === 0 ? ": before training, all weights are random" : `; loss ${lossText(loss[frame])}`,
    );
  }
  function take() {
    loss = new Float32Array(bytesOf(model.get("loss")));
    const guesses = new Uint8Array(bytesOf(model.get("guesses")));
    right = Array.from({ length: guesses.length / count }, (_, frame) => {
      let n = 0;
      for (let i = 0; i < count; i++) n += guesses[frame * count + i] === labels[i] ? 1 : 0;
      return n;
    });
    wall.setGuesses(guesses);
    plots[0].setData(loss, perPass);
    plots[1].setData(right, perPass);
    rate.value = offer.rates.indexOf(model.get("rate"));
    showRate();
    root.dataset.words = model.get("words");
  }
  /** Another film: from its beginning, and playing, because it was asked for. */
  function another() {
    take();
    player.setFrames(last + 1);
    player.toggle(1);
  }
  function layout() {
    for (const plot of plots) plot.layout();
    wall.layout();
    player.refresh();
  }
  take();
  const resize = new ResizeObserver(layout);
  resize.observe(root);
  const theme = new MutationObserver(() => player.refresh());
  theme.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
  model.on("change:guesses", another);
  return () => {
    player.dispose();
    resize.disconnect();
    theme.disconnect();
    model.off("change:guesses", another);
  };
}
export default { render };
