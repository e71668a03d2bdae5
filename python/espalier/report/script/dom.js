// Elements. Every text goes into the page as a text node; the page's policy forbids markup from strings altogether.

/// An element with attributes and children; children are nodes or text, null is left out.
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : shown(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined).map((child) => child instanceof Node ? child : shown(child)));
  return element;
}
const button = (text, click, attributes) => make("button", { type: "button", on: { click }, ...attributes }, text);
const section = (title, ...children) => make("section", {}, make("h3", {}, title), ...children);
const note = (...text) => make("p", { class: "note" }, ...text);
const kind_badge = (kind) => make("span", { class: `kind kind-${/^\w+$/.test(kind) ? kind : "other"}` }, brief(words(kind), 40));

function table(heads, rows) {
  return make("table", {}, make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, rows.map((row) => make("tr", {}, row.map((cell) => make("td", {}, cell))))));
}

/// A bar for `value` on a scale that holds 0.
function gauge(value, { low, high }) {
  const bar = make("i");
  const at = (v) => (100 * (v - low)) / (high - low || 1);
  bar.style.left = `${Math.min(at(0), at(value))}%`;
  bar.style.width = `${Math.abs(at(value) - at(0))}%`;
  return make("span", { class: "gauge", "aria-hidden": "true" }, bar);
}

/// A text of any length: a very long one first shows its beginning. `render` makes children of a text.
function full(text, render = (part) => [part], most = 20000) {
  const all = shown(text);
  if (all.length <= most) return make("p", { class: "full text" }, render(all));
  const body = make("p", { class: "full text" }, render(all.slice(0, most)), "\u2026");
  const more = button(`show all ${count(all.length)} characters`, () => { body.replaceChildren(...render(all)); more.remove(); }, { class: "link" });
  return make("div", {}, body, more);
}

/// Hands the reader a file that this page made.
function save(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = make("a", { download: name });
  link.href = address;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
