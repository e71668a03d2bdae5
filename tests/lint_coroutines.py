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
    (?P<skip> \s+ | //(?:\\\n|[^\n])* | /\*.*?\*/ | (?<![^\n])[ \t]*\#(?:\\\n|[^\n])* )
  | (?P<raw>  (?:u8|[uUL])?R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)" )
  | (?P<text> (?:u8|[uUL])?"(?:\\.|[^"\\\n])*" | (?:u8|[uUL])?'(?:\\.|[^'\\\n])+' )
  | (?P<number> \.?\d(?:[eEpP][+-]|'\w|[\w.])* )
  | (?P<word> [A-Za-z_]\w* )
  | (?P<mark2> ::|->|&&|\[\[|\]\]|. )
    """,
    re.VERBOSE | re.DOTALL,
)
CLOSING = {"(": ")", "[": "]", "{": "}"}
HEADS = {"if", "for", "while", "switch", "catch"}
AWAITS = {"co_await", "co_yield"}


class Token(str):
    line: int


class Group(list):
    """A bracketed list of tokens and groups; `open` is its bracket."""

    open: str


def tokens(text: str) -> list[Token]:
    found, line, position = [], 1, 0
    while position < len(text):
        match = TOKEN.match(text, position)
        if not match["skip"]:
            token = Token('""' if match["raw"] or match["text"] else match[0])
            token.line = line
            if token in ("[[", "]]"):  # an attribute, or two brackets: the same to us
                other = Token(token[0])
                other.line = line
                found.append(other)
                token = other
            found.append(token)
        line += match[0].count("\n")
        position = match.end()
    return found


def grouped(stream: list[Token]) -> Group:
    """The tokens as a tree of brackets. A bracket that does not fit ends its group: half-written files still parse."""
    top = Group()
    top.open = ""
    stack = [top]
    for token in stream:
        if token in CLOSING:
            group = Group()
            group.open = token
            stack[-1].append(group)
            stack.append(group)
        elif token in CLOSING.values() and len(stack) > 1:
            stack.pop()
        else:
            stack[-1].append(token)
    return top


def is_group(item: object, bracket: str) -> bool:
    return isinstance(item, Group) and item.open == bracket


def is_attribute(item: object) -> bool:
    return is_group(item, "[") and len(item) == 1 and is_group(item[0], "[")


def opens_lambda(before: list, item: object) -> bool:
    """Whether `item` is a lambda's capture list, seen from what stands before it."""
    if not is_group(item, "[") or is_attribute(item):
        return False
    if not before:
        return True
    last = before[-1]
    if isinstance(last, Group):
        return False  # subscript of a call, a subscript, or an initialiser
    if last in ("&", "&&") and len(before) > 1 and before[-2] == "auto":
        return False  # auto& [a, b]
    words = {"return", "co_return", "co_await", "co_yield", "case", "else", "do"}
    return last in words or not re.match(r'[\w"\'>]', last)


def is_block(body: Group) -> bool:
    """Whether braces hold statements and not an initialiser: they hold a `;`, a block, or nothing a list could hold."""
    after_lambda = False
    for i, item in enumerate(body):
        if item == ";" or (isinstance(item, Token) and item in HEADS | {"do", "try"}):
            return True
        if opens_lambda(body[:i], item):
            after_lambda = True
        elif is_group(item, "{"):
            if not after_lambda and is_block(item):
                return True
            after_lambda = False
    return False


class Linter:
    def __init__(self) -> None:
        self.found: list[tuple[int, str]] = []

    def statements(self, body: Group) -> None:
        """Cuts a block into statements and checks each."""
        statement: list = []
        position = 0
        while position < len(body):
            item = body[position]
            position += 1
            if isinstance(item, Token) and item in HEADS and not statement:  # its parentheses are a statement
                while position < len(body) and not is_group(body[position], "("):
                    position += 1
                if position < len(body):
                    head = body[position]
                    position += 1
                    part: list = []
                    for inner in head:  # for (init; condition; step)
                        if inner == ";":
                            self.check(part)
                            part = []
                        else:
                            part.append(inner)
                    self.check(part)
            elif isinstance(item, Token) and item in ("else", "do", "try") and not statement:
                continue
            elif item == ";" or (item == ":" and statement and statement[0] in ("case", "default")):
                self.check(statement)
                statement = []
            elif is_group(item, "{") and self.ends_statement(statement, item):
                self.check(statement)
                self.statements(item)
                statement = []
            else:
                statement.append(item)
        self.check(statement)

    @staticmethod
    def ends_statement(before: list, braces: Group) -> bool:
        """Whether the braces are the body of what stands before: a function, a class, a namespace, a bare block."""
        if any(opens_lambda(before[:i], item) for i, item in enumerate(before)):
            return False  # a lambda's body, or an initialiser beside one
        if not before or is_block(braces):
            return True
        opening = {"struct", "class", "union", "enum", "namespace"}
        if any(isinstance(item, Token) and item in opening for item in before):
            return True
        # An empty body: `void f() {}`, `f() const {}`, `f() noexcept {}`, `while (x) {}` (whose head is gone).
        return (
            not braces
            and (is_group(before[-1], "(") or before[-1] in ("const", "noexcept", "override", "final"))
            and not any(isinstance(item, Token) and item in AWAITS | {"=", "return", "co_return"} for item in before)
        )

    def check(self, statement: list) -> None:
        """Reports the statement if it awaits and has a mark that g++ 12 miscompiles. Checks bodies inside it."""
        line = 0
        marks: list[str] = []

        def walk(items: list) -> None:
            nonlocal line
            in_lambda = False
            for i, item in enumerate(items):
                if opens_lambda(items[:i], item):
                    marks.append("a lambda")
                    in_lambda = True
                elif is_group(item, "{"):
                    if in_lambda or is_block(item):
                        self.statements(item)
                        in_lambda = False
                    else:
                        marks.append("`{`")
                        walk(item)
                elif isinstance(item, Group):
                    if not is_attribute(item):
                        walk(item)
                elif item in AWAITS and not (i and items[i - 1] == "operator"):
                    line = line or item.line
                elif item == "?":
                    marks.append("`?`")
                elif item == "new" and not (i and items[i - 1] == "operator"):
                    marks.append("`new`")

        walk(statement)
        if line and marks:
            self.found.append((line, ", ".join(dict.fromkeys(marks))))


def lint(text: str) -> list[tuple[int, str]]:
    linter = Linter()
    linter.statements(grouped(tokens(text)))
    return sorted(linter.found)


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
