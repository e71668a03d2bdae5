// Why a search went where it went: the terms of its selection formula for a node and its siblings.

/// The formula of each method that has one, and the option that weighs exploration.
const formulas = { __proto__: null,
  airrag: { name: "UCT", weight: "w" }, reasonrag: { name: "UCT", weight: "c" }, decouple: { name: "UCT", weight: "w" }, prorag: { name: "PUCT", weight: "c" } };

/// Exploitation, exploration and their sum, from the counts that the finished tree holds. Null = the tree does not say.
function terms_of(tree, node) {
  const formula = formulas[tree.method], weight = tree.options?.[formula?.weight];
  if (!formula || typeof weight !== "number" || !node.parent || tree.options.grow === "group") return null;
  const n = node.visits ?? 0, above = node.parent.visits ?? 0;
  if (formula.name === "UCT") {
    const exploit = n ? node.total / (tree.options.divide_again ? n * n : n) : 0;
    const explore = n ? weight * Math.sqrt(above > 1 ? Math.log(above) / n : 0) : Infinity;
    return { exploit, explore, sum: exploit + explore };
  }
  const shares = node.parent.children.reduce((sum, child) => sum + (["pruned", "skipped"].includes(child.status) ? 0 : child.prior), 0);
  const exploit = n ? node.total / n : 0;
  const explore = shares > 0 ? (weight * node.prior / shares * Math.sqrt(above)) / (1 + n) : 0;
  return { exploit, explore, sum: exploit + explore };
}
function formula_text(tree, parent) {
  const { name, weight } = formulas[tree.method], w = number(tree.options[weight], 3), n = count(parent.visits);
  if (name === "PUCT") return `PUCT = mean + ${weight} P \u221AN(parent) / (1 + N), ${weight} = ${w}, N(parent) = ${n}`;
  return `UCT = mean${tree.options.divide_again ? " / N" : ""} + ${weight} \u221A(ln N(parent) / N), ${weight} = ${w}, N(parent) = ${n}`;
}
const signed = (value) => value === Infinity ? "\u221E" : number(value, 3);

/// A row a sibling, highest score first.
function terms_section({ tree }, node, choose) {
  const siblings = node.parent.children.filter((child) => child.status !== "skipped");
  const name = (child) => child === node ? make("b", {}, `#${child.id} (this)`) : button(`#${child.id}`, () => choose(child), { class: "link", title: brief(child.text) });
  if (!terms_of(tree, node)) {
    const ranked = siblings.map((child) => [name(child), number(child.reward, 3), number(child.value, 3), count(child.visits), number(child.prior, 3)]);
    return section("Beside its siblings", make("div", { class: "scroll" }, table(["node", "own reward", "mean", "N", "prior"], ranked)),
      note(`No selection formula is known for ${words(tree.method)}; these are the numbers that trees.jsonl records.`));
  }
  const terms = new Map(siblings.map((child) => [child, terms_of(tree, child)]));
  const sorted = [...siblings].sort((a, b) => terms.get(b).sum - terms.get(a).sum || a.born - b.born);
  return section("Selection terms", note(formula_text(tree, node.parent)),
    make("div", { class: "scroll" }, table(["node", "N", "P", "mean", "exploration", "score"], sorted.map((child) => {
      const { exploit, explore, sum } = terms.get(child);
      return [name(child), count(child.visits), number(child.prior, 3), signed(exploit), signed(explore), make("b", {}, signed(sum))];
    }))),
    note("From the counts of the finished tree, as one more simulation would see them. The terms at each past choice are not recorded."));
}
