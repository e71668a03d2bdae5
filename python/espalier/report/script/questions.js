// The list of questions, with its search and filters.
const listed = { filter: "all", words: "" };

function question_row(row) {
  const { answer, state } = row;
  const sign = (of, run) => make("span", { class: `sign ${of}`, title: `${run}${names[of] ?? of}`, role: "img", "aria-label": `${run}${names[of] ?? of}` }, signs[of] ?? "\u2022");
  row.button = button([
    make("span", { class: "signs" }, sign(state, runs ? "A " : ""), runs ? sign(row.other_state, "B ") : null),
    make("span", { class: "q" }, brief(answer.question, 300)),
    make("span", { class: "plain" }, typeof answer.f1 === "number" ? in_percent(answer.f1) : ""),
    make("small", {}, brief(answer.answer ?? (answer.error ? words(answer.error) : "no answer"), 120)),
  ], () => go_to(row));
  row.item = make("li", {}, row.button);
  return row.item;
}
const list = make("ul", { class: "questions" }, rows.map(question_row));
const matches = make("span", { role: "status" });
const search = make("input", { type: "search", placeholder: "Search questions", "aria-label": "Search questions and answers",
  on: { input: () => { listed.words = search.value.toLowerCase(); list_again(); } } });

const filters = { __proto__: null, all: ["all", () => true] };
for (const state of ["right", "wrong", "plain", "open", "budget", "failed"])
  if (["open", "budget"].includes(state) || rows.some((row) => row.state === state)) filters[state] = [names[state], (row) => row.state === state];
if (runs) {
  filters.only_a = ["only A right", (row) => row.state === "right" && row.other_state !== "right"];
  filters.only_b = ["only B right", (row) => row.state !== "right" && row.other_state === "right"];
  filters.differ = ["other answer", (row) => (row.answer.answer ?? null) !== (row.other?.answer ?? null)];
}
const chips = Object.entries(filters).map(([name, [title, holds]]) => button(`${title} ${rows.filter(holds).length}`,
  () => { listed.filter = name; list_again(); }, { "data-filter": name, "aria-pressed": name === "all" }));

const orders = {
  "file order": (a, b) => a.index - b.index,
  "lowest F1": (a, b) => (a.answer.f1 ?? -1) - (b.answer.f1 ?? -1) || a.index - b.index,
  "most calls": (a, b) => (b.answer.completions ?? 0) - (a.answer.completions ?? 0) || a.index - b.index,
};
const order = make("select", { "aria-label": "Order", on: { change: () => list.append(...[...rows].sort(orders[order.value]).map((row) => row.item)) } },
  Object.keys(orders).map((name) => make("option", {}, name)));

function list_again() {
  let left = 0;
  for (const row of rows) {
    row.item.hidden = !(filters[listed.filter][1](row) && row.text.includes(listed.words));
    left += !row.item.hidden;
  }
  for (const chip of chips) chip.setAttribute("aria-pressed", chip.dataset.filter === listed.filter);
  matches.textContent = `${left} of ${rows.length} questions`;
}
/// The question so many places further in the list as it stands.
function beside(row, way) {
  const left = [...list.children].filter((item) => !item.hidden);
  const next = left[left.indexOf(row.item) + way];
  return rows.find(({ item }) => item === next);
}
const questions = make("nav", { class: "list", "aria-label": "Questions" },
  make("div", { class: "tools" }, search, make("div", { class: "chips", role: "group", "aria-label": "Show" }, chips),
    make("p", {}, matches, order)),
  list);
