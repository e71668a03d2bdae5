// Two runs side by side.

const compared_scores = [["em", "exact match"], ["f1", "F1"], ["acc", "accuracy"]];
const compared_costs = [["calls", "calls"], ["prompt_tokens", "prompt tokens"], ["completion_tokens", "completion tokens"], ["retrievals", "retrievals"], ["nodes", "nodes"], ["seconds", "seconds"]];
const label_of_run = ({ summary }) => [summary.oracle && "oracle", summary.simulated && "simulated model"].filter(Boolean).join(", ");

/// Both summaries, and how the answers to the shared questions differ.
function compare_runs([a, b]) {
  const difference = (x, y, show) => typeof x === "number" && typeof y === "number" ? `${y > x ? "+" : y < x ? "\u2212" : "\u00B1"}${show(Math.abs(y - x))}` : "\u2013";
  const line = ([name, title], show) => [title, show(a.summary[name]), show(b.summary[name]), difference(a.summary[name], b.summary[name], show)];
  const head = (run) => [brief(run.name, 60), label_of_run(run) ? make("em", { class: "label" }, label_of_run(run)) : null];
  const shared = rows.filter((row) => row.other), cases = (left, right) => shared.filter((row) => (row.state === "right") === left && (row.other_state === "right") === right).length;
  const present = ([name]) => name in a.summary || name in b.summary;
  return make("section", { class: "card comparison" }, make("h2", {}, "Two runs"),
    make("div", { class: "two" },
      make("div", { class: "scroll" }, table(["", make("span", {}, head(a)), make("span", {}, head(b)), "B \u2212 A"], [
        ["method", a, b].map((run) => run.summary ? brief(run.summary.method, 60) : run).concat(""),
        ...compared_scores.filter(present).map((row) => line(row, in_percent)), ...compared_costs.filter(present).map((row) => line(row, (value) => Number.isInteger(value) ? count(value) : number(value)))])),
      make("div", {}, table(["answers", "B right", "B not right"], [["A right", count(cases(true, true)), count(cases(true, false))], ["A not right", count(cases(false, true)), count(cases(false, false))]]),
        note(`${shared.length} questions are in both runs; ${rows.length - shared.length} only in A, ${b.questions - shared.length} only in B (those of B alone are not shown).`))));
}

/// The chain that gave an answer, a step a line.
function chain_of(source) {
  if (!source) return note("no tree");
  const { nodes, size } = grow(JSON.parse(source), null), steps = [...nodes.values()].filter((node) => node.chosen && node.parent);
  return [make("ol", { class: "chain" }, steps.map((node) => make("li", {}, kind_badge(node.kind), " ", make("span", { class: "text" }, brief(node.text, 300)), " ",
    typeof node.reward === "number" ? make("b", {}, number(node.reward)) : null))), note(`${count(size)} nodes in the tree`)];
}
/// One question in both runs; `show` opens the tree of a run.
function compare_question(row, opened, show) {
  const part = (run, answer, state, tree, index) => make("div", {},
    make("p", { class: "facts" }, make("b", {}, brief(run.name, 60))),
    make("p", {}, answer_of(answer, state)),
    make("div", { class: "facts" }, ["em", "f1"].map((name) => typeof answer?.[name] === "number" ? make("span", {}, `${name.toUpperCase()} `, make("b", {}, in_percent(answer[name]))) : null),
      make("span", {}, "calls ", make("b", {}, count(answer?.completions)))),
    chain_of(tree),
    tree ? button(opened === index ? "tree below" : "show this tree", () => show(index), { class: "link", "data-run": "AB"[index], "aria-pressed": String(opened === index) }) : null);
  return make("section", { class: "card both" }, make("h3", {}, "Both runs"), make("div", { class: "two" },
    part(runs[0], row.answer, row.state, sources.tree[row.index]?.textContent, 0), part(runs[1], row.other, row.other_state, sources.other_tree[row.index]?.textContent, 1)));
}
