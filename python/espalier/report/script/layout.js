// Where nodes stand in the picture: depth downwards, a node's first child straight below it and the others to its right.
// The answer's chain comes first, so that it runs straight down.

/// The levels of the shown nodes (which come parents first), each from left to right. Sets node.column, so that no two
/// subtrees share a column at any depth, and node.below, the children that are shown.
function arranged(nodes) {
  const shown_nodes = new Set(nodes), levels = [];
  for (const node of nodes) {
    node.below = node.children.filter((child) => shown_nodes.has(child)).sort((a, b) => Number(b.chosen ?? 0) - Number(a.chosen ?? 0));
    node.offset = 0;
  }
  // taken: the last column of each depth below a node, counted from the node's own, the deepest first
  const taken_by = new Map();
  for (let i = nodes.length; i-- > 0;) {
    let taken = [];
    for (const child of nodes[i].below) {
      const own = taken_by.get(child);
      taken_by.delete(child);
      for (let d = Math.min(own.length, taken.length); d > 0; --d) child.offset = Math.max(child.offset, taken[taken.length - d] + 1);
      if (child.offset) for (let d = 0; d < own.length; ++d) own[d] += child.offset;
      if (own.length < taken.length) for (let d = 1; d <= own.length; ++d) taken[taken.length - d] = own[own.length - d];
      else taken = own;
    }
    taken.push(0);
    taken_by.set(nodes[i], taken);
  }
  for (const waiting = nodes.slice(0, 1); waiting.length;) {
    const node = waiting.pop();
    node.column = (node === nodes[0] ? 0 : node.parent.column) + node.offset;
    (levels[node.depth] ??= []).push(node);
    waiting.push(...node.below.toReversed());
  }
  return levels;
}
const columns_of = (levels) => 1 + levels.flat().reduce((most, node) => Math.max(most, node.column), 0);

/// Places node.x and node.y, and node.lines, the label at the mark's right, in node.width. The first column is `first`
/// pixels wide, the others `wide`; a level is at least `high`. Labels are at most `labels` wide; 0 places only marks. Returns
/// the size.
function lay_out(levels, { first, wide, high, labels }) {
  const left = (column) => column && first + (column - 1) * wide, width = left(columns_of(levels));
  let y = 0;
  for (const level of levels) {
    let most = 0;
    for (const [i, node] of level.entries()) {
      Object.assign(node, { x: left(node.column), y });
      node.lines = labels ? lines_of(node, Math.min(labels, (i + 1 < level.length ? left(level[i + 1].column) - 16 : width) - node.x - 20)) : [];
      node.width = Math.max(0, ...node.lines.map((text) => ruler.measureText(text).width));
      most = Math.max(most, node.lines.length);
    }
    y += Math.max(high, most * line + gutter + 8);
  }
  return { width, height: y - gutter };
}
const gutter = 18;  // above each level, where the lines from parents bend
const label_at = 15;  // from a mark's middle to its label

/// What stands beside a mark, in lines of at most `room` pixels: the answer's chain in full, others in at most three lines.
/// The last line of a folded subtree says how many nodes it holds.
function lines_of(node, room) {
  if (room < 84) return folded(node) && room > 30 ? [`+${count(node.holds)}`] : [];
  const text = node.status === "skipped" ? `${words(node.kind)} skipped` : brief(node.text, node.chosen ? 1000 : 200) || words(node.kind);
  const lines = wrapped(text, room, node.chosen ? 40 : 3);
  return folded(node) ? [...lines, held(node)] : lines;
}
const folded = (node) => node.holds > 0 && !node.below.length;

/// The outline of a node's mark around 0, 0 as points, or null for a circle. A shape a kind, so that colour is not needed.
function mark_of(node, r = 6) {
  if (!node.parent || node.kind === "answer") return [[-r, -r], [r, -r], [r, r], [-r, r]];
  if (node.kind === "sub_question" || node.kind === "queries") return [[0, -r * 1.3], [r * 1.3, 0], [0, r * 1.3], [-r * 1.3, 0]];
  if (node.kind === "own_answer" || node.kind === "sub_answer") return [[-r * 1.15, r], [0, -r * 1.2], [r * 1.15, r]];
  return null;
}
/// Draws the line from a node's parent with `pen`, a Path2D or what has its methods: down, across above the level, down.
function draw_edge({ parent, x, y }, pen) {
  const bend = y - Math.min(gutter, (y - parent.y) / 2), soft = Math.min(6, (x - parent.x) / 2, y - bend);
  pen.moveTo(parent.x, parent.y);
  if (x > parent.x) {
    pen.lineTo(parent.x, bend - soft);
    pen.quadraticCurveTo(parent.x, bend, parent.x + soft, bend);
    pen.lineTo(x - soft, bend);
    pen.quadraticCurveTo(x, bend, x, bend + soft);
  }
  pen.lineTo(x, y);
}
