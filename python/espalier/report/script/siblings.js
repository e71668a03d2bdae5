// A node beside one of its siblings, and the pair that was exported of the two.

function step_text(node) {
  return [node.thought, node.text].filter(Boolean).map(shown).join("\n");
}
function pair_of({ pairs }, a, b) {
  return pairs.find(({ chosen, rejected }) => (chosen === a && rejected === b) || (chosen === b && rejected === a));
}
/// The sibling to show first: the other side of an exported pair, else the best.
function partner({ pairs, measures }, node, siblings) {
  const pair = pairs.find(({ chosen, rejected }) => chosen === node || rejected === node);
  if (pair) return pair.chosen === node ? pair.rejected : pair.chosen;
  return [...siblings].sort((a, b) => (measures.value.of(b) ?? -Infinity) - (measures.value.of(a) ?? -Infinity) || a.born - b.born)[0];
}
function pair_card({ row }, gold) {
  const { provenance = {} } = row, fact = (name, value) => typeof value === "number" ? make("span", {}, `${name} `, make("b", {}, number(value, 3))) : null;
  const prompt = row.prompt ?? row.input?.history;
  const text = (value) => typeof value === "string" ? value : value?.new_step ?? JSON.stringify(value);
  return make("div", { class: "exported" },
    make("p", {}, make("b", {}, "Exported pair "), [row.type, row.decision].filter(Boolean).map(words).join(", ")),
    make("div", { class: "facts" }, fact("chosen", provenance.chosen_reward), fact("rejected", provenance.rejected_reward), fact("margin", provenance.margin)),
    make("details", {}, make("summary", {}, "The row as it is trained on"),
      prompt ? section("Prompt", full(prompt, (part) => marked(part, gold))) : null, section("Chosen", full(text(row.chosen))), section("Rejected", full(text(row.rejected)))));
}
function siblings_section(model, node) {
  const paired = model.pairs.flatMap(({ chosen, rejected }) => chosen === node ? [rejected] : rejected === node ? [chosen] : []);
  const siblings = [...new Set([...paired, ...node.parent.children.filter((child) => child !== node && child.status !== "skipped")])];
  if (!siblings.length) return null;
  const body = make("div", { class: "beside" });
  const choice = make("select", { "aria-label": "Sibling", on: { change: () => show(siblings[choice.selectedIndex]) } },
    siblings.map((sibling) => make("option", {}, `#${sibling.id} ${words(sibling.kind)}: ${brief(sibling.text, 60)}${pair_of(model, node, sibling) ? " (exported pair)" : ""}`)));
  const column = (of, pieces, kind, tag, pair) => make("div", {},
    make("p", { class: "facts" }, make("b", {}, of === node ? `#${of.id}, this node` : `#${of.id}`), make("span", {}, `value ${number(model.measures.value.of(of), 3)}`),
      pair ? make("span", { class: pair.chosen === of ? "flag good" : "flag" }, pair.chosen === of ? "chosen" : "rejected") : null,
      of.status === "pruned" ? make("span", {}, `pruned: ${because(of.reason)}`) : null),
    full(pieces.map(([, text]) => text).join(""), () => side(pieces, kind, tag), Infinity));
  function show(sibling) {
    const cut = (text) => text.length > 20000 ? `${text.slice(0, 20000)}\u2026` : text;
    const pieces = compared(cut(step_text(node)), cut(step_text(sibling))), pair = pair_of(model, node, sibling);
    body.replaceChildren(make("div", { class: "two" }, column(node, pieces, "gone", "del", pair), column(sibling, pieces, "new", "ins", pair)),
      pair ? pair_card(pair, model.gold) : note("No exported pair sets these two against each other."));
  }
  const first = partner(model, node, siblings);
  choice.selectedIndex = siblings.indexOf(first);
  show(first);
  return section(`Difference to a sibling (${siblings.length})`, choice, body);
}
