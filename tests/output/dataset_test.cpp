#include <espalier/output/dataset.hpp>

#include <backend/temporary_folder.hpp>
#include <doctest/doctest.h>

#include <cstdlib>
#include <istream>
#include <stdexcept>
#include <streambuf>

namespace dataset_test {

namespace {

using namespace espalier;
using namespace espalier::output;
using namespace espalier::test;

/// What reading these bytes as questions is refused with, the folder left out; "" if it is not.
std::string refusal(const std::string& bytes, bool passages = false, const std::string& name = "f.jsonl") {
  const TemporaryFolder folder;
  write_bytes(folder / name, bytes);
  try {
    if (passages) (void)read_passages(folder / name);
    else (void)read_questions(folder / name);
  } catch (const InputError& error) {
    const std::string what = error.what();
    CHECK(what.starts_with(folder / name));
    return what.substr((folder / "").size());
  }
  return "";
}

std::vector<rag::Example> questions(const std::string& bytes, output::detail::ReadOptions options = {}) {
  const TemporaryFolder folder;
  write_bytes(folder / "f.jsonl", bytes);
  return read_questions(folder / "f.jsonl", options);
}

Passage passage(const std::string& bytes) {
  const TemporaryFolder folder;
  write_bytes(folder / "f.jsonl", bytes);
  return read_passages(folder / "f.jsonl").at(0);
}

/// The steps of a gold chain, a line each.
std::string chain_of(const rag::Example& row) {
  std::string all;
  for (const auto& step : row.chain)
    all += step.question + " = " + step.answer + " [" + step.support_title + "] " + step.support_id + "\n";
  return all;
}

const std::string good = R"({"id":"a","question":"Who?","golden_answers":["Ada","A. L."]})";

}  // namespace

TEST_CASE("a MuSiQue row brings its decomposition as it stands") {
  const auto rows = questions(
      R"({"id":"2hop","question":"Spouse of the actor?","golden_answers":["Katharine Ross"],"metadata":{"type":"2hop","hops":2,)"
      R"("supporting_titles":["Basil","Murder"],"decomposition":[{"question":"who acted","answer":"Sam Elliott","support_title":"Basil",)"
      R"("support_doc_id":"mq-1"},{"question":"#1 >> spouse","answer":"Katharine Ross","support_title":null}]}})");
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].question.id + rows[0].question.text == "2hopSpouse of the actor?");
  CHECK(rows[0].gold == rag::Gold{"Katharine Ross"});
  CHECK((rows[0].type == "2hop" && rows[0].hops == 2));
  CHECK(rows[0].supporting_titles == std::vector<std::string>{"Basil", "Murder"});
  CHECK(chain_of(rows[0]) == "who acted = Sam Elliott [Basil] mq-1\n#1 >> spouse = Katharine Ross [] \n");
}

TEST_CASE("gold triples become steps in which an earlier object is referred to by number") {
  const auto rows = questions(
      R"({"id":"w","question":"?","golden_answers":["Janggyeong"],"metadata":{"supporting_titles":["Inseong","Injong"],)"
      R"("evidences":[["Inseong","spouse","Injong"],["Injong","mother","Janggyeong"],["Elsewhere","country","Injong"]]}})"
      "\n"
      R"({"id":"p","question":"?","golden_answers":["poet"],"metadata":{"subject":"Ada","relation":"occupation","object":"poet","supporting_titles":["Ada"]}})");
  CHECK(chain_of(rows[0]) ==
        "Inseong >> spouse = Injong [Inseong] \n#1 >> mother = Janggyeong [Injong] \n"
        "Elsewhere >> country = Injong [] \n");
  CHECK(chain_of(rows[1]) == "Ada >> occupation = poet [Ada] \n");
}

TEST_CASE("a byte-order mark, CRLF, blank lines and a missing last line end are let pass") {
  const auto rows = questions("\xEF\xBB\xBF" + good +
                              "\r\n\r\n  \n"
                              R"({"question":"Q","golden_answers":["x"],"id":"b"})");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].question.text == "Who?");
  CHECK(rows[0].gold == rag::Gold{"Ada", "A. L."});
  CHECK((rows[1].question.id == "b" && rows[1].chain.empty()));
}

