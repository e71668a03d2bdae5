// Two texts word by word.

/// Pieces [kind, text] that make `a` of "same" and "gone", `b` of "same" and "new". Long texts that differ throughout are
/// not compared word by word.
function compared(a, b, most = 4e6) {
  const [left, right] = [a, b].map((text) => text.match(/\s+|[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu) ?? []);
  let start = 0, end = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) ++start;
  while (end < left.length - start && end < right.length - start && left[left.length - 1 - end] === right[right.length - 1 - end]) ++end;
  const x = left.slice(start, left.length - end), y = right.slice(start, right.length - end);
  const pieces = [];
  const add = (kind, text) => {
    if (!text) return;
    if (pieces.at(-1)?.[0] === kind) pieces.at(-1)[1] += text;
    else pieces.push([kind, text]);
  };
  add("same", left.slice(0, start).join(""));
  if (x.length * y.length > most) {
    add("gone", x.join(""));
    add("new", y.join(""));
  } else {
    // longest[i][j]: words that x from i and y from j have in common, in order
    const width = y.length + 1, longest = new Uint16Array((x.length + 1) * width);
    for (let i = x.length; i-- > 0;)
      for (let j = y.length; j-- > 0;)
        longest[i * width + j] = x[i] === y[j] ? longest[(i + 1) * width + j + 1] + 1 : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    let i = 0, j = 0;
    while (i < x.length || j < y.length) {
      if (i < x.length && j < y.length && x[i] === y[j]) add("same", x[i++]), ++j;
      else if (j === y.length || (i < x.length && longest[(i + 1) * width + j] >= longest[i * width + j + 1])) add("gone", x[i++]);
      else add("new", y[j++]);
    }
  }
  add("same", end ? left.slice(-end).join("") : "");
  return pieces;
}
/// One side of a comparison: what the other side lacks stands in an element `tag`.
function side(pieces, kind, tag) {
  return pieces.filter(([of]) => of === "same" || of === kind).map(([of, text]) => of === kind ? make(tag, {}, text) : text);
}
