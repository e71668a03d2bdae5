// Where nodes stand in the picture: depth to the right, leaves one below the other, parents between their first and last child.
const column = 190, line = 26;

/// Places x, y in the nodes themselves, which stand parents first. Returns the size.
function lay_out(nodes) {
  const shown_nodes = new Set(nodes);
  let leaves = 0, deepest = 0;
  for (const node of nodes) {
    node.below = node.children.filter((child) => shown_nodes.has(child));
    node.x = node.depth * column;
    if (!node.below.length) node.y = leaves++ * line;
    deepest = Math.max(deepest, node.depth);
  }
  for (let i = nodes.length; i-- > 0;) {
    const { below } = nodes[i];
    if (below.length) nodes[i].y = (below[0].y + below.at(-1).y) / 2;
  }
  return { width: deepest * column + 2 * column, height: Math.max(1, leaves) * line };
}
/// The outline of a node's mark around 0, 0 as points, or null for a circle. A shape a kind, so that colour is not needed.
function mark_of(node, r = 6) {
  if (!node.parent || node.kind === "answer") return [[-r, -r], [r, -r], [r, r], [-r, r]];
  if (node.kind === "sub_question" || node.kind === "queries") return [[0, -r * 1.3], [r * 1.3, 0], [0, r * 1.3], [-r * 1.3, 0]];
  if (node.kind === "own_answer" || node.kind === "sub_answer") return [[-r * 1.15, r], [0, -r * 1.2], [r * 1.15, r]];
  return null;
}
/// What stands beside a mark, and where: behind a leaf, above the line of an inner node, which has room for so many letters.
function label_of(node, letters = 28) {
  const inner = node.below.length > 0;
  const text = node.status === "skipped" ? `${words(node.kind)} skipped` : brief(node.text, inner ? Math.max(6, Math.floor(letters)) : 44) || words(node.kind);
  return { text, right: 12, above: inner ? 8 : -4 };
}