TEST_CASE("the limit stops before what comes later, and a question of 10 MB is read") {
  CHECK(questions(good + "\nnot JSON\n", {.limit = 1}).size() == 1);
  const std::string text(10'000'000, 'x');
  const auto rows = questions(R"({"id":"a","golden_answers":["y"],"question":")" + text + "\"}\n");
  CHECK(rows[0].question.text == text);
}

TEST_CASE("gold answers may be missing only where nobody needs them") {
  const std::string bare = R"({"id":"a","question":"Who?"})",
                    none = R"({"id":"a","question":"Who?","golden_answers":[]})";
  for (const auto& row : {bare, none}) CHECK(questions(row, {.require_gold = false}).at(0).gold.empty());
  CHECK(refusal(bare) == "f.jsonl:1: field 'golden_answers': is missing");
  CHECK(refusal(none) == "f.jsonl:1: field 'golden_answers': is empty");
}

TEST_CASE("bad input is refused with file, line and field") {
  const std::string first = good + "\n";
  CHECK(refusal("") == "f.jsonl: is empty");
  CHECK(refusal("\n \r\n") == "f.jsonl: is empty");
  CHECK(refusal(first + std::string(1'000'000, '\n')) == "f.jsonl: holds 1,000,000 blank lines in a row");
  CHECK(refusal(first + "{oops").starts_with("f.jsonl:2: is not JSON: "));
  CHECK(refusal(first + good.substr(0, 30)).starts_with("f.jsonl:2: is not JSON: "));
  CHECK(refusal(good + " {}").starts_with("f.jsonl:1: is not JSON: "));
  CHECK(refusal(first + "[1]") == "f.jsonl:2: is not a JSON object");
  CHECK(refusal(first + "17") == "f.jsonl:2: is not a JSON object");
  CHECK(refusal("\n" + first + R"({"id":"b","golden_answers":["x"]})") == "f.jsonl:3: field 'question': is missing");
  for (const std::string id : {"-7", "9223372036854775808", "18446744073709551615"})
    CHECK(questions(R"({"id":)" + id + R"(,"question":"q","golden_answers":["x"]})").at(0).question.id == id);
  for (const std::string id : {"18446744073709551616", "-9223372036854775809", "123456789012345678901234567890"})
    CHECK(refusal(R"({"question":"q","id":)" + id + R"(,"golden_answers":["x"]})") ==
          "f.jsonl:1: field 'id': holds a number of more than 64 bits: write it as a text");
  CHECK(refusal(R"({"id":7.5,"question":"q","golden_answers":["x"]})") == "f.jsonl:1: field 'id': is not a text");
  CHECK(refusal(R"({"id":"","question":"q","golden_answers":["x"]})") == "f.jsonl:1: field 'id': is empty");
  CHECK(refusal(R"({"id":"a","question":" ","golden_answers":["x"]})") == "f.jsonl:1: field 'question': is empty");
  const std::string of_gold = R"({"id":"a","question":"q","golden_answers":)",
                    named = "f.jsonl:1: field 'golden_answers': ";
  CHECK(refusal(of_gold + R"("x"})") == named + "is not a list");
  CHECK(refusal(of_gold + R"(["x",1]})") == named + "holds something that is not a text");
  CHECK(refusal(of_gold + R"(["x",""]})") == named + "holds an empty answer");
  CHECK(refusal("who?") == R"(f.jsonl:1: is not JSON: each line must be an object, {"id": ...})");
  CHECK(refusal(first + first) == "f.jsonl:2: field 'id': 'a' stands in line 1 too");
  CHECK(refusal("{\"id\":\"a\",\"question\":\"\xFF\",\"golden_answers\":[\"x\"]}") ==
        "f.jsonl:1: holds bytes that are not UTF-8");
  const auto with = [](const std::string& metadata) {
    return R"({"id":"a","question":"q","golden_answers":["x"],"metadata":)" + metadata + "}";
  };
  CHECK(refusal(with("3")) == "f.jsonl:1: field 'metadata': is not an object");
  CHECK(refusal(with(R"({"hops":"two"})")) == "f.jsonl:1: field 'metadata.hops': is not a whole number from 0");
  CHECK(refusal(with(R"({"decomposition":[{"question":"q","answer":"a"},{"question":"q"}]})")) ==
        "f.jsonl:1: field 'metadata.decomposition[1].answer': is missing");
  CHECK(refusal(with(R"({"evidences":[["a","b"]]})")) ==
        "f.jsonl:1: field 'metadata.evidences': holds a list that has not three parts");
  CHECK_THROWS_WITH_AS((void)read_questions("no/such/file.jsonl"),
                       doctest::Contains("no/such/file.jsonl: cannot be read"), InputError);
  const TemporaryFolder folder;
  CHECK_THROWS_WITH_AS((void)read_questions(folder.path().string()),
                       doctest::Contains((folder.path().string() + ": cannot be read").c_str()), InputError);
}

