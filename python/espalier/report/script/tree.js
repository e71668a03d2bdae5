// The tree that is open: its two views, its filter, its moment, its chosen node.

const legends = {
  outline: "Choose a node to see its texts, documents, selection terms and siblings.",
  map: "\u25A0 question, answer  \u25C6 sub question  \u25B2 own answer  \u25CF others. The fuller a mark, the higher its number. Dashed: pruned. Thick line: the answer\u2019s chain. Drag to move, double-click a mark to fold it.",
};

function tree_view(source, pairs, title) {
  const model = grow(JSON.parse(source), pairs), choices = choices_of(model);
  const view = { model, source, at: model.size, by: "value", node: null, found: null, kept: null, panel: make("aside", { class: "card panel", tabindex: "-1", "aria-label": "Node", hidden: true }) };
  let mode = "outline", nodes = [], asked = 0;

  const find = make("input", { type: "search", class: "find", placeholder: "Find: words, value>0.5, visits>=3, depth<4", "aria-label": "Find in the tree",
    on: { input: () => { note_place({ find: find.value }); narrow(); } } });
  const choice = make("select", { class: "narrow", "aria-label": "Which nodes", on: { change: () => { note_place({ show: choice.value }); narrow(); } } },
    Object.entries(choices).map(([name, [text]]) => make("option", { value: name }, text)));
  const measure = make("select", { class: "measure", "aria-label": "Number shown", on: { change: () => { note_place({ by: measure.value === "value" ? "" : measure.value }); view.by = measure.value; view.redraw(); } } },
    Object.keys(model.measures).map((name) => make("option", { value: name }, brief(words(name), 40))));
  const hits = make("span", { class: "hits", role: "status" });
  const outline = outline_of(view), map = map_of(view), growth = growth_of(view);
  const tabs = ["outline", "map"].map((name) => button(name, () => { note_place({ view: name === "map" ? name : "" }); turn(name); }, { "data-view": name }));

  const drawn = () => mode === "map" ? map : outline;
  view.shown = () => [...visible(model, view.at, view.kept)];
  /// All of the picture keeps its place while the tree grows in it, so the map lays out the finished tree, and the
  /// outline is as high.
  view.redraw = () => {
    asked = 0;
    const finished = [...visible(model, Infinity, view.kept)];
    nodes = mode === "map" ? finished : view.shown();
    drawn().draw(nodes, finished.length);
    growth.draw();
    [legend.textContent, legend.hidden] = [legends[mode], Boolean(view.node) && mode === "outline"];
  };
  view.go = (at) => {
    view.at = Math.max(1, Math.min(model.size, at));
    asked ||= requestAnimationFrame(() => {
      if (mode === "map") { asked = 0; map.repaint(); growth.draw(); } else view.redraw();
      note_place({ at: view.at === model.size ? "" : String(view.at) });
    });
  };
  view.toggle = (node) => {
    if (!model.opened.delete(node)) model.opened.add(node);
    view.redraw();
  };
  view.open_all = (wanted) => {
    model.opened = new Set(wanted ? [...model.nodes.values()].filter((node) => node.children.length) : [model.root]);
    view.redraw();
  };
  /// Chooses a node, or none: without one the tree has the whole width.
  view.choose = (node, noted = true) => {
    if (node === view.node) return;
    view.node = node;
    view.panel.hidden = !node;
    if (noted) note_place({ node: node ? String(node.id) : "" });
    if (!node) return view.redraw();
    if (!nodes.includes(node)) for (const above of ancestors(node)) model.opened.add(above);
    view.redraw();
    drawn().reveal(node);
    view.redraw();
    view.panel.replaceChildren(...node_panel(model, node, view.choose));
    view.panel.scrollTop = 0;
  };
  function narrow() {
    const result = find_nodes(model, choices, find.value, choice.value);
    [view.found, view.kept] = [result?.found ?? null, result?.kept ?? null];
    hits.textContent = result ? `${count(result.found.size)} found` : "";
    view.redraw();
  }
  function turn(to) {
    mode = to;
    for (const tab of tabs) tab.setAttribute("aria-pressed", tab.dataset.view === mode);
    outline.element.hidden = mode === "map";
    map.element.hidden = map.zooms.hidden = mode !== "map";
    view.redraw();
  }
  view.turn = () => tabs.find((tab) => tab.dataset.view !== mode).click();
  view.find = () => find.focus();
  /// Shows what the address says.
  view.restore = () => {
    find.value = place.find;
    choice.value = Object.hasOwn(choices, place.show) ? place.show : "";
    measure.value = view.by = Object.hasOwn(model.measures, place.by) ? place.by : "value";
    view.at = Math.max(1, Math.min(model.size, Number(place.at) || model.size));
    narrow();
    turn(place.view === "map" ? "map" : "outline");
    const node = model.nodes.get(/^\d+$/.test(place.node) ? Number(place.node) : place.node);
    if (node) view.choose(node, false);
  };
  const legend = note();
  view.element = make("div", { class: "work" },
    make("section", { class: "card tree-card" },
      make("div", { class: "bar" }, make("h3", {}, "Tree", title ? ` of ${title}` : ""),
        make("span", { class: "tabs", role: "group", "aria-label": "View" }, tabs), map.zooms, find, hits,
        growth.element, choice, make("label", {}, make("span", {}, "show "), measure)),
      outline.element, map.element, growth.remark, legend,
      make("div", { class: "bar-foot" }, button("expand all", () => view.open_all(true), { class: "link" }), button("collapse all", () => view.open_all(false), { class: "link" }), save_buttons(view))),
    view.panel);
  return view;
}
