// The tree as files: SVG, PNG and JSON. Pictures are light, for paper, and show what is shown.
const svg_space = "http://www.w3.org/2000/svg";

/// The picture as an SVG document; texts are text nodes, so that no text can become markup.
function svg_of(nodes, { measure, found, title }) {
  const size = lay_out(nodes), colours = paints("light"), papers = document.implementation.createDocument(svg_space, "svg", null), margin = 16;
  const add = (parent, name, attributes, text) => {
    const element = papers.createElementNS(svg_space, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.append(shown(text).replace(/[\ud800-\udfff\ufffe\uffff]/gu, "\ufffd"));
    parent.append(element);
    return element;
  };
  const [width, height] = [size.width + 2 * margin, size.height + 2 * margin], root = papers.documentElement;
  for (const [key, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "sans-serif", "font-size": 12 })) root.setAttribute(key, value);
  add(root, "title", {}, title);
  add(root, "rect", { width, height, fill: colours.card });
  const all = add(root, "g", { transform: `translate(${margin} ${margin + line / 2})` });
  for (const node of [...nodes].sort((a, b) => Number(a.chosen ?? 0) - Number(b.chosen ?? 0))) {
    const { parent } = node, bend = node.x - column / 3, soft = column / 12, chain = Boolean(node.chosen && parent?.chosen);
    if (parent) add(all, "path", { d: `M${parent.x} ${parent.y}H${bend - soft}C${bend} ${parent.y} ${bend} ${node.y} ${bend + soft} ${node.y}H${node.x}`, fill: "none", stroke: chain ? colours.leaf : colours.soft, "stroke-width": chain ? 3 : 1.2, "stroke-opacity": chain ? 1 : 0.45 });
  }
  for (const node of nodes) {
    const points = mark_of(node), cut = node.status === "pruned" || node.status === "skipped", group = add(all, "g", { "data-node": node.id, opacity: !found || found.has(node) ? 1 : 0.25 });
    const look = { fill: colours.steps[fullness(node, measure)], stroke: node.chosen ? colours.leaf : colours.soft, "stroke-width": node.chosen ? 2.4 : 1.3, ...(cut ? { "stroke-dasharray": "2.5 2" } : {}) };
    if (points) add(group, "polygon", { points: points.map(([dx, dy]) => `${node.x + dx},${node.y + dy}`).join(" "), ...look });
    else add(group, "circle", { cx: node.x, cy: node.y, r: 6, ...look });
    const { text, right, above } = label_of(node);
    add(group, "text", { x: node.x + right, y: node.y - above, fill: node.chosen ? colours.ink : colours.soft, stroke: colours.card, "stroke-width": 3, "paint-order": "stroke" }, text);
  }
  return new XMLSerializer().serializeToString(papers);
}
/// The picture as a PNG, at two pixels a unit or as large as a canvas may be.
function png_of(nodes, { measure, found, at }) {
  const size = lay_out(nodes), margin = 16, width = size.width + 2 * margin, height = size.height + 2 * margin;
  const scale = Math.min(2, 16000 / width, 16000 / height, Math.sqrt(120e6 / (width * height)));
  const canvas = make("canvas");
  [canvas.width, canvas.height] = [Math.ceil(width * scale), Math.ceil(height * scale)];
  draw_picture(canvas, nodes, { across: scale, down: scale, left: margin * scale, top: (margin + line / 2) * scale, unit: scale, measure, found, at, chosen: null, colours: paints("light") });
  const context = canvas.getContext("2d");
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.globalCompositeOperation = "destination-over";
  context.fillStyle = paints("light").card;
  context.fillRect(0, 0, canvas.width, canvas.height);
  return new Promise((done) => { canvas.toBlob(done, "image/png"); });
}
function save_buttons(view) {
  const { tree } = view.model, name = `tree-${String(tree.id).replace(/[^\w.-]+/g, "_").slice(0, 60)}`;
  const picture = () => ({ measure: view.model.measures[view.by], found: view.found, at: view.at, title: `${tree.method}: ${brief(tree.question)}` });
  const after = (work) => () => Promise.resolve(work()).then((blob) => { save(...blob); view.redraw(); });
  return make("span", { class: "saves", role: "group", "aria-label": "Save the tree as" }, "save",
    button("SVG", after(() => [new Blob([svg_of(view.shown(), picture())], { type: "image/svg+xml" }), `${name}.svg`])),
    button("PNG", after(async () => [await png_of(view.shown(), picture()), `${name}.png`])),
    button("JSON", after(() => [new Blob([view.source], { type: "application/json" }), `${name}.json`])));
}