TEST_CASE("what looks like gold or an alias is named if it is not read") {
  for (const char* field :
       {"expected_output", "target_text",   "result",         "answer",          "answers",
        "Answer",          "gold_answers",  "ground_truth",   "target",          "possible_answers",
        "correct answers", "goldenAnswers", "short_answers",  "answer_text",     "gt",
        "other_answers",   "aliases",       "answer_aliases", "expected_answer", "normalized_aliases"}) {
    const std::string said = std::string("f.jsonl:1: field '") + field + "': looks like gold answers, which are read " +
                             "from 'golden_answers' alone";
    for (const char* value : {R"("y")", R"(["y"])", R"({"text":["y"],"answer_start":[0]})"})
      CHECK(refusal(std::string(R"({"id":"a","question":"q",")") + field + "\":" + value + "}") == said);
  }
  const auto beside = [](const std::string& more) {
    return refusal(R"({"id":"a","question":"q","golden_answers":["Ada","The A.L."],)" + more + "}");
  };
  CHECK(beside(R"("answer":"ada","answers":["AL"],"answer_aliases":[],"aliases":null)") == "");  // nothing is lost
  CHECK(beside(R"("answer":"Bea")").starts_with("f.jsonl:1: field 'answer': looks like gold"));
  for (const char* other : {"demonyms", "accepted", "also_accepted", "variants", "nicknames", "Aka"})
    CHECK(beside(std::string("\"") + other + R"(":["Bea"])").find("looks like gold") != std::string::npos);
  for (const char* held : {"metadata", "extra", "entity"}) {
    const auto with = [&](const std::string& inner) { return beside("\"" + std::string(held) + "\":{" + inner + "}"); };
    CHECK(with(R"("possible_answers":["Ada","Bea"])").find(".possible_answers': looks like gold") != std::string::npos);
    CHECK(with(R"("possible_answers":["Ada"],"nq_answer":["Bea"],"pairs":[{"short_answers":["Bea"]}])") == "");
  }
  CHECK(beside(R"("info":[{"alias":"Bea"}])").find("'info.alias'") != std::string::npos);
  CHECK(beside(R"("ctxs":[{"aliases":["Bea"]}],"subject":{"aliases":["Bea"]})") == "");
  for (const std::string alias : {"answer_aliases", "a_aliases", "other_answers", "also_known_as"}) {
    const std::string row = "{\"" + alias + "\":[\"Bea\"]}";
    for (const std::string& held : {row, "[3," + row + "]", "[[" + row + "]]"})
      CHECK(beside("\"metadata\":" + held).find(": field 'metadata." + alias + "'") == 9);
    for (const std::string& held : {row, "[" + row + "]", "[[" + row + "]]"})
      CHECK(beside("\"metadata\":{\"a\":" + held + "}").find(": field 'metadata.a." + alias + "'") == 9);
    CHECK(beside(R"("metadata":{"subject":)" + row + R"(,"choices":[)" + row + R"(],"a":[{"aliases":"ada"}]})") == "");
  }
  CHECK(beside(R"("answer_type":"name","has_answer":true,"gold_doc_ids":["3"],"model_answer":"Bea","label":"hard")") ==
        "");
  CHECK(beside(R"("answer_options":["Rome","Bea"],"answer_explanation":"why","gpt_answer":"Bea","answer_idx":2)") ==
        "");
  CHECK(refusal(R"({"doc_id":"d","question_id":"q7","question":"q","golden_answers":["a"]})"
                "\n"
                R"({"doc_id":"d","question_id":"q8","question":"r","golden_answers":["a"]})") == "");
  const std::string bare = R"({"id":"a","question":"q",)";
  CHECK(refusal(bare + R"("reward_model":{"ground_truth":{"target":["y"]}}})").find("'reward_model.ground_truth'") ==
        17);
  CHECK(refusal(bare + R"("extra":[1,{"score":2},{"answer":"y"}]})").find("'extra.answer': looks like gold") == 17);
  CHECK(refusal(bare + R"("choices":[{"label":"A"}]})").ends_with("'golden_answers': is missing"));
}

TEST_CASE("UTF-16, NaN and infinity are called so, with line and field") {
  const std::string wide("{\0\"\0i\0d\0", 8);
  for (const std::string& bytes : {"\xFF\xFE" + wide, "\xFE\xFF" + wide, wide})
    CHECK(refusal(bytes) == "f.jsonl:1: is UTF-16, must be UTF-8");
  const auto number = [](const std::string& value) {
    return refusal(good + "\n" + R"({"id":"b","question":"a: NaN, \"x\"","metadata":{"n":[1, )" + value + "]}}");
  };
  for (const char* value : {"NaN", "Infinity", "-Infinity"})
    CHECK(number(value) == std::string("f.jsonl:2: field 'n': holds ") + value + ", which is no JSON");
  CHECK(number("1e999") == "f.jsonl:2: field 'n': holds 1e999 (infinity), which is no JSON");
  CHECK(number("nothing").starts_with("f.jsonl:2: is not JSON: "));
}

