// How the questions spread, for the head of the page.

function histogram(title, values, high, shown_high) {
  const bins = 10, sizes = new Array(bins).fill(0);
  for (const value of values) sizes[Math.max(0, Math.min(bins - 1, Math.floor((bins * value) / high)))] += 1;
  const top = Math.max(1, ...sizes);
  const bars = sizes.map((size) => {
    const bar = make("i", {}, size ? make("span", {}, String(size)) : null);
    bar.style.height = `${(78 * size) / top}%`;
    return bar;
  });
  const text = `${title}: ${sizes.map((size, i) => `${size} from ${number((high * i) / bins)}`).join(", ")}`;
  return make("section", { class: "card" }, make("h3", {}, title), make("div", { class: "histogram", role: "img", "aria-label": text }, bars),
    make("div", { class: "axis", "aria-hidden": "true" }, make("span", {}, "0"), make("span", {}, shown_high)));
}
function histograms() {
  const scores = rows.map((row) => row.answer.f1).filter((f1) => typeof f1 === "number");
  const calls = rows.map((row) => row.answer.completions ?? 0), most = calls.reduce((a, b) => Math.max(a, b), 1);
  return [scores.length ? histogram("Questions by F1", scores, 1, "100 %") : null, rows.length ? histogram("Questions by calls", calls, most, count(most)) : null].filter(Boolean);
}
