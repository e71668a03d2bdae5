// All that is recorded about one node.

function document_card({ id, score }, open, { tree, gold }) {
  const passage = tree.documents?.[id] ?? {};
  return make("details", { class: "document", open }, make("summary", {}, make("b", { class: "text" }, marked(brief(passage.title || id, 400), gold)),
    typeof score === "number" ? make("span", {}, `score ${number(score, 3)}`) : null), full(passage.text, (part) => marked(part, gold)));
}
function rollout_card(rollout, model) {
  const steps = (rollout.steps ?? []).flatMap(Object.entries).map(([kind, content]) => make("li", {},
    kind === "documents" ? content.map((hit) => document_card(hit, false, model)) : [kind_badge(kind), full(content, (part) => marked(part, model.gold))]));
  return make("details", { class: "rollout" }, make("summary", {}, gauge(rollout.reward ?? 0, model.measures.value.scale), make("b", {}, number(rollout.reward)), " ",
    make("span", { class: "text" }, brief(rollout.answer ?? "no answer", 400))), steps.length ? make("ol", {}, steps) : note("no further step"));
}
/// The steps from the question to the node: what the model had before it.
function way_here(model, node) {
  const steps = [node, ...ancestors(node)].reverse().slice(0, -1).map((step) => make("li", {}, kind_badge(step.kind), " ",
    step.thought ? make("p", { class: "thought text" }, brief(step.thought, 400)) : null, make("span", { class: "text" }, brief(step.text, 400)),
    step.documents?.length ? note(`${step.documents.length} documents: `, step.documents.map((hit) => brief(model.tree.documents?.[hit.id]?.title || hit.id, 60)).join("; ")) : null));
  return make("details", {}, make("summary", {}, `What stood before it (${steps.length} steps)`), make("ol", {}, steps),
    note("trees.jsonl keeps steps, not prompts: the exact prompt is in the run's journal, and in an exported pair above."));
}
function node_panel(model, node, choose) {
  const { tree, gold } = model, numeric = (value) => typeof value === "number" ? number(value, 3) : null;
  const fact = (name, value) => value === null || value === undefined ? null : make("span", {}, `${name} `, make("b", {}, value));
  const head = make("div", { class: "node-head" }, kind_badge(node.kind), make("span", {}, `node ${node.id}`), node.chosen ? make("span", { class: "flag good" }, "on the answer's chain") : null,
    node.paired ? make("span", { class: "flag pair" }, "in an exported pair") : null, make("span", { class: "ways" }, node.parent ? button("parent", () => choose(node.parent), { class: "link" }) : null,
      button("close", () => choose(null), { class: "link" })));
  if (node.status === "skipped") return [head, make("p", {}, `Skipped: ${reasons.skipped}. Nothing else is recorded about it.`)];
  const remarks = (tree.remarks ?? []).filter((remark) => remark.node === node.id);
  const noted = Object.entries(tree.annotations ?? {}).map(([name, numbers]) => fact(words(name), numeric(numbers[node.id])));
  return [head,
    node.status === "pruned" ? make("p", { class: "pruned-why" }, make("b", {}, "Pruned: "), because(node.reason)) : null,
    full(node.text || "(no text)", (part) => marked(part, node.parent ? gold : null)),
    node.notice ? section("Notice", full(node.notice)) : null,
    node.thought ? section("Thought", make("div", { class: "thought" }, full(node.thought, (part) => marked(part, gold)))) : null,
    make("div", { class: "facts" }, fact("own reward", numeric(node.reward)), fact("mean value", node.visits ? numeric(node.value) : null), fact("visits", count(node.visits ?? 0)),
      node.parent ? fact("prior", numeric(node.prior)) : null, fact("status", words(node.status)), node.forced ? fact("answer", "forced: no stop was decided in time") : null, noted),
    node.documents?.length ? section(`Documents (${node.documents.length})`, node.documents.map((hit) => document_card(hit, true, model))) : null,
    node.parent ? terms_section(model, node, choose) : null,
    node.parent ? siblings_section(model, node) : null,
    remarks.length ? section("Remarks", remarks.map((remark) => make("div", {}, make("b", {}, words(remark.name)), full(remark.text)))) : null,
    node.rollouts.length ? section(`Rollouts (${node.rollouts.length})`, node.rollouts.map((rollout) => rollout_card(rollout, model))) : null,
    node.parent ? way_here(model, node) : null].filter(Boolean);
}
