// Colours of the picture, as the style has them.

const paint_names = ["card", "ink", "soft", "leaf", "wrong"];

/// The style's colours as rgb(...), for the colour scheme in use or for the one that is named.
function paints(scheme = "") {
  const root = document.documentElement, probe = make("i");
  root.append(probe);
  probe.style.colorScheme = scheme;
  const colours = Object.fromEntries(paint_names.map((name) => {
    probe.style.color = `var(--${name})`;
    return [name, getComputedStyle(probe).color];
  }));
  probe.remove();
  const [low, high] = [colours.card, colours.leaf].map((text) => text.match(/[\d.]+/g).map(Number));
  // Empty to full: one hue by lightness alone, which every eye and a grey printer tell apart.
  colours.steps = Array.from({ length: 11 }, (_, i) => `rgb(${[0, 1, 2].map((c) => Math.round(low[c] + ((high[c] - low[c]) * i) / 10)).join(", ")})`);
  return colours;
}
/// The colours in use, worked out once until the scheme changes.
let current = null;
const current_paints = () => current ??= paints();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { current = null; opened.view?.redraw(); });
/// How full a node's mark is, in tenths.
function fullness(node, { of, scale }) {
  const value = of(node);
  return typeof value === "number" ? Math.max(0, Math.min(10, Math.round((10 * (value - scale.low)) / (scale.high - scale.low || 1)))) : 0;
}
/// How a line of a label looks.
function look_of_line(node, index, bright) {
  const tag = folded(node) && index === node.lines.length - 1;
  return { alpha: bright ? 1 : 0.2, bold: tag || Boolean(node.chosen), colour: tag ? "leaf" : node.chosen ? "ink" : "soft" };
}
