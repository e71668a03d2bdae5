// The tree as files: SVG, PNG and JSON. Pictures are light, for paper, and show what is shown.
const svg_space = "http://www.w3.org/2000/svg", paper_margin = 16;

/// The size of the picture on paper, whose nodes are placed.
function lay_out_paper(nodes) {
  const levels = arranged(nodes), roomy = levels.length <= 40 && columns_of(levels) <= 60;
  return lay_out(levels, roomy ? { first: 320, wide: 220, high: 44, labels: 460 } : { first: 16, wide: 16, high: 24, labels: 0 });
}
/// The picture as an SVG document; texts are text nodes, so that no text can become markup.
function svg_of(nodes, { measure, found, title }) {
  const size = lay_out_paper(nodes), colours = paints("light"), papers = document.implementation.createDocument(svg_space, "svg", null);
  const add = (parent, name, attributes, text) => {
    const element = papers.createElementNS(svg_space, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.append(shown(text).replace(/[\ud800-\udfff\ufffe\uffff]/gu, "\ufffd"));
    parent.append(element);
    return element;
  };
  const [width, height] = [size.width + 2 * paper_margin, size.height + 2 * paper_margin], root = papers.documentElement;
  for (const [key, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}`, "font-family": font_family, "font-size": letters })) root.setAttribute(key, value);
  add(root, "title", {}, title);
  add(root, "rect", { width, height, fill: colours.card });
  const all = add(root, "g", { transform: `translate(${paper_margin} ${paper_margin})` });
  for (const node of [...nodes].sort((a, b) => Number(a.chosen ?? 0) - Number(b.chosen ?? 0))) {
    const way = [], chain = Boolean(node.chosen && node.parent?.chosen), pen = Object.fromEntries([["moveTo", "M"], ["lineTo", "L"], ["quadraticCurveTo", "Q"]].map(([name, sign]) => [name, (...at) => way.push(sign, at.join(" "))]));
    if (!node.parent) continue;
    draw_edge(node, pen);
    add(all, "path", { d: way.join(""), fill: "none", stroke: chain ? colours.leaf : colours.soft, "stroke-width": chain ? 3 : 1.2, "stroke-opacity": chain ? 1 : 0.45 });
  }
  for (const node of nodes) {
    const points = mark_of(node), cut = node.status === "pruned" || node.status === "skipped", group = add(all, "g", { "data-node": node.id, opacity: !found || found.has(node) ? 1 : 0.25 });
    const look = { fill: colours.steps[fullness(node, measure)], stroke: node.chosen ? colours.leaf : colours.soft, "stroke-width": node.chosen ? 2.4 : 1.3, ...(cut ? { "stroke-dasharray": "2.5 2" } : {}) };
    if (points) add(group, "polygon", { points: points.map(([dx, dy]) => `${node.x + dx},${node.y + dy}`).join(" "), ...look });
    else add(group, "circle", { cx: node.x, cy: node.y, r: 6, ...look });
    for (const [i, text] of node.lines.entries()) {
      const { bold, colour } = look_of_line(node, i, true);
      add(group, "text", { x: node.x + label_at, y: node.y + 4 + i * line, fill: colours[colour], ...(bold ? { "font-weight": 600 } : {}) }, text);
    }
  }
  return new XMLSerializer().serializeToString(papers);
}
/// The picture as a PNG, at two dots a pixel or as large as a canvas may be.
function png_of(nodes, { measure, found, at }) {
  const size = lay_out_paper(nodes), width = size.width + 2 * paper_margin, height = size.height + 2 * paper_margin;
  const ratio = Math.min(2, 16000 / width, 16000 / height, Math.sqrt(120e6 / (width * height)));
  const canvas = make("canvas");
  [canvas.width, canvas.height] = [Math.ceil(width * ratio), Math.ceil(height * ratio)];
  draw_picture(canvas, nodes, { left: paper_margin, top: paper_margin, radius: 6, ratio, measure, found, at, chosen: null, colours: paints("light") });
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
