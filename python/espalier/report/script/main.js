// Puts the page together and opens what its address says.
const detail = make("main", { class: "detail" });
const opened = { row: null, view: null };

const first = rows.find(({ index }) => sources.tree[index].textContent) ?? rows[0];

/// An address without a question means the first one. Only the bare address, which the way back to the list sets, means
/// none. `starting`: the page was just loaded, so it has no list to go back to, and it stays at its head.
function open_place(starting = false) {
  read_place();
  const arriving = Boolean(place.q) || !starting;
  if (first && !place.q && (starting || Object.values(place).some(Boolean))) {
    place.q = String(first.answer.id);
    history.replaceState(null, "", address());
  }
  const row = row_of.get(place.q) ?? null;
  opened.row?.button.removeAttribute("aria-current");
  Object.assign(opened, { row, view: null });
  explorer.classList.toggle("has-open", Boolean(row));
  if (!row) return void detail.replaceChildren(make("p", { class: "card empty" }, "Choose a question to see its tree. Press ? for the keys."));
  row.button.setAttribute("aria-current", "true");
  const second = runs && place.run === "B", source = sources[second ? "other_tree" : "tree"][row.index].textContent;
  opened.view = source ? tree_view(source, read(sources[second ? "other_pairs" : "pairs"][row.index]), runs?.[second ? 1 : 0].name) : null;
  detail.replaceChildren(verdict(row, opened.view && !second ? opened.view.model.tree : read(sources.tree[row.index])),
    ...(runs ? [compare_question(row, second ? 1 : 0, (index) => show_run(index ? "B" : ""))] : []),
    opened.view?.element ?? make("p", { class: "card empty" }, "This question has no tree yet. Run again to go on with it."));
  opened.view?.restore();
  if (!arriving) return;
  row.item.scrollIntoView({ block: "nearest" });
  const { top } = detail.getBoundingClientRect();
  if (top < 0 || top > innerHeight / 2 || matchMedia("(max-width: 56rem)").matches) detail.scrollIntoView();
  detail.querySelector("h2").focus({ preventScroll: true });
}
const explorer = document.getElementById("explorer");
document.querySelector(".cards").append(...histograms());
if (runs) {
  document.querySelector("h1").after(note(`The head is of ${brief(runs[0].name, 60)}; both runs stand side by side below it.`));
  explorer.before(compare_runs(runs));
}
explorer.append(questions, detail, key_help);
list_again();
addEventListener("popstate", () => open_place());
addEventListener("keydown", global_key);
document.querySelector(".run").open = false;
open_place(true);
