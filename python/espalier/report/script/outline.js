// The tree as lines, one a node. Only those in sight are elements, so that ten thousand nodes scroll like ten.

/// `view` is the tree that is open (see tree.js).
function outline_of(view) {
  const { model } = view;
  const rows = make("div", { class: "rows" }), space = make("div", { class: "space" }, rows);
  const frame = make("div", { class: "outline", role: "tree", tabindex: "0", "aria-label": "Reasoning tree" }, space);
  let nodes = [], room = 0, height = 34, asked = 0;

  function numbers(node) {
    if (node.status === "skipped") return null;
    const { of, scale, whole } = model.measures[view.by], value = of(node);
    return make("span", { class: "numbers" },
      node.paired ? make("span", { class: "flag pair", title: "in an exported pair" }, "pair") : null,
      node.forced ? make("span", { class: "flag", title: "No stop was decided in time, so the answer was asked for" }, "forced") : null,
      typeof value === "number" ? [gauge(value, scale), make("b", { title: words(view.by) }, whole ? count(value) : number(value))] : null,
      node.visits && !whole ? make("span", { class: "visits", title: "visits" }, `\u00D7${count(node.visits)}`) : null);
  }
  /// Why nothing grew from a node: in short, and in full.
  function why(node) {
    if (node.status === "pruned") return [words(node.reason), `pruned: ${because(node.reason)}`];
    if (node.status === "skipped") return ["skipped", reasons.skipped];
    return node.status === "open" ? ["not expanded", "the search did not go on from here"] : null;
  }
  function row(node, index, step) {
    const opened = node.children.length ? String(Boolean(view.kept) || model.opened.has(node)) : null, reason = why(node), text = brief(node.text);
    const value = model.measures.value.of(node), spoken = [words(node.kind), text, opened === "false" && node.holds ? `${held(node)} folded` : null, typeof value === "number" ? `value ${number(value)}` : null, node.chosen ? "chosen" : null, reason];
    const element = make("div", { role: "treeitem", id: `row-${node.id}`, "data-node": node.id, "aria-level": node.depth + 1, "aria-expanded": opened,
      "aria-selected": String(node === view.node), "aria-label": spoken.filter(Boolean).join(", "),
      "aria-posinset": node.parent ? node.parent.children.indexOf(node) + 1 : 1, "aria-setsize": node.parent ? node.parent.children.length : 1,
      class: ["row", node.chosen && "chosen", node.status, view.found && !view.found.has(node) && "passed"].filter(Boolean).join(" ") },
      make("span", { class: "twist" }), kind_badge(node.kind), make("span", { class: "text" }, text || (node.status === "skipped" ? "\u2014" : "(no text)")),
      opened === "false" && node.holds ? make("span", { class: "held" }, held(node)) : null,
      reason ? make("span", { class: "why", title: reason[1] }, reason[0]) : null, numbers(node));
    element.style.top = `${index * height}px`;
    element.style.height = `${height}px`;
    element.style.setProperty("--indent", `${node.depth * step}px`);
    return element;
  }
  function paint() {
    asked = 0;
    const narrow = frame.clientWidth < 520;
    frame.classList.toggle("narrow", narrow);
    height = narrow ? 56 : 34;
    space.style.height = `${room * height}px`;
    const deepest = nodes.reduce((most, node) => Math.max(most, node.depth), 1), step = Math.min(18, ((narrow ? 0.2 : 0.4) * frame.clientWidth) / deepest);
    const first = Math.max(0, Math.floor(frame.scrollTop / height) - 8), last = Math.min(nodes.length, Math.ceil((frame.scrollTop + frame.clientHeight) / height) + 8);
    rows.style.setProperty("--step", `${Math.max(step, 1)}px`);
    rows.replaceChildren(...nodes.slice(first, last).map((node, index) => row(node, first + index, step)));
    const active = rows.querySelector("[aria-selected=true]");
    if (active) frame.setAttribute("aria-activedescendant", active.id);
    else frame.removeAttribute("aria-activedescendant");
  }
  const repaint = () => { asked ||= requestAnimationFrame(paint); };
  function reveal(node) {
    const index = nodes.indexOf(node);
    if (index < 0) return;
    if (index * height < frame.scrollTop) frame.scrollTop = index * height;
    else if ((index + 1) * height > frame.scrollTop + frame.clientHeight) frame.scrollTop = (index + 1) * height - frame.clientHeight;
  }
  function key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const at = nodes.indexOf(view.node), node = view.node, page = Math.max(1, Math.floor(frame.clientHeight / height) - 1);
    const move = (to) => nodes[Math.max(0, Math.min(nodes.length - 1, to))];
    const opened = node && (Boolean(view.kept) || model.opened.has(node));
    let target = null;
    if (event.key === "ArrowDown") target = move(at + 1);
    else if (event.key === "ArrowUp") target = move(at - 1);
    else if (event.key === "PageDown") target = move(at + page);
    else if (event.key === "PageUp") target = move(at - page);
    else if (event.key === "Home") target = nodes[0];
    else if (event.key === "End") target = nodes.at(-1);
    else if (event.key === "ArrowRight" && node?.children.length) opened ? target = move(at + 1) : view.toggle(node);
    else if (event.key === "ArrowLeft" && node) opened && node.children.length && !view.kept ? view.toggle(node) : target = node.parent;
    else if (event.key === "Enter" || event.key === " ") view.panel.focus();
    else return;
    event.preventDefault();
    if (target) view.choose(target);
  }
  function click(event) {
    const element = event.target.closest(".row");
    if (!element) return;
    const node = nodes.find((one) => String(one.id) === element.dataset.node);
    if (event.target.closest(".twist") && node.children.length && !view.kept) view.toggle(node);
    else view.choose(node);
  }
  frame.addEventListener("scroll", repaint, { passive: true });
  frame.addEventListener("keydown", key);
  frame.addEventListener("click", click);
  new ResizeObserver(repaint).observe(frame);
  return { element: frame, reveal,
    /// `places`: how many lines the finished tree has. While the tree grows, it keeps their room.
    draw(shown_nodes, places) {
      [nodes, room] = [shown_nodes, places];
      paint();
    } };
}
