// Gold answers, marked where they stand in a text.

/// Finds gold answers as whole words; "yes" and "no" would mark everything and are left out.
function gold_pattern(golds) {
  const parts = (golds ?? []).map((gold) => shown(gold).trim()).filter((gold) => gold && gold.length < 1000 && !/^(yes|no)$/i.test(gold));
  if (!parts.length) return null;
  const escaped = parts.sort((a, b) => b.length - a.length).map((gold) => gold.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${escaped.join("|")})(?![\\p{L}\\p{N}])`, "giu");
}
/// The text in pieces, those that are gold in a mark.
function marked(text, pattern) {
  if (!pattern) return [text];
  const pieces = [];
  let done = 0;
  for (const hit of text.matchAll(pattern)) {
    pieces.push(text.slice(done, hit.index), make("mark", { title: "a gold answer" }, hit[0]));
    done = hit.index + hit[0].length;
  }
  return [...pieces, text.slice(done)];
}
