// The picture on a canvas.

/// Draws the nodes with node.x, node.y stretched by `across`, `down` and moved to `left`, `top`; marks and letters keep
/// their size times `unit`. What stands outside `found` (null = nothing) or comes after the moment `at` is faint.
function draw_picture(canvas, nodes, { across, down, left, top, unit = 1, ratio = 1, measure, found, chosen, at, colours }) {
  const context = canvas.getContext("2d"), width = canvas.width / ratio, height = canvas.height / ratio;
  const X = (node) => left + node.x * across, Y = (node) => top + node.y * down;
  const radius = Math.max(2, Math.min(6 * unit, 0.36 * line * down)), thin = radius < 4 * unit ? 0.8 * unit : 1.3 * unit;
  const there = (node) => node.born < at, bright = (node) => there(node) && (!found || found.has(node)), cut = (node) => node.status === "pruned" || node.status === "skipped";
  const in_sight = nodes.filter((node) => X(node) > -column * across && X(node) < width + radius && Y(node) > -line && Y(node) < height + line);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);

  // Edges, those of the answer's chain over the others; where lines are close, bends are corners
  const dense = radius < 3.2, edges = { plain: new Path2D(), faint: new Path2D(), chain: new Path2D(), faint_chain: new Path2D() };
  for (const node of nodes) {
    const { parent } = node;
    if (!parent) continue;
    const x = X(node), y = Y(node), from = X(parent), above = Y(parent);
    if (Math.max(y, above) < 0 || Math.min(y, above) > height || x < 0 || from > width) continue;
    const path = edges[(there(node) ? ["plain", "chain"] : ["faint", "faint_chain"])[node.chosen && parent.chosen ? 1 : 0]], bend = x - (x - from) / 3, soft = (x - from) / 12;
    path.moveTo(from, above);
    if (dense) path.lineTo(bend, above), path.lineTo(bend, y);
    else path.lineTo(bend - soft, above), path.bezierCurveTo(bend, above, bend, y, bend + soft, y);
    path.lineTo(x, y);
  }
  for (const [name, path] of Object.entries(edges)) {
    const chain = name.endsWith("chain");
    context.globalAlpha = (name.startsWith("faint") ? 0.3 : 1) * (chain ? 1 : 0.45);
    context.lineWidth = chain ? 3 * unit : thin;
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
      const x = X(node), y = Y(node), points = dense ? null : mark_of(node, radius);
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
    context.setLineDash(dashed ? [2.5 * unit, 2 * unit] : []);
    context.fillStyle = colours.steps[step];
    context.strokeStyle = chain ? colours.leaf : colours.soft;
    context.lineWidth = chain ? 1.8 * thin : thin;
    context.fill();
    context.stroke();
  }
  context.setLineDash([]);
  if (line * down >= 14 * unit && column * across >= 44 * unit) {
    context.font = `${12 * unit}px ${getComputedStyle(document.body).fontFamily}`;
    context.lineJoin = "round";
    for (const node of in_sight) {
      const { text, right, above } = label_of(node, (column * across - 26 * unit) / (6.6 * unit)), x = X(node) + right * unit, y = Y(node) - above * unit;
      context.globalAlpha = bright(node) ? (cut(node) ? 0.7 : 1) : 0.2;
      context.strokeStyle = colours.card;
      context.lineWidth = 3.5 * unit;
      context.strokeText(text, x, y);
      context.fillStyle = node.chosen ? colours.ink : colours.soft;
      context.fillText(text, x, y);
    }
  }
  context.globalAlpha = 1;
  if (!chosen || !nodes.includes(chosen)) return;
  context.beginPath();
  context.arc(X(chosen), Y(chosen), radius + 5, 0, 7);
  context.strokeStyle = colours.wrong;
  context.lineWidth = 2.4 * unit;
  context.stroke();
}
