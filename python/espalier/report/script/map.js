// The tree as a picture that can be dragged and zoomed.

/// `view` is the tree that is open (see tree.js).
function map_of(view) {
  const canvas = make("canvas", { role: "img", "aria-label": "Picture of the tree; the outline says the same in words" });
  const tip = make("div", { class: "tip", hidden: true });
  const zoom = (title, factor) => button(title, () => zoom_by(factor), { title: factor > 1 ? "zoom in" : "zoom out", "aria-label": factor > 1 ? "zoom in" : "zoom out" });
  const element = make("div", { class: "map", tabindex: "0", "aria-label": "Picture of the tree: drag to move, Ctrl and wheel or + and - to zoom, 0 to fit" }, canvas, tip);
  const zooms = make("span", { class: "zoom", role: "group", "aria-label": "Zoom" }, zoom("+", 1.25), zoom("\u2212", 1 / 1.25), button("fit", fit));
  const margin = 24;
  let nodes = [], levels = [], scale = null, size = null, left = 0, top = 0, asked = 0, dragged = null, moved = false, hit = null, fitted = true;

  const radius = () => Math.max(1.2, Math.min(6, 0.4 * scale.wide, 0.4 * scale.high));
  function paint() {
    asked = 0;
    if (!canvas.clientWidth || !scale) return;
    const ratio = devicePixelRatio;
    if (canvas.width !== Math.round(canvas.clientWidth * ratio) || canvas.height !== Math.round(canvas.clientHeight * ratio)) {
      canvas.width = Math.round(canvas.clientWidth * ratio);
      canvas.height = Math.round(canvas.clientHeight * ratio);
    }
    draw_picture(canvas, nodes, { left, top, radius: radius(), ratio, measure: view.model.measures[view.by], found: view.found, chosen: view.node, at: view.at, colours: current_paints() });
  }
  const repaint = () => { asked ||= requestAnimationFrame(paint); };
  function place(to) {
    scale = to;
    size = lay_out(levels, scale);
  }
  /// Columns shrink as far as they must, and the picture is as high as its labels. Of more than forty levels only marks
  /// are shown, all of them at once.
  function fit() {
    if (!element.clientWidth) return;
    [fitted, left, top] = [true, margin, margin];
    const width = element.clientWidth - 2 * margin, columns = columns_of(levels), labels = levels.length <= 40 ? Math.min(460, width - 30) : 0;
    const first = columns === 1 ? width : labels ? Math.max(180, Math.min(460, width * Math.max(0.4, 1.3 / columns))) : width / columns;
    place({ first, wide: Math.max(columns <= 8 ? 120 : columns <= 40 ? 72 : 0.2, (width - first) / (columns - 1 || 1)), high: labels ? 44 : 560 / levels.length, labels });
    element.style.height = `${Math.max(160, Math.min(2400, size.height + 2 * margin))}px`;
    canvas.style.touchAction = size.height > 2400 ? "none" : "pan-y";
    repaint();
  }
  /// The point at x, y stays where it is.
  function zoom_by(factor, x = element.clientWidth / 2, y = element.clientHeight / 2) {
    const { first, wide, high } = scale, before = size;
    if (wide * factor < 0.2 || wide * factor > 1200) return;
    place({ first: first * factor, wide: wide * factor, high: Math.min(60, high * factor), labels: high * factor >= 30 ? Math.min(460, element.clientWidth) : 0 });
    left = x - (x - left) * size.width / before.width;
    top = y - (y - top) * size.height / before.height;
    fitted = false;
    repaint();
  }
  /// The node whose mark or label is at the pointer.
  function under({ offsetX, offsetY }) {
    const x = offsetX - left, y = offsetY - top;
    let best = null, nearest = 12;
    for (const node of nodes) {
      const distance = Math.hypot(node.x - x, node.y - y);
      if (distance < nearest) [best, nearest] = [node, distance];
      else if (y > node.y - line / 2 && y < node.y + (node.lines.length - 0.5) * line && x > node.x && x < node.x + label_at + node.width) return node;
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
  canvas.addEventListener("pointerup", () => { [moved, dragged] = [Boolean(dragged?.moved), null]; });
  canvas.addEventListener("pointercancel", () => { dragged = null; });
  // The first click chooses, which may move the picture; the second one is meant for the same node.
  canvas.addEventListener("click", (event) => {
    if (moved) return;
    if (event.detail < 2) hit = under(event);
    if (!hit) return;
    const on_count = folded(hit) && event.offsetX - left > hit.x + label_at && event.offsetY - top > hit.y + (hit.lines.length - 1.5) * line;
    if (hit.children.length && !view.kept && (event.detail === 2 || on_count)) view.toggle(hit);
    else if (event.detail < 2) view.choose(hit);
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom_by(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
  }, { passive: false });
  element.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (move) [left, top, fitted] = [left + move[0], top + move[1], false];
    else if (event.key === "+" || event.key === "-") zoom_by(event.key === "+" ? 1.25 : 1 / 1.25);
    else if (event.key === "0") fit();
    else return;
    event.preventDefault();
    repaint();
  });
  new ResizeObserver(() => {
    fitted ? fit() : repaint();
    if (view.node) reveal(view.node);
  }).observe(element);
  function reveal(node) {
    if (!scale || !nodes.includes(node)) return;
    const x = node.x + left, y = node.y + top;
    if (x < 20 || x > canvas.clientWidth - 60) left += canvas.clientWidth / 3 - x;
    if (y < 10 || y > canvas.clientHeight - 10) top += canvas.clientHeight / 2 - y;
    repaint();
  }
  return { element, zooms, repaint, reveal,
    draw(shown_nodes) {
      nodes = shown_nodes;
      levels = arranged(nodes);
      if (fitted || !scale) fit();
      else place(scale);
      repaint();
    },
  };
}
