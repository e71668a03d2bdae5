// How the tree grew: a slider over the order in which nodes were added.

function growth_of(view) {
  const { size, tree } = view.model, skipped = tree.skips?.length ? ` What was skipped (${count(tree.skips.length)}) counts as no node.` : "", text = make("span", { role: "status" });
  const slider = make("input", { type: "range", min: "1", max: String(size), step: "1", value: String(size), "aria-label": "Order of growth", on: { input: () => { stop(); view.go(Number(slider.value)); } } });
  const play = button("\u25B6", () => playing ? stop() : start(), { class: "play", title: "play the growth", "aria-label": "play the growth" });
  let playing = 0, began = 0;
  function start() {
    const from = view.at >= size ? 1 : view.at, rate = Math.max(2, size / 12);
    began = performance.now();
    play.textContent = "\u25A0";
    const tick = (now) => {
      if (!play.isConnected) return;
      const at = Math.min(size, Math.floor(from + ((now - began) / 1000) * rate));
      view.go(at);
      if (at < size) playing = requestAnimationFrame(tick);
      else stop();
    };
    playing = requestAnimationFrame(tick);
  }
  function stop() {
    cancelAnimationFrame(playing);
    playing = 0;
    play.textContent = "\u25B6";
  }
  const remark = make("p", { class: "moment" });
  const element = make("div", { class: "growth" }, play,
    button("\u2039", () => view.go(view.at - 1), { "aria-label": "one node back" }), slider, button("\u203A", () => view.go(view.at + 1), { "aria-label": "one node on" }), text);
  element.hidden = remark.hidden = size < 2;
  return { element, remark, draw() {
    slider.value = String(view.at);
    slider.style.setProperty("--done", `${(100 * (view.at - 1)) / Math.max(1, size - 1)}%`);
    element.title = remark.textContent = view.at < size ? "Nodes so far. Their values, visits, pruning and the answer\u2019s chain are final: those of the finished tree." : `The finished tree.${skipped} The slider replays its growth.`;
    text.textContent = `${count(view.at)} of ${count(size)} nodes`;
  } };
}
