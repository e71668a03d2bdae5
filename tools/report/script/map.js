// The tree as a picture that can be dragged and zoomed.

function map_of(view) {
  const canvas = make("canvas", { role: "img", "aria-label": "Picture of the tree; the outline says the same in words" });
  const tip = make("div", { class: "tip", hidden: true });
  const zoom = (title, factor) => button(title, () => zoom_by(factor, canvas.clientWidth / 2, canvas.clientHeight / 2), { title: factor > 1 ? "zoom in" : "zoom out" });
  const element = make("div", { class: "map", tabindex: "0", "aria-label": "Picture of the tree: drag to move, Ctrl and wheel or + and - to zoom, 0 to fit" }, canvas, tip,
    make("div", { class: "zoom" }, zoom("+", 1.4), zoom("\u2212", 1 / 1.4), button("fit", fit)));
  let nodes = [], size = { width: 1, height: 1 }, across = 1, down = 1, left = 0, top = 0, asked = 0, dragged = null, fitted = true;

  function paint() {
    asked = 0;
    if (!canvas.clientWidth) return;
    const ratio = devicePixelRatio;
    if (canvas.width !== Math.round(canvas.clientWidth * ratio) || canvas.height !== Math.round(canvas.clientHeight * ratio)) {
      canvas.width = Math.round(canvas.clientWidth * ratio);
      canvas.height = Math.round(canvas.clientHeight * ratio);
    }
    draw_picture(canvas, nodes, { across, down, left, top, ratio, measure: view.model.measures[view.by], found: view.found, chosen: view.node, at: view.at, colours: current_paints() });
  }
  const repaint = () => { asked ||= requestAnimationFrame(paint); };
  /// Columns and lines shrink each as far as they must.
  function fit() {
    fitted = true;
    across = Math.max(0.05, Math.min(1, (canvas.clientWidth - 30) / size.width));
    down = Math.max(0.01, Math.min(1, (canvas.clientHeight - 30) / size.height));
    left = Math.max(18, (canvas.clientWidth - size.width * across) / 2);
    top = 15 + (line / 2) * down + Math.max(0, (canvas.clientHeight - 30 - size.height * down) / 2);
    repaint();
  }
  function zoom_by(factor, x, y) {
    const wide = Math.max(0.05, Math.min(1.5, across * Math.sqrt(factor))), high = Math.max(0.01, Math.min(1.5, down * factor));
    left = x - ((x - left) * wide) / across;
    top = y - ((y - top) * high) / down;
    [across, down, fitted] = [wide, high, false];
    repaint();
  }
  function under(event) {
    let best = null, nearest = 12;
    for (const node of nodes) {
      const distance = Math.hypot(node.x * across + left - event.offsetX, node.y * down + top - event.offsetY);
      if (distance < nearest) [best, nearest] = [node, distance];
    }
    return best;
  }
  canvas.addEventListener("pointerdown", (event) => {
    dragged = { x: event.clientX, y: event.clientY, left, top, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (dragged) {
      const dx = event.clientX - dragged.x, dy = event.clientY - dragged.y;
      if (Math.hypot(dx, dy) > 3) dragged.moved = true;
      [left, top, fitted] = [dragged.left + dx, dragged.top + dy, fitted && !dragged.moved];
      repaint();
      return;
    }
    const node = under(event), value = node && view.model.measures[view.by].of(node);
    tip.hidden = !node;
    if (!node) return;
    tip.textContent = `${words(node.kind)}: ${brief(node.text, 160)}${typeof value === "number" ? `\n${words(view.by)} ${number(value)}` : ""}${node.status === "pruned" ? `\npruned: ${because(node.reason)}` : ""}`;
    tip.style.left = `${Math.min(event.offsetX + 14, canvas.clientWidth - 250)}px`;
    tip.style.top = `${event.offsetY + 16}px`;
  });
  canvas.addEventListener("pointerup", (event) => {
    const node = dragged && !dragged.moved ? under(event) : null;
    dragged = null;
    if (node) view.choose(node);
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("dblclick", (event) => {
    const node = under(event);
    if (node?.children.length && !view.kept) view.toggle(node);
  });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom_by(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
  }, { passive: false });
  element.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (move) [left, top, fitted] = [left + move[0], top + move[1], false];
    else if (event.key === "+" || event.key === "-") zoom_by(event.key === "+" ? 1.4 : 1 / 1.4, canvas.clientWidth / 2, canvas.clientHeight / 2);
    else if (event.key === "0") fit();
    else return;
    event.preventDefault();
    repaint();
  });
  new ResizeObserver(() => fitted ? fit() : repaint()).observe(element);
  return { element, repaint,
    draw(shown_nodes) {
      nodes = shown_nodes;
      size = lay_out(nodes);
      if (fitted) fit();
      else repaint();
    },
    reveal(node) {
      const x = node.x * across + left, y = node.y * down + top;
      if (x < 20 || x > canvas.clientWidth - 60) left += canvas.clientWidth / 3 - x;
      if (y < 20 || y > canvas.clientHeight - 20) top += canvas.clientHeight / 2 - y;
      repaint();
    } };
}
