// Keys that work everywhere in the page.

const key_help = make("dialog", { class: "keys", "aria-label": "Keys" }, make("h2", {}, "Keys"), table(["key", "does"], [
  ["/", "find in the tree, or among the questions"], ["n, p", "next, previous question"], ["v", "outline or map"], ["[ and ]", "one node back or on in the growth"],
  ["{ and }", "to the question alone, to the finished tree"], ["e, c", "expand all, collapse all"],
  ["arrows, Home, End, Page", "walk through the outline, open and close branches"], ["Enter", "to the node's panel; Escape: back to the tree, and once more: close the panel"], ["+, -, 0", "zoom the map, fit it"], ["?", "this list; Escape closes it"]]),
  make("form", { method: "dialog" }, make("button", { class: "link" }, "close")));

function global_key(event) {
  if (event.altKey || event.ctrlKey || event.metaKey || key_help.open) return;
  if (event.key === "Escape" && opened.view) {
    const { view } = opened;
    if (view.panel.contains(document.activeElement) || document.activeElement.matches("input")) view.element.querySelector(".outline:not([hidden]), .map:not([hidden])").focus();
    else view.choose(null);
    return;
  }
  if (event.target.matches("input:not([type=range]), select, textarea")) return;
  const { view, row } = opened;
  const step = (way) => { const next = row ? beside(row, way) : rows.find((one) => !one.item.hidden); if (next) go_to(next); };
  const actions = { "/": () => view ? view.find() : search.focus(), n: () => step(1), p: () => step(-1), "?": () => key_help.showModal(),
    v: () => view?.turn(), "[": () => view?.go(view.at - 1), "]": () => view?.go(view.at + 1), "{": () => view?.go(1), "}": () => view?.go(Infinity),
    e: () => view?.open_all(true), c: () => view?.open_all(false) };
  if (!Object.hasOwn(actions, event.key)) return;
  event.preventDefault();
  actions[event.key]();
}
