// Which nodes are looked for.

const comparisons = { __proto__: null, "<": (a, b) => a < b, ">": (a, b) => a > b, "<=": (a, b) => a <= b, ">=": (a, b) => a >= b, "=": (a, b) => a === b };

/// A test of a node: every word stands in its texts, and bounds such as value>0.5, visits>=3 or depth<4 hold.
function finder(text, { measures }) {
  const tests = text.toLowerCase().split(/\s+/).filter(Boolean).map((part) => {
    const [, name, sign, bound] = /^([a-z_]+)(<=|>=|<|>|=)(-?\d*\.?\d+)$/.exec(part) ?? [];
    const of = name === "depth" ? (node) => node.depth : name === "id" ? (node) => node.id : Object.hasOwn(measures, name ?? "") ? measures[name].of : null;
    if (of) return (node) => typeof of(node) === "number" && comparisons[sign](of(node), Number(bound));
    return (node) => (node.searched ??= `${node.kind}\n${node.text ?? ""}\n${node.thought ?? ""}`.toLowerCase()).includes(part);
  });
  return (node) => tests.every((test) => test(node));
}
/// What the tree can be narrowed to, by name: [title, test].
function choices_of({ nodes, pairs }) {
  const choices = { __proto__: null, "": ["every node", () => true], chain: ["the answer's chain", (node) => node.chosen], pruned: ["pruned or skipped", (node) => node.status === "pruned" || node.status === "skipped"] };
  if (pairs.length) choices.pairs = ["in exported pairs", (node) => node.paired];
  const all = [...nodes.values()];
  for (const reason of new Set(all.map((node) => node.reason).filter(Boolean))) choices[`reason-${reason}`] = [`pruned: ${words(reason)}`, (node) => node.reason === reason];
  for (const kind of new Set(all.filter((node) => node.parent).map((node) => node.kind))) choices[`kind-${kind}`] = [`kind: ${brief(words(kind), 40)}`, (node) => node.parent !== null && node.kind === kind];
  return choices;
}
/// The nodes found, and with them all that lead there; null = nothing is looked for.
function find_nodes(model, choices, text, choice) {
  if (!text.trim() && choice === "") return null;
  const test = finder(text, model), narrowed = choices[choice][1];
  const found = new Set([...model.nodes.values()].filter((node) => narrowed(node) && test(node))), kept = new Set(found);
  for (const node of found) for (const above of ancestors(node)) {
    if (kept.has(above)) break;
    kept.add(above);
  }
  return { found, kept };
}
