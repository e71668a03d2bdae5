#include <espalier/fmt/one_line.hpp>
#include <espalier/fmt/tree.hpp>
#include <espalier/method/decouple/detail/environment.hpp>
#include <espalier/policy/backup.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace tree_test {

using namespace espalier;
using espalier::detail::first_line;

/// An action of a user that says nothing, and one that fmt can print.
struct Silent {};
struct Move {
  int x = 0;
};

}  // namespace tree_test

template <>
struct fmt::formatter<tree_test::Move> : fmt::formatter<int> {
  auto format(const tree_test::Move& move, auto& context) const { return fmt::formatter<int>::format(move.x, context); }
};

namespace tree_test {

TEST_CASE("a node prints its numbers on one line, and no value before its first visit") {
  Node<double> node;
  CHECK(fmt::format("{}", node) == "kind 0, visits 0, prior 1, open");
  node.total = 2, node.visits = 3, node.prior = 0.25F, node.kind = 2;
  node.status = Status::pruned, node.reason = Reason::below_threshold;
  CHECK(fmt::format("{}", node) == "kind 2, visits 3, value 0.6667, prior 0.25, pruned (below_threshold)");
  Node<method::detail::Dual> dual;
  dual.total = {1, -0.5}, dual.visits = 2;
  CHECK(fmt::format("{}", dual) == "kind 0, visits 2, value -0.25, prior 1, open");
}

TEST_CASE("a tree prints an outline in which children follow their parent") {
  Tree<std::string, std::string> tree("start", Seed(1));
  tree.add(0, "left", "at the left", 1, 0.25F);
  tree.add(0, "right", "at the right", 2, 0.75F);
  tree.add(1, "left again", "far left", 1, 1);
  MeanBackup()(tree, 2, 1.0);
  MeanBackup()(tree, 3, 0.5);
  tree[0].status = tree[1].status = Status::expanded;
  tree[2].status = Status::terminal;
  tree.prune(3, Reason::not_best);
  CHECK(fmt::format("{}", tree) ==
        "0 root, visits 2, value 0.75, prior 1, expanded: start\n"
        "  1 kind 1, visits 1, value 0.5, prior 0.25, expanded: left\n"
        "    3 kind 1, visits 1, value 0.5, prior 1, pruned (not_best): left again\n"
        "  2 kind 2, visits 1, value 1, prior 0.75, terminal: right");
  CHECK(fmt::format("{}", Tree<int, int>()) == "an empty tree");
}

TEST_CASE("an action is shown by what fmt makes of it, and without that by its state") {
  Tree<int, Move> moves(7, Seed(1));
  moves.add(0, {-3}, 4, 0, 1);
  CHECK(fmt::format("{}", moves) ==
        "0 root, visits 0, prior 1, open: 7\n"
        "  1 kind 0, visits 0, prior 1, open: -3");
  Tree<int, Silent> silent(7, Seed(1));
  silent.add(0, {}, 4, 0, 1);
  CHECK(fmt::format("{}", silent) ==
        "0 root, visits 0, prior 1, open: 7\n"
        "  1 kind 0, visits 0, prior 1, open: 4");
  Tree<Silent, Silent> mute({}, Seed(1));
  CHECK(fmt::format("{}", mute) == "0 root, visits 0, prior 1, open");
}

TEST_CASE("a tree of RAG names the kinds, and no text breaks its lines") {
  using rag::SegmentKind;
  rag::State root(rag::Question{"q1", "Where was\nAda's mother born?"});
  rag::Tree tree(root, Seed(7, "q1"));
  const auto add = [&](NodeId parent, SegmentKind kind, const std::string& text) {
    const rag::Action action(kind, text, "a thought", text);
    return tree.add(parent, action, tree.state(parent).with(action), static_cast<Kind>(kind), 0.5F);
  };
  add(0, SegmentKind::sub_question, "Who is Ada's mother?");
  add(1, SegmentKind::own_answer, "\n9 root, visits 1\x1b[1A\x1b[2K\xE2\x80\xAE\nmore");
  add(1, SegmentKind::answer, std::string(140, 'x'));
  add(1, SegmentKind::query, "");
  CHECK(fmt::format("{}", tree) ==
        "0 root, visits 0, prior 1, open: Where was ...\n"
        "  1 sub_question, visits 0, prior 0.5, open: Who is Ada's mother?\n"
        "    2 own_answer, visits 0, prior 0.5, open: 9 root, visits 1\\x1b[1A\\x1b[2K\\u202e ...\n"
        "    3 answer, visits 0, prior 0.5, open: " +
            std::string(120, 'x') +
            " ...\n"
            "    4 query, visits 0, prior 0.5, open");
}

TEST_CASE("the outline of a very deep tree stays narrow and needs no recursion") {
  Tree<int, int> tree(0, Seed(1));
  for (NodeId id = 0; id < 100'000; ++id) tree.add(id, 1, 1, 0, 1);
  const std::string text = fmt::format("{}", tree);
  CHECK(std::count(text.begin(), text.end(), '\n') == 100'000);
  CHECK(text.ends_with("\n" + std::string(80, ' ') + "100000 kind 0, visits 0, prior 1, open: 1"));
}

TEST_CASE("one_line leaves plain text as it is, in every script") {
  CHECK(one_line("") == "");
  CHECK(one_line("Was Ada \"born\" in Zürich? 東京 नमस्ते \\n") == "Was Ada \"born\" in Zürich? 東京 नमस्ते \\n");
}

TEST_CASE("one_line makes escapes of what ends a line, moves the cursor, hides text or reorders it") {
  CHECK(one_line("a\nb\r\n\tc") == "a\\nb\\r\\n\\tc");
  CHECK(one_line(std::string("\x1b[2J\x07\0\x7f", 7)) == "\\x1b[2J\\x07\\x00\\x7f");
  CHECK(one_line("\xC2\x85 \xC2\x9B") == "\\x85 \\x9b");  // next line and CSI of C1
  CHECK(one_line("\xE2\x80\xA8\xE2\x80\xAE\xE2\x80\x8B\xEF\xBB\xBF") == "\\u2028\\u202e\\u200b\\ufeff");
  CHECK(one_line("\xF3\xA0\x81\x81") == "\\U000e0041");
  CHECK(one_line("\xC3(\x80") == "\xEF\xBF\xBD(\xEF\xBF\xBD");
}

TEST_CASE("first_line is cut between two characters and says that there is more") {
  CHECK(first_line("  \n\n", 10) == "");
  CHECK(first_line("\n  Anna \n", 10) == "Anna");
  CHECK(first_line("Anna\r\nEve", 10) == "Anna ...");
  CHECK(first_line("0123456789", 10) == "0123456789");
  CHECK(first_line("0123456789a", 10) == "0123456789 ...");
  CHECK(first_line("012345678é", 10) == "012345678 ...");
  CHECK(first_line("0123456  89a", 9) == "0123456 ...");
}

TEST_CASE("a tree takes a width, as texts do") {
  CHECK(fmt::format("[{:>12.6}]", Tree<int, int>(3, Seed(1))) == "[      0 root]");
}

}  // namespace tree_test
