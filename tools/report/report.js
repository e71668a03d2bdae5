"use strict";
(() => {
  // Every text goes into the page as a text node. The page's policy forbids markup from strings altogether.
  const label = document.body.dataset.label;  // what scores must say of themselves: "oracle", "simulated model"
  const blocks = (name) => [...document.querySelectorAll(`script[data-block=${name}]`)];
  const explorer = document.getElementById("explorer");

  const reasons = {
    __proto__: null,
    outvoted: "the majority of the samples decided otherwise",
    below_threshold: "its value did not pass the threshold",
    not_best: "a sibling ranked higher",
    skipped: "enough was known without it",
    malformed: "the model's text could not be read",
    budget: "the budget ran out",
  };
  const words = (name) => shown(name).replace(/_/g, " ");

  /// Text as it is shown: control characters get a visible sign.
  function shown(value) {
    return String(value ?? "").replace(/\r\n/g, "\n")
      .replace(/[\x00-\x08\x0b-\x1f\x7f]/g, (c) => c === "\x7f" ? "\u2421" : String.fromCharCode(0x2400 + c.charCodeAt(0)));
  }
  const number = (value, digits = 2) => typeof value === "number" ? value.toFixed(digits) : "\u2013";
  const count = (value) => typeof value === "number" ? Math.round(value).toLocaleString("en") : "\u2013";

  /// An element with a class, attributes and children; children are nodes or text, null is left out.
  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
      else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined).map((child) => child instanceof Node ? child : shown(child)));
    return element;
  }
  /// A bar for `value` on a scale that holds 0 and 1 and every value of the tree.
  function gauge(value, scale) {
    const bar = make("i");
    const at = (v) => (100 * (v - scale.low)) / (scale.high - scale.low);
    bar.style.left = `${Math.min(at(0), at(value))}%`;
    bar.style.width = `${Math.abs(at(value) - at(0))}%`;
    return make("span", { class: "gauge", "aria-hidden": "true" }, bar);
  }
  function table(heads, rows) {
    return make("table", {}, make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, rows.map((row) => make("tr", {}, row.map((cell) => make("td", {}, cell))))));
  }
  const kind_badge = (kind) => make("span", { class: `kind kind-${/^\w+$/.test(kind) ? kind : "other"}` }, words(kind));
  const labelled = () => label ? make("em", { class: "label" }, label) : null;
  const section = (title, ...children) => make("section", {}, make("h3", {}, title), ...children);

  // ---- Questions
  const trees = blocks("tree");
  const rows = blocks("answer").map((block, index) => {
    const answer = JSON.parse(block.textContent);
    const scored = typeof answer.em === "number" || typeof answer.em === "boolean";
    let state = answer.status;
    if (state === "done") state = scored ? (Number(answer.em) >= 1 ? "right" : "wrong") : "plain";
    return { index, answer, state, text: `${answer.id}\n${answer.question}\n${answer.answer ?? ""}`.toLowerCase() };
  });
  const signs = { __proto__: null, right: "\u2713", wrong: "\u2717", open: "\u25CB", budget: "\u25D4", failed: "!", plain: "\u2022" };
  const names = { __proto__: null, right: "right", wrong: "wrong", open: "open", budget: "budget", failed: "failed", plain: "answered" };
  const view = { filter: "all", words: "", order: "file", open: -1 };

  function question_row(row) {
    const { answer, state } = row;
    row.button = make("button", { type: "button", on: { click: () => { location.hash = `q${row.index + 1}`; } } },
      make("span", { class: `sign ${state}`, title: names[state] ?? state, role: "img", "aria-label": names[state] ?? state }, signs[state] ?? "\u2022"),
      make("span", { class: "q" }, answer.question),
      make("span", { class: "plain" }, typeof answer.f1 === "number" ? number(answer.f1) : ""),
      make("small", {}, answer.answer ?? (answer.error ? words(answer.error) : "no answer")));
    row.item = make("li", {}, row.button);
    return row.item;
  }
  const list = make("ul", { class: "questions" }, rows.map(question_row));
  const matches = make("span", { role: "status" });
  const search = make("input", { type: "search", placeholder: "Search questions and answers", "aria-label": "Search questions and answers",
    on: { input: () => { view.words = search.value.toLowerCase(); refresh(); } } });
  const counts = new Map([["all", rows.length]]);
  for (const state of ["right", "wrong", "plain", "open", "budget", "failed"]) {
    const size = rows.filter((row) => row.state === state).length;
    if (size || state === "open" || state === "budget") counts.set(state, size);
  }
  const chips = [...counts].map(([state, size]) => make("button", { type: "button", "data-filter": state, "aria-pressed": state === "all",
    on: { click: () => { view.filter = state; refresh(); } } }, `${names[state] ?? state} ${size}`));
  const orders = {
    file: (a, b) => a.index - b.index,
    "lowest F1": (a, b) => (a.answer.f1 ?? -1) - (b.answer.f1 ?? -1) || a.index - b.index,
    "most calls": (a, b) => (b.answer.completions ?? 0) - (a.answer.completions ?? 0) || a.index - b.index,
  };
  const order = make("select", { "aria-label": "Order", on: { change: () => {
    list.append(...[...rows].sort(orders[order.value]).map((row) => row.item));
  } } }, Object.keys(orders).map((name) => make("option", { value: name }, name === "file" ? "file order" : name)));

  function refresh() {
    let visible = 0;
    for (const row of rows) {
      row.item.hidden = !((view.filter === "all" || row.state === view.filter) && row.text.includes(view.words));
      visible += !row.item.hidden;
    }
    for (const chip of chips) chip.setAttribute("aria-pressed", chip.dataset.filter === view.filter);
    matches.textContent = `${visible} of ${rows.length} questions`;
  }
  const detail = make("main", { class: "detail" }, make("p", { class: "card empty" }, "Choose a question to see its tree."));
  explorer.append(make("nav", { class: "list", "aria-label": "Questions" },
    make("div", { class: "tools" }, search, make("div", { class: "chips", role: "group", "aria-label": "Show" }, chips),
      make("p", {}, matches, order), label ? make("em", { class: "label" }, `F1: ${label}`) : null),
    list), detail);
  refresh();

  // ---- Histograms of the summary
  function histogram(title, note, values, axis) {
    const bins = 10;
    const sizes = new Array(bins).fill(0);
    const high = axis ? axis[1] : Math.max(1, ...values);
    for (const value of values) sizes[Math.min(bins - 1, Math.floor((bins * value) / high))] += 1;
    const top = Math.max(1, ...sizes);
    const bars = sizes.map((size) => {
      const bar = make("i", {}, size ? make("span", {}, String(size)) : null);
      bar.style.height = `${(78 * size) / top}%`;
      return bar;
    });
    const text = `${title}: ${sizes.map((size, i) => `${size} from ${number((high * i) / bins)}`).join(", ")}`;
    return make("section", { class: "card" }, make("h3", {}, title, note), make("div", { class: "histogram", role: "img", "aria-label": text }, bars),
      make("div", { class: "axis", "aria-hidden": "true" }, make("span", {}, "0"), make("span", {}, axis ? String(high) : count(high))));
  }
  const cards = document.querySelector(".cards");
  const scores = rows.map((row) => row.answer.f1).filter((f1) => typeof f1 === "number");
  if (scores.length) cards.append(histogram("Questions by F1", labelled(), scores, [0, 1]));
  if (rows.length) cards.append(histogram("Questions by calls", null, rows.map((row) => row.answer.completions ?? 0)));

  // ---- One question
  function costs_table(costs) {
    const columns = ["completions", "prompt_tokens", "completion_tokens", "retrievals"];
    const entries = Object.entries(costs ?? {});
    const total = columns.map((column) => entries.reduce((sum, [, cost]) => sum + (cost[column] ?? 0), 0));
    return table(["purpose", "calls", "prompt tokens", "completion tokens", "retrievals"],
      [...entries.map(([purpose, cost]) => [words(purpose), ...columns.map((column) => count(cost[column] ?? 0))]), ["total", ...total.map(count)]]);
  }
  function verdict(row, tree) {
    const { answer, state } = row;
    const golds = (tree?.golden_answers ?? []).map((gold) => make("span", { class: "pill text" }, gold));
    const score = (name, value) => typeof value === "number" || typeof value === "boolean" ? make("span", {}, `${name} `, make("b", {}, number(Number(value)))) : null;
    const cost = (name, value) => make("span", {}, `${name} `, make("b", {}, count(value)));
    return make("section", { class: "card" },
      make("div", { class: "walk" }, make("button", { type: "button", class: "back", on: { click: () => { location.hash = ""; } } }, "\u2190 questions"),
        make("span", {}, answer.id), step_button(row, -1), step_button(row, 1)),
      make("h2", { class: "text", tabindex: "-1" }, answer.question),
      make("dl", { class: "verdict" },
        golds.length ? [make("dt", {}, "Gold"), make("dd", {}, golds)] : null,
        make("dt", {}, "Answer"),
        make("dd", {}, make("span", { class: `answer text ${state}` }, `${signs[state] ?? ""} `, answer.answer ?? "none")),
        answer.status !== "done" ? [make("dt", {}, "Status"), make("dd", {}, words(answer.status))] : null,
        answer.error ? [make("dt", {}, "Error"), make("dd", { class: "text wrong" }, answer.error)] : null),
      make("div", { class: "scored" }, score("EM", answer.em), score("F1", answer.f1), score("Acc", answer.acc),
        typeof answer.f1 === "number" ? labelled() : null,
        cost("calls", answer.completions), cost("tokens", (answer.prompt_tokens ?? 0) + (answer.completion_tokens ?? 0)), cost("retrievals", answer.retrievals)),
      tree ? make("details", {}, make("summary", {}, "Costs by purpose"), costs_table(tree.costs)) : null,
      tree ? make("details", {}, make("summary", {}, "Method and options"),
        table(["option", "value"], [["method", tree.method], ["seed", tree.seed], ["nodes", count(tree.nodes.length)], ["rollouts", count(tree.rollouts.length)],
          ...Object.entries(tree.options ?? {}).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)])].map((line) => line.map(String)))) : null);
  }
  function step_button(row, way) {
    const visible = [...list.children].filter((item) => !item.hidden);
    const next = visible[visible.indexOf(row.item) + way];
    return make("button", { type: "button", disabled: !next, on: { click: () => next.firstChild.click() } }, way < 0 ? "previous" : "next");
  }

  // ---- Its tree
  /// The end of the chain that gave the answer: the best reward among complete chains, else among nodes whose rollouts
  /// answered; then the higher prior, then the older.
  function chosen_node(nodes, tree) {
    const complete = [...nodes.values()].filter((node) => node.status === "terminal" && node.kind === "answer");
    const answered = tree.rollouts.filter((rollout) => typeof rollout.answer === "string").map((rollout) => nodes.get(rollout.node));
    const candidates = complete.length ? complete : answered.filter(Boolean);
    return candidates.sort((a, b) => (b.reward ?? 0) - (a.reward ?? 0) || (b.prior ?? 0) - (a.prior ?? 0) || a.id - b.id)[0];
  }
  function draw_tree(tree) {
    const nodes = new Map(tree.nodes.map((node) => [node.id, { ...node, children: [], skips: [], rollouts: [] }]));
    const roots = [];
    for (const node of nodes.values()) {
      const parent = nodes.get(node.parent);
      if (parent) parent.children.push(node);
      else roots.push(node);
    }
    for (const skip of tree.skips ?? []) nodes.get(skip.node)?.skips.push(skip);
    for (const rollout of tree.rollouts ?? []) nodes.get(rollout.node)?.rollouts.push(rollout);
    for (let node = chosen_node(nodes, tree); node; node = nodes.get(node.parent)) node.chosen = true;
    // What siblings are compared by: a node's own reward, else the mean that was backed up through it.
    const worth = (node) => node.reward ?? (node.visits ? node.value : null);
    const values = [...nodes.values()].map(worth).filter((value) => typeof value === "number");
    const context = { tree, nodes, scale: { low: Math.min(0, ...values), high: Math.max(1, ...values) }, gold: gold_pattern(tree.golden_answers) };

    function numbers(node) {
      const value = worth(node);
      return make("span", { class: "numbers" },
        node.forced ? make("span", { class: "flag", title: "No stop was decided in time, so the answer was asked for" }, "forced") : null,
        typeof value === "number" ? [gauge(value, context.scale), make("b", { title: value === node.reward ? "own reward" : "mean value" }, number(value))] : null,
        node.visits > 1 && node.value !== value ? make("span", { class: "mean", title: "mean value over its subtree" }, `mean ${number(node.value)}`) : null,
        node.visits ? make("span", { title: "visits" }, `\u00D7${count(node.visits)}`) : null,
        typeof node.prior === "number" && nodes.has(node.parent) ? make("span", { class: "prior", title: "prior: share of the samples" }, `p ${number(node.prior)}`) : null);
    }
    function skip_item(skip, level) {
      return make("li", { role: "treeitem", class: "skipped", tabindex: "-1", "aria-level": level, "aria-label": `${words(skip.kind)} skipped: ${reasons.skipped}` },
        make("div", { class: "row" }, make("span", { class: "twist" }), kind_badge(skip.kind), make("span", { class: "text" }, `skipped: ${reasons.skipped}`)));
    }
    const ends_here = (node) => !node.children.length && !node.chosen;
    function item(node, level) {
      const root = !nodes.has(node.parent);
      const pruned = node.status === "pruned";
      const why = pruned ? `pruned: ${reasons[node.reason] ?? words(node.reason)}` : node.status === "open" ? "not expanded" : null;
      const kind = root ? "question" : node.kind;
      const text = root ? node.text || tree.question : node.text;
      const branches = node.children.length + node.skips.length > 0;
      const value = worth(node);
      const spoken = [words(kind), shown(text), typeof value === "number" ? `value ${number(value)}` : null, node.chosen ? "chosen" : null, node.forced ? "forced" : null, why];
      const element = make("li", { role: "treeitem", tabindex: "-1", "aria-level": level, "aria-label": spoken.filter(Boolean).join(", "),
        "aria-expanded": branches ? "false" : null, class: [node.chosen ? "chosen" : "", pruned ? "pruned" : ""].join(" ").trim() || null },
        make("div", { class: "row" }, make("span", { class: "twist" }), kind_badge(kind), make("span", { class: "text" }, text || "(no text)"), numbers(node),
          why ? make("span", { class: "why" }, why) : null));
      // Branches that end here stand first, so that a chain reads downwards and siblings stay together.
      element.grow = () => make("ul", { role: "group" },
        node.children.filter(ends_here).map((child) => item(child, level + 1)), node.skips.map((skip) => skip_item(skip, level + 1)),
        node.children.filter((child) => !ends_here(child)).map((child) => item(child, level + 1)));
      element.node = node;
      return element;
    }
    function expand(element, wanted) {
      if (!element.hasAttribute("aria-expanded")) return;
      if (wanted && !element.group) element.append(element.group = element.grow());
      if (element.group) element.group.hidden = !wanted;
      element.setAttribute("aria-expanded", String(wanted));
    }
    function expand_all(element, wanted) {
      const waiting = [element];
      while (waiting.length) {
        const next = waiting.pop();
        expand(next, wanted || next.node === roots[0]);
        if (next.group) waiting.push(...next.group.children);
      }
    }
    function open_node(element) {
      if (!element.node) return;
      if (element.more) element.more.hidden = !element.more.hidden;
      else element.firstChild.after(element.more = node_detail(element.node, context));
    }
    function focus(element) {
      grown.querySelector("[tabindex='0']")?.setAttribute("tabindex", "-1");
      element.setAttribute("tabindex", "0");
      element.focus({ preventScroll: true });
      element.firstChild.scrollIntoView({ block: "nearest" });
    }
    function key(event) {
      const element = event.target;
      if (element.getAttribute("role") !== "treeitem" || event.altKey || event.ctrlKey || event.metaKey) return;
      const visible = () => [...grown.querySelectorAll("li")].filter((li) => li.offsetParent !== null);
      const expanded = element.getAttribute("aria-expanded");
      const move = (way) => { const all = visible(); return all[all.indexOf(element) + way]; };
      let target = null;
      if (event.key === "ArrowDown") target = move(1);
      else if (event.key === "ArrowUp") target = move(-1);
      else if (event.key === "Home") target = visible()[0];
      else if (event.key === "End") target = visible().at(-1);
      else if (event.key === "ArrowRight" && expanded === "false") expand(element, true);
      else if (event.key === "ArrowRight" && expanded === "true") target = element.group.firstChild;
      else if (event.key === "ArrowLeft" && expanded === "true") expand(element, false);
      else if (event.key === "ArrowLeft") target = element.parentElement.closest("li");
      else if (event.key === "Enter" || event.key === " ") open_node(element);
      else return;
      event.preventDefault();
      if (target) focus(target);
    }
    function click(event) {
      const row = event.target.closest(".row");
      if (!row) return;
      const element = row.parentElement;
      focus(element);
      if (event.target.closest(".twist")) expand(element, element.getAttribute("aria-expanded") !== "true");
      else open_node(element);
    }
    const grown = make("ul", { class: "tree", role: "tree", "aria-label": "Reasoning tree", on: { keydown: key, click } }, roots.map((root) => item(root, 1)));
    const first = grown.firstChild;
    first?.setAttribute("tabindex", "0");
    if (nodes.size <= 400) expand_all(first, true);
    else for (let li = first; li; li = li.group && [...li.group.children].find((child) => child.node?.chosen)) expand(li, true);
    return make("section", { class: "card" }, make("div", { class: "bar-head" }, make("h3", {}, "Tree", labelled()),
      make("button", { type: "button", on: { click: () => expand_all(first, true) } }, "expand all"),
      make("button", { type: "button", on: { click: () => expand_all(first, false) } }, "collapse all")),
      make("div", { class: "scroll" }, grown));
  }

  // ---- One node
  /// Finds gold answers as whole words; "yes" and "no" would mark everything and are left out.
  function gold_pattern(golds) {
    const parts = (golds ?? []).map((gold) => gold.trim()).filter((gold) => gold && !/^(yes|no)$/i.test(gold));
    if (!parts.length) return null;
    const escaped = parts.sort((a, b) => b.length - a.length).map((gold) => gold.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
    return new RegExp(`(?<![\\p{L}\\p{N}])(?:${escaped.join("|")})(?![\\p{L}\\p{N}])`, "giu");
  }
  function marked(text, pattern) {
    if (!pattern) return [text];
    const pieces = [];
    let done = 0;
    for (const hit of text.matchAll(pattern)) {
      pieces.push(text.slice(done, hit.index), make("mark", {}, hit[0]));
      done = hit.index + hit[0].length;
    }
    return [...pieces, text.slice(done)];
  }
  function document_card({ id, score }, open, { tree, gold }) {
    const passage = tree.documents?.[id] ?? {};
    return make("details", { class: "document", open }, make("summary", {}, make("b", { class: "text" }, marked(shown(passage.title || id), gold)),
      typeof score === "number" ? make("span", {}, `score ${number(score, 3)}`) : null), make("p", { class: "text" }, marked(shown(passage.text), gold)));
  }
  function rollout_card(rollout, context) {
    const steps = (rollout.steps ?? []).flatMap(Object.entries).map(([kind, content]) => make("li", {},
      kind === "documents" ? content.map((hit) => document_card(hit, false, context)) : [kind_badge(kind), " ", make("span", { class: "full text" }, content)]));
    return make("details", { class: "rollout" }, make("summary", {}, gauge(rollout.reward ?? 0, context.scale), make("b", {}, number(rollout.reward)), " ",
      make("span", { class: "text" }, rollout.answer ?? "no answer")), steps.length ? make("ol", {}, steps) : make("p", { class: "note" }, "no further step"));
  }
  function node_detail(node, context) {
    const fact = (name, value) => value === null || value === undefined ? null : make("span", {}, `${name} `, make("b", {}, value));
    const numeric = (value) => typeof value === "number" ? number(value, 3) : null;
    const root = !context.nodes.has(node.parent);
    return make("div", { class: "more" },
      root ? null : section(words(node.kind), make("p", { class: "full text" }, node.text || "(no text)")),
      node.thought ? section("Thought", make("p", { class: "full thought text" }, node.thought)) : null,
      make("div", { class: "facts" }, fact("own reward", numeric(node.reward)), fact("mean value", node.visits ? numeric(node.value) : null), fact("visits", count(node.visits ?? 0)),
        root ? null : fact("prior", numeric(node.prior)), fact("status", words(node.status)),
        node.status === "pruned" ? fact("because", reasons[node.reason] ?? words(node.reason)) : null,
        node.forced ? fact("answer", "forced: no stop was decided in time") : null),
      node.documents?.length ? section(`Documents (${node.documents.length})`, node.documents.map((hit) => document_card(hit, true, context))) : null,
      node.rollouts.length ? section([`Rollouts (${node.rollouts.length})`, labelled()], node.rollouts.map((rollout) => rollout_card(rollout, context))) : null);
  }

  // ---- Opening
  function route() {
    const row = rows[Number(/^#q(\d+)$/.exec(location.hash)?.[1]) - 1];
    rows[view.open]?.button.removeAttribute("aria-current");
    view.open = row ? row.index : -1;
    explorer.classList.toggle("has-open", Boolean(row));
    if (!row) return;
    row.button.setAttribute("aria-current", "true");
    row.item.scrollIntoView({ block: "nearest" });
    const source = trees[row.index].textContent;
    const tree = source ? JSON.parse(source) : null;
    detail.replaceChildren(verdict(row, tree), tree ? draw_tree(tree) : make("p", { class: "card empty" }, "This question has no tree yet. Run again to go on with it."));
    if (detail.getBoundingClientRect().top < 0 || matchMedia("(max-width: 56rem)").matches) detail.scrollIntoView();
    detail.querySelector("h2").focus({ preventScroll: true });
  }
  addEventListener("hashchange", route);
  route();
})();
