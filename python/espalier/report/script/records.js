// The records that stand in the page. Answers are read at once, trees when their question is opened.
const blocks = (name) => [...document.querySelectorAll(`script[data-block=${name}]`)];
const read = (block) => block?.textContent ? JSON.parse(block.textContent) : null;
const sources = Object.fromEntries(["tree", "pairs", "other_tree", "other_pairs"].map((name) => [name, blocks(name)]));
const runs = read(blocks("runs")[0]);  // the two that are compared, else null
if (runs) for (const [index, run] of runs.entries()) run.name = `${"AB"[index]} ${run.name}`;

function state_of(answer) {
  if (!answer || answer.status !== "done") return answer?.status ?? "absent";
  const scored = typeof answer.em === "number" || typeof answer.em === "boolean";
  return scored ? (Number(answer.em) >= 1 ? "right" : "wrong") : "plain";
}
const others = blocks("other_answer");
const rows = blocks("answer").map((block, index) => {
  const answer = read(block), other = read(others[index]);
  return { index, answer, other, state: state_of(answer), other_state: state_of(other), text: `${answer.id}\n${answer.question}\n${answer.answer ?? ""}`.toLowerCase() };
});
const row_of = new Map(rows.map((row) => [String(row.answer.id), row]));
const signs = { __proto__: null, right: "\u2713", wrong: "\u2717", open: "\u25CB", budget: "\u25D4", failed: "!", plain: "\u2022", absent: "\u2013" };
const names = { __proto__: null, right: "right", wrong: "wrong", open: "open", budget: "budget", failed: "failed", plain: "answered", absent: "not in this run" };