TEST_CASE_FIXTURE(test::InFolder, "a table of passages has a header, and quotes as DPR's") {
  const auto read = [&](const std::string& bytes) {
    write_bytes(folder / "p.tsv", bytes);
    return read_passages(folder / "p.tsv");
  };
  const auto passages = read(
      "\xEF\xBB\xBFid\ttext\ttitle\r\n1\t\"Ada \"\"A.\"\" wrote.\tMore.\"\tAda\r\n\n2\t[Untitled] 5\" disk\t\"\"\n");
  REQUIRE(passages.size() == 2);
  CHECK(passages[0] == Passage("1", "Ada", "Ada \"A.\" wrote.\tMore."));
  CHECK(passages[1] == Passage("2", "", "[Untitled] 5\" disk"));
  const auto said = [](const std::string& bytes) { return refusal(bytes, true, "p.tsv"); };
  CHECK(said("id\ttext\n1\n") == "p.tsv:2: has 1 cells, the header has 2");
  CHECK(said("id\ttext\n1\t\"open\n") == "p.tsv:2: holds a quote that is not closed in its line");
  CHECK(said("1\tno header\n2\tx\n") == "p.tsv:2: field 'id': is missing");
  CHECK(said("id\ttext\n1\t\xFF\n") == "p.tsv:2: holds bytes that are not UTF-8");
  CHECK(said("id\ttext\ttext\n1\ta\tb\n") == "p.tsv:1: field 'text': names two columns");
  CHECK(said("1\tno header\n") == "p.tsv: holds a header and no rows");
  write_bytes(folder / "Wiki.TSV", "id\ttext\n1\tAda wrote.\n");
  CHECK(read_passages(folder / "Wiki.TSV").at(0) == Passage("1", "", "Ada wrote."));
}

