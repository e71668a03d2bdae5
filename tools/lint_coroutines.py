"""Rule R1, for g++ 12: a statement with co_await or co_yield has no `{`, no `?`, no lambda and no `new` in it.

g++ 12 destroys temporaries of such statements twice, or too early; name the value first, in a statement of its own.
Reads tokens, so comments, strings and macro definitions do not count; the body of a lambda is statements of its own.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("include", "examples", "tests", "bindings", "benchmarks")

TOKEN = re.compile(
    r"""
    (?P<skip> \s+ | //(?:\\\n|[^\n])* | /\*.*?\*/ | (?<![^\n])[ \t]*\#(?:\\\n|[^\n])* | \[\[[^\[\]]*\]\] )
  | (?:u8|[uUL])?R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"
  | (?:u8|[uUL])?"(?:\\.|[^"\\\n])*" | (?:u8|[uUL])?'(?:\\.|[^'\\\n])+'
  | \.?\d(?:[eEpP][+-]|'\w|[\w.])* | [A-Za-z_]\w* | ::|->|&& | .
    """,
    re.VERBOSE | re.DOTALL,
)
HEADS = {"if", "for", "while", "switch", "catch"}
AWAITS = {"co_await", "co_yield"}
VALUES = {"return", "co_return", "case", "else", "do"} | AWAITS
"""Words before which `[` opens a lambda, as behind a mark. Behind another word it is a subscript."""
TYPES = {"struct", "class", "union", "enum", "namespace"}
BEFORE_BODY = {")", "}", "else", "do", "try", "const", "noexcept", "override", "final", "mutable"}


class Statement:
    """Its words so far, where it awaits, and what g++ 12 miscompiles beside that."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.line = 0
        self.marks: dict[str, None] = {}
        self.in_lambda = False
        """A lambda has begun, and its body has not."""

    def has_body(self) -> bool:
        """Whether a brace that comes now opens a body, of a function, a class or a block, and not an initialiser."""
        words = self.words
        if not words or (words[-1] in BEFORE_BODY and not self.line) or TYPES & set(words):
            return True
        return "->" in words and not self.line and not {"=", "return", "co_return"} & set(words)

    def opens_lambda(self) -> bool:
        """Whether a bracket that comes now opens a lambda: not a subscript, and not `auto& [a, b]`."""
        if not self.words or self.words[-1] in VALUES:
            return True
        if self.words[-1] in ("&", "&&") and self.words[-2:-1] == ["auto"]:
            return False
        return not re.match(r"[\w\"'>)\]}]", self.words[-1])


def lint(text: str) -> list[tuple[int, str]]:
    """(line, marks) of each statement that awaits and has a mark."""
    found, line = [], 1
    statement, stack = Statement(), list[tuple[str, Statement]]()  # opened brackets, and the statements around them

    def ended() -> Statement:
        if statement.line and statement.marks:
            found.append((statement.line, ", ".join(statement.marks)))
        return Statement()

    for match in TOKEN.finditer(text):
        word, last = match[0], statement.words[-1] if statement.words else ""
        here, line = line, line + word.count("\n")
        if match["skip"]:
            continue
        argument = bool(stack) and stack[-1][0] in ("(", "[", "{", "head")  # where a brace opens no body but a lambda's
        if word == "{" and (statement.in_lambda or (not argument and statement.has_body())):
            inside = statement.in_lambda
            statement.in_lambda = False
            stack.append(("lambda" if inside else "body", statement if inside else ended()))
            statement = Statement()
            continue
        if word in "([{":
            if word == "[" and statement.opens_lambda():
                statement.in_lambda = True
                statement.marks["a lambda"] = None
            elif word == "{":
                statement.marks["`{`"] = None
            stack.append(("head" if word == "(" and last in HEADS | {"constexpr"} else word, statement))
        elif word in ")]}" and stack:
            kind, around = stack.pop()
            if kind in ("lambda", "body", "head"):
                statement = ended()
                statement = around if kind == "lambda" else statement
                if kind != "lambda":
                    continue
        elif word == ";" or (word == ":" and {"case", "default"} & set(statement.words[:1])):
            statement = ended()
            continue
        elif word in AWAITS and last != "operator":
            statement.line = statement.line or here
        elif word == "?" or (word == "new" and last != "operator"):
            statement.marks[f"`{word}`"] = None
        statement.words.append(word)
    ended()
    return sorted(found)


BAD = """
co_return c ? co_await a() : b();
auto x = i ? co_await a() : co_await b();
co_await run([x] { return x; });
co_await gen(Request{p, 3});
co_await f({1, 2, 3});
v.push_back(R{1, co_await one()});
auto* p = new X(co_await a());
if (co_await f({1})) { g(); }
for (auto x : co_await all(std::vector<int>{1, 2})) g(x);
switch (co_await kind(a ? b : c)) { case 1: break; }
co_yield Item{1};
case 3: co_await f({});
auto task = [](int n) -> Task<int> { co_return co_await child(Request{n}); };
CHECK(co_await f(Request{1}) == 2);
T g() { if (x) { co_await f({1}); } }
x = co_await f(1'000, '"', Request{});
p->run(Request{1}, co_await g());
co_await f(decltype(x){1});
co_await f<struct Tag>(Request{1});
if (co_await f(decltype(x){1})) { g(); }
auto x = co_await decltype(f()){1};
""".strip().splitlines()

GOOD = """
auto x = co_await a();
if (auto r = co_await f(); r.ok()) { g({1}); } else { h(c ? 1 : 2); }
while (co_await more()) { x = {1}; }
for (int i = 0; i < n; ++i) { total += co_await child(i); }
switch (co_await kind()) { case 1: x = {}; break; default: y = c ? 1 : 2; }
auto task = [](int n) -> Task<int> { const int a = co_await child(n); co_return a; };
run([&] { return c ? 1 : 2; }, [](X x) -> Task<int> { co_return co_await x; });
Task<int> f(Options o = {}) { co_return co_await g(o); }
auto operator co_await() && { return Awaiter{handle}; }
template <class T> requires requires(T t) { t.f(); } Task<int> f(T t) { co_return co_await t.f(); }
auto& [a, b] = co_await pair();
co_await f(a[1], m["x"][2], g()[3]);
/* co_await f({1}); */ x = {1};
auto s = R"(co_await f({1});)"; y = c ? 1 : 2;
co_await f("{ ? new", '{', '?');
#define M co_await f({1})
TEST_CASE("a { name") { auto x = co_await f(); CHECK(x == X{1}); }
try { co_await f(); } catch (const E& e) { h({e}); }
co_await f(newest, renew);
[[maybe_unused]] auto x = co_await f();
namespace a { class B { B() : x_{1} {} int x_{2}; }; Task<int> f() { co_return co_await g(); } }
auto tasks = std::vector<Task<int>>(); tasks.push_back([](int x) -> Task<int> { co_return co_await f(x); }(1));
""".strip().splitlines()


def self_test() -> None:
    for sample in BAD:
        assert lint(sample), f"not flagged: {sample}"
    for sample in GOOD:
        assert not lint(sample), f"flagged: {sample}: {lint(sample)}"
    assert lint("return co_await f(x,  // a comment; with a semicolon\n  Request{});")
    assert lint("int a;\n/* \n */ f();\nco_await f(\n{1});")[0][0] == 4


def main() -> int:
    self_test()
    problems = files = 0
    for path in sorted(p for f in FOLDERS for ext in ("hpp", "cpp") for p in (ROOT / f).rglob(f"*.{ext}")):
        files += 1
        for line, marks in lint(path.read_text(encoding="utf-8")):
            print(f"{path.relative_to(ROOT)}:{line}: {marks} in a statement that awaits")
            problems += 1
    print(f"{files} files, {problems} statements that break rule R1")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
