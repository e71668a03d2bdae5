// The picture on a canvas.

/// Draws the nodes where the layout has placed them, moved to `left`, `top`, at `ratio` dots a pixel, marks with the radius
/// `radius`. What stands outside `found` (null = nothing) or comes after the moment `at` is faint.
function draw_picture(canvas, nodes, { left, top, radius, ratio = 1, measure, found, chosen, at, colours }) {
  const context = canvas.getContext("2d"), width = canvas.width / ratio, height = canvas.height / ratio;
  const there = (node) => node.born < at, bright = (node) => there(node) && (!found || found.has(node)), cut = (node) => node.status === "pruned" || node.status === "skipped";
  const across = ({ x }) => x + left > -500 && x + left < width + radius, down = ({ y, lines }) => y + top > -line * (lines.length + 1) && y + top < height + line;
  const in_sight = nodes.filter((node) => across(node) && down(node)), dense = radius < 3.2, thin = dense ? 0.8 : 1.3;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.translate(left, top);

  // Edges, those of the answer's chain over the others
  const edges = { plain: new Path2D(), faint: new Path2D(), chain: new Path2D(), faint_chain: new Path2D() };
  for (const node of nodes) {
    const { parent } = node;
    if (!parent || node.y + top < 0 || parent.y + top > height || node.x + left < 0 || parent.x + left > width) continue;
    draw_edge(node, edges[(there(node) ? ["plain", "chain"] : ["faint", "faint_chain"])[node.chosen && parent.chosen ? 1 : 0]]);
  }
  for (const [name, path] of Object.entries(edges)) {
    const chain = name.endsWith("chain");
    context.globalAlpha = (name.startsWith("faint") ? 0.3 : 1) * (chain ? 1 : 0.45);
    context.lineWidth = chain ? 3 : thin;
    context.strokeStyle = chain ? colours.leaf : colours.soft;
    context.stroke(path);
  }
  // Marks, one path for all that look the same
  const looks = new Map();
  for (const node of in_sight) {
    const look = `${bright(node) ? 1 : 0.2} ${fullness(node, measure)} ${cut(node) ? 1 : 0} ${node.chosen ? 1 : 0}`;
    if (!looks.has(look)) looks.set(look, []);
    looks.get(look).push(node);
  }
  for (const [look, alike] of looks) {
    const [alpha, step, dashed, chain] = look.split(" ").map(Number);
    context.beginPath();
    for (const node of alike) {
      const { x, y } = node, points = dense ? null : mark_of(node, radius);
      if (dense) context.rect(x - radius, y - radius, 2 * radius, 2 * radius);
      else if (points) {
        points.forEach(([dx, dy], i) => i ? context.lineTo(x + dx, y + dy) : context.moveTo(x + dx, y + dy));
        context.closePath();
      } else {
        context.moveTo(x + radius, y);
        context.arc(x, y, radius, 0, 7);
      }
    }
    context.globalAlpha = alpha;
    context.setLineDash(dashed ? [2.5, 2] : []);
    context.fillStyle = colours.steps[step];
    context.strokeStyle = chain ? colours.leaf : colours.soft;
    context.lineWidth = chain ? 1.8 * thin : thin;
    context.fill();
    context.stroke();
  }
  context.setLineDash([]);
  for (const node of in_sight) for (const [i, text] of node.lines.entries()) {
    const { alpha, bold, colour } = look_of_line(node, i, bright(node));
    context.globalAlpha = alpha;
    context.font = `${bold ? "600 " : ""}${letters}px ${font_family}`;
    context.fillStyle = colours[colour];
    context.fillText(text, node.x + label_at, node.y + 4 + i * line);
  }
  context.globalAlpha = 1;
  if (!chosen || !nodes.includes(chosen)) return;
  context.beginPath();
  context.arc(chosen.x, chosen.y, radius + 5, 0, 7);
  context.strokeStyle = colours.wrong;
  context.lineWidth = 2.4;
  context.stroke();
}