TEST_CASE("passages come in many forms") {
  const Passage flash = passage(R"({"id":"p","title":"Ada","contents":"Ada\nAda wrote.\nAnd more."})");
  CHECK(flash == Passage("p", "Ada", "Ada wrote.\nAnd more."));
  CHECK(passage(R"({"id":"0","contents":"\"Ada\"\nAda wrote."})") == Passage("0", "Ada", "Ada wrote."));  // wiki-18
  CHECK(passage(R"({"id":"0","contents":"Ada\r\nAda wrote."})") == Passage("0", "Ada", "Ada wrote."));
  CHECK(passage(R"({"id":"p","title":"Ada","contents":"\"Ada\"\nAda wrote."})") == Passage("p", "Ada", "Ada wrote."));
  CHECK(passage(R"({"id":"p","title":"\"H\"","contents":"\"H\"\nA song."})") == Passage("p", "\"H\"", "A song."));
  CHECK(passage(R"({"id":"p","text":"Ada wrote.\nMore.","title":"Ada"})") == Passage("p", "Ada", "Ada wrote.\nMore."));
  CHECK(passage(R"({"id":"p","title":"Ada","contents":"No title.\nMore."})") ==
        Passage("p", "Ada", "No title.\nMore."));
  CHECK(passage(R"({"id":"p","contents":"One line."})") == Passage("p", "", "One line."));
  for (const std::string id : {R"("_id":"7")", R"("docid":"7")", R"("id":7)", R"("_id":7)", R"("doc_id":"7")"})
    CHECK(passage("{" + id + R"(,"title":"Ada","text":"Ada wrote."})") == Passage("7", "Ada", "Ada wrote."));
}

TEST_CASE("bad passages are refused with file, line and field") {
  const std::string first = R"({"id":"p","title":"T","contents":"T\nt"})"
                            "\n";
  CHECK(refusal(first + first, true) == "f.jsonl:2: field 'id': 'p' stands in line 1 too");
  CHECK(refusal(first + R"({"id":"q","title":"T"})", true) == "f.jsonl:2: field 'contents': is missing");
  CHECK(refusal(first + R"({"title":"T","contents":"c"})", true) == "f.jsonl:2: field 'id': is missing");
  CHECK(refusal(first + R"({"id":"q","title":[],"contents":"c"})", true) == "f.jsonl:2: field 'title': is not a text");
}

TEST_CASE("a stream that fails in the middle is refused, and no shorter file") {
  struct Failing : std::streambuf {
    Failing() { setg(text.data(), text.data(), text.data() + text.size()); }
    int_type underflow() override { throw std::runtime_error("the disk is gone"); }
    std::string text = "{}\n{}\n{";
  } bytes;
  std::istream in(&bytes);
  int lines = 0;
  const auto count = [&](const output::detail::JsonLine&) { return ++lines > 0; };
  CHECK_THROWS_WITH_AS(output::detail::for_each_line(in, "f", count), "f:3: cannot be read", InputError);
  CHECK(lines == 2);
}

TEST_CASE("the public question sets read in full") {
  const char* data = std::getenv("ESPALIER_DATA");
  if (!data) return;
  struct Set {
    const char* name;
    std::size_t questions, passages, chained;
  };
  for (const Set& set :
       {Set{"hotpotqa", 300, 11858, 0}, Set{"2wikimultihopqa", 300, 11274, 300}, Set{"musique", 300, 8662, 300},
        Set{"bamboogle", 125, 0, 0}, Set{"popqa", 500, 4910, 500}, Set{"nq_open", 500, 7058, 0}}) {
    CAPTURE(set.name);
    const std::string folder = std::string(data) + "/" + set.name;
    const auto rows = read_questions(folder + "/questions.jsonl");
    CHECK(rows.size() == set.questions);
    std::size_t chained = 0;
    for (const auto& row : rows) {
      CHECK(row.hops > 0);
      chained += !row.chain.empty();
    }
    CHECK(chained == set.chained);
    if (!set.passages) continue;
    const auto passages = read_passages(folder + "/corpus.jsonl");
    CHECK(passages.size() == set.passages);
    for (const Passage& p : passages) REQUIRE_FALSE((p.title().empty() || p.text().empty()));
  }
}

}  // namespace dataset_test
