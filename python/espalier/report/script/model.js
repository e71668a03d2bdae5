// A tree as the page works with it.

/// The end of the chain that gave the answer: the best reward among complete chains, else among nodes whose rollouts
/// answered; then the higher prior, then the older.
function chosen_node(tree, nodes) {
  const selected = tree.annotations?.selected?.findIndex((number) => number > 0) ?? -1;
  if (selected >= 0) return nodes.get(selected);
  const complete = [...nodes.values()].filter((node) => node.status === "terminal" && node.kind === "answer");
  const answered = (tree.rollouts ?? []).filter((rollout) => typeof rollout.answer === "string").map((rollout) => nodes.get(rollout.node));
  const candidates = complete.length ? complete : answered.filter(Boolean);
  return candidates.sort((a, b) => (b.reward ?? 0) - (a.reward ?? 0) || (b.prior ?? 0) - (a.prior ?? 0) || a.id - b.id)[0];
}

/// The pairs of nodes that were exported as (chosen, rejected); a row's id is TREE#CHOSEN>REJECTED.
function exported(rows, nodes) {
  const pairs = [];
  for (const row of rows ?? []) {
    const ids = /#(\d+)>(\d+)$/.exec(row.id);
    const chosen = nodes.get(Number(ids?.[1])), rejected = nodes.get(Number(ids?.[2]));
    if (chosen && rejected) pairs.push({ row, chosen, rejected });
  }
  return pairs;
}

/// Nodes linked to parents and children, in the order in which they were added; `born` counts them, `holds` those below a
/// node. What was skipped stands among them as a node without numbers.
function grow(tree, pair_rows) {
  const nodes = new Map(tree.nodes.map((record, born) => [record.id, { ...record, born, children: [], rollouts: [], parent: null, depth: 0, holds: 0 }]));
  let root = null;
  for (const record of tree.nodes) {
    const node = nodes.get(record.id);
    node.parent = nodes.get(record.parent) ?? null;
    if (node.parent) {
      node.parent.children.push(node);
      node.depth = node.parent.depth + 1;
    } else root ??= node;
  }
  root.kind = "question";
  root.text ||= tree.question;
  (tree.skips ?? []).forEach((skip, index) => {
    const parent = nodes.get(skip.node);
    const born = Math.max(parent.born, ...parent.children.map((child) => child.born));
    const node = { id: `s${index}`, kind: String(skip.kind), text: "", status: "skipped", born, children: [], rollouts: [], parent, depth: parent.depth + 1, holds: 0 };
    parent.children.push(node);
    nodes.set(node.id, node);
  });
  for (const rollout of tree.rollouts ?? []) nodes.get(rollout.node)?.rollouts.push(rollout);
  for (let node = chosen_node(tree, nodes); node; node = node.parent) node.chosen = true;
  for (const node of [...nodes.values()].reverse()) if (node.parent && node.status !== "skipped") node.parent.holds += 1 + node.holds;
  // Branches that end here stand first, so that a chain reads downwards and siblings stay together.
  const ends_here = (node) => !node.children.length && !node.chosen;
  for (const node of nodes.values()) if (node.children.length > 1) node.children = [...node.children.filter(ends_here), ...node.children.filter((child) => !ends_here(child))];
  const pairs = exported(pair_rows, nodes);
  for (const { chosen, rejected } of pairs) chosen.paired = rejected.paired = true;
  return { tree, nodes, root, pairs, size: tree.nodes.length, measures: measures_of(tree, nodes), gold: gold_pattern(tree.golden_answers), opened: first_opened(root, nodes) };
}

/// Which nodes show their children at first: all of a small tree, the answer's chain of a large one.
function first_opened(root, nodes) {
  const all = [...nodes.values()].filter((node) => node.children.length);
  return new Set(nodes.size <= 40 ? all : [root, ...all.filter((node) => node.chosen)]);
}

/// The numbers that nodes can be compared by, each with its scale.
function measures_of(tree, nodes) {
  const measures = {
    // What siblings are compared by: a node's own reward, else the mean that was backed up through it.
    value: (node) => node.reward ?? (node.visits ? node.value : null),
    mean: (node) => node.visits ? node.value : null,
    visits: (node) => node.visits,
    prior: (node) => node.parent ? node.prior : null,
  };
  for (const [name, numbers] of Object.entries(tree.annotations ?? {})) measures[name] = (node) => numbers[node.id] ?? null;
  return Object.fromEntries(Object.entries(measures).map(([name, of]) => {
    let low = 0, high = name === "visits" ? 0 : 1;
    for (const node of nodes.values()) {
      const value = of(node);
      if (typeof value === "number") [low, high] = [Math.min(low, value), Math.max(high, value)];
    }
    return [name, { of, scale: { low, high }, whole: name === "visits" }];
  }));
}

/// The nodes that are shown, parents before children: those added before the moment `at`, below opened nodes, and if a
/// filter is given, what it lets through, with all that leads there.
function* visible(model, at, kept = null) {
  const waiting = [model.root];
  while (waiting.length) {
    const node = waiting.pop();
    if (node.born >= at || (kept && !kept.has(node))) continue;
    yield node;
    if (kept || model.opened.has(node)) for (let i = node.children.length; i-- > 0;) waiting.push(node.children[i]);
  }
}
/// How many nodes are below a node that is folded.
const held = (node) => `+ ${count(node.holds)} ${node.holds === 1 ? "node" : "nodes"}`;

function* ancestors(node) {
  for (let above = node.parent; above; above = above.parent) yield above;
}
