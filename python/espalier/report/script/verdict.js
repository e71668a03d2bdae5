// What a run says about one question: gold, answer, scores, costs.

function costs_table(costs) {
  const columns = ["completions", "prompt_tokens", "completion_tokens", "retrievals"];
  const entries = Object.entries(costs ?? {});
  const total = columns.map((column) => entries.reduce((sum, [, cost]) => sum + (cost[column] ?? 0), 0));
  return table(["purpose", "calls", "prompt tokens", "completion tokens", "retrievals"],
    [...entries.map(([purpose, cost]) => [words(purpose), ...columns.map((column) => count(cost[column] ?? 0))]), ["total", ...total.map(count)]]);
}
function options_table(tree) {
  const facts = [["method", tree.method], ["seed", tree.seed], ["nodes", count(tree.nodes.length)], ["rollouts", count(tree.rollouts?.length)]];
  const options = Object.entries(tree.options ?? {}).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]);
  return table(["option", "value"], [...facts, ...options].map((line) => line.map((cell) => brief(cell, 400))));
}
function answer_of(answer, state) {
  return make("span", { class: `answer text ${state}` }, `${signs[state] ?? ""} `, brief(answer?.answer ?? "none", 2000));
}
function verdict(row, tree) {
  const { answer, state } = row;
  const golds = (tree?.golden_answers ?? []).map((gold) => make("span", { class: "pill text" }, brief(gold, 400)));
  const score = (name, value) => typeof value === "number" || typeof value === "boolean" ? make("span", {}, `${name} `, make("b", {}, in_percent(Number(value)))) : null;
  const fact = (name, ...content) => make("div", {}, make("dt", {}, name), make("dd", {}, content));
  const step = (way) => {
    const next = beside(row, way);
    return button(way < 0 ? "previous" : "next", () => go_to(next), { disabled: !next });
  };
  const folded = (title, content) => make("details", {}, make("summary", {}, title), content);
  return make("section", { class: "card" },
    make("div", { class: "walk" }, button("\u2190 questions", () => go_to(null), { class: "back" }), make("span", {}, brief(answer.id)), step(-1), step(1)),
    make("h2", { class: "text", tabindex: "-1" }, brief(answer.question, 2000)),
    make("div", { class: "result" }, make("dl", { class: "verdict" }, fact("Answer", answer_of(answer, state)), golds.length ? fact("Gold", golds) : null,
      answer.status !== "done" ? fact("Status", words(answer.status)) : null,
      answer.error ? fact("Error", make("span", { class: "text wrong" }, brief(answer.error, 2000))) : null),
    make("div", { class: "scored" }, score("EM", answer.em), score("F1", answer.f1), score("Acc", answer.acc),
      make("span", {}, "calls ", make("b", {}, count(answer.completions))), folded("Costs", costs_table(tree?.costs ?? { all: answer })),
      tree ? folded("Options", make("div", { class: "words" }, options_table(tree))) : null)));
}
