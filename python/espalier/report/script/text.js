// Texts and numbers as the page shows them.
const reasons = {
  __proto__: null,
  outvoted: "the majority of the samples decided otherwise",
  below_threshold: "its value did not pass the threshold",
  not_best: "a sibling ranked higher",
  skipped: "enough was known without it",
  malformed: "the model's text could not be read",
  budget: "the budget ran out",
  refused: "an answer from memory that says it does not know",
};
const because = (reason) => reasons[reason] ?? words(reason);

/// Control characters get a visible sign, and what hides or reorders text becomes an escape.
function shown(value) {
  const escape = (c) => c.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
  return String(value ?? "").replace(/\r\n/g, "\n")
    .replace(/[\x00-\x08\x0b-\x1f\x7f]/g, (c) => c === "\x7f" ? "\u2421" : String.fromCharCode(0x2400 + c.charCodeAt(0)))
    .replace(/[\x80-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g, escape);
}
const words = (name) => shown(name).replace(/_/g, " ");
const number = (value, digits = 2) => typeof value === "number" ? value.toFixed(digits) : "\u2013";
/// A score, which files hold as 0 to 1.
const in_percent = (value) => typeof value === "number" ? `${(100 * value).toFixed(1)} %` : "\u2013";
const count = (value) => typeof value === "number" ? Math.round(value).toLocaleString("en") : "\u2013";

/// The beginning of a text, on one line.
function brief(text, most = 240) {
  const start = shown(String(text ?? "").slice(0, 2 * most)).replace(/\s+/g, " ").trim();
  return start.length > most ? `${start.slice(0, most - 1).replace(/[\ud800-\udbff]$/, "")}\u2026` : start;
}
