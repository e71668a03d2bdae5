// Text in lines of a given width, as the picture draws it.
const letters = 12, line = 15;  // the size of letters and the height of a line, in pixels
const ruler = make("canvas").getContext("2d"), lengths = new Map();
const font_family = getComputedStyle(document.body).fontFamily;
ruler.font = `600 ${letters}px ${font_family}`;

/// The width of a word in pixels, measured once.
function length_of(word) {
  if (lengths.size > 50000) lengths.clear();
  if (!lengths.has(word)) lengths.set(word, ruler.measureText(word).width);
  return lengths.get(word);
}
/// A word in parts that are no wider than `width`.
function parts_of(word, width) {
  if (length_of(word) <= width || word.length < 2) return [word];
  const all = [...word], half = Math.ceil(all.length / 2);
  return all.length < 2 ? [word] : [all.slice(0, half), all.slice(half)].flatMap((part) => parts_of(part.join(""), width));
}
/// The text in at most so many lines; the last ends in an ellipsis if more was to come.
function wrapped(text, width, most) {
  const lines = [], space = length_of(" ");
  let used = Infinity;
  for (const part of text.split(" ").flatMap((word) => parts_of(word, width))) {
    const more = length_of(part);
    if (used + space + more <= width) {
      lines[lines.length - 1] += ` ${part}`;
      used += space + more;
    } else {
      if (lines.length === most) return [...lines.slice(0, -1), `${lines.at(-1)}\u2026`];
      lines.push(part);
      used = more;
    }
  }
  return lines;
}
