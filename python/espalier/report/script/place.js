// Where the reader is, as the address says it: #q=QUESTION&node=7&at=40&view=map&find=...&show=...&by=...&run=B

const nowhere = { q: "", node: "", at: "", view: "", find: "", show: "", by: "", run: "" };
const place = { ...nowhere };

function read_place() {
  clearTimeout(note_place.later);
  const given = new URLSearchParams(location.hash.slice(1));
  for (const name of Object.keys(nowhere)) place[name] = given.get(name) ?? "";
}
function address() {
  const parts = new URLSearchParams(Object.entries(place).filter(([, value]) => value !== ""));
  return `${location.href.split("#")[0]}#${parts}`;
}
/// Changes the place in the tree that is open; the way back stays as it was. Browsers refuse many changes a second, so the
/// address follows a little later.
function note_place(changes) {
  Object.assign(place, changes);
  clearTimeout(note_place.later);
  note_place.later = setTimeout(() => history.replaceState(null, "", address()), 200);
}
/// Opens the tree of another run.
function show_run(run) {
  Object.assign(place, { run, node: "", at: "" });
  history.replaceState(null, "", address());
  open_place();
}
/// Opens a question, or none.
function go_to(row) {
  Object.assign(place, nowhere, row ? { q: String(row.answer.id), view: place.view, by: place.by, run: place.run } : {});
  if (address() !== location.href) history.pushState(null, "", address());
  open_place();
}
