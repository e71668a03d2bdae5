#include <espalier/backend/chat/reply.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace streamed_reply_test {

using namespace espalier;
using backend::Server;
using backend::detail::ChatReply;

namespace {

std::vector<std::optional<Completion>> completions(const std::string& stream, std::uint32_t samples,
                                                   Server server = Server::vllm) {
  backend::detail::JsonReader json;
  Sampling sampling;
  sampling.stop = {"</answer>"};
  sampling.logprobs = sampling.token_logprobs = true;
  std::vector<Prompt> prompts;
  for (std::uint32_t i = 0; i < samples; ++i) prompts.emplace_back("q", sampling, 1, i);
  ChatReply reply = ChatReply::streamed(stream, backend::detail::dialect_of(server), json);
  std::string doubt;
  return reply.completions(prompts, doubt);
}

}  // namespace

TEST_CASE("lines of an event that are no data are skipped, whatever its lines end in") {
  const std::string chunk = "data:{\"choices\":[{\"text\":\"x\",\"finish_reason\":\"stop\"}]}";
  for (const std::string& stream : {chunk + "\n\ndata: [DONE]\n\n", chunk + "\r\n\r\ndata:  [DONE]\r\n\r\n",
                                    ": comment\nevent: x\n" + chunk + "\nid: 7\n\ndatabase: no\n\ndata:[DONE]\n"})
    CHECK(completions(stream, 1)[0]->text == "x");
}

TEST_CASE("chunks add up to the reply that would have come whole") {
  const auto chat = completions(
      "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"reasoning_content\":\"h\"}}]}\n\n"
      "data: "
      "{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"B\"},\"logprobs\":{\"content\":[{\"logprob\":-2}]}}]}\n\n"
      "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a "
      "\\u00e9\",\"reasoning_content\":\"m\"},\"logprobs\":{\"content\":[{\"logprob\":-0.5}]}}]}\n\n"
      "data: "
      "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"!\"},\"finish_reason\":\"stop\",\"stop_reason\":\"</"
      "answer>\",\"logprobs\":{\"content\":[{\"logprob\":-0.25}]}}]}\n\n"
      "data: {\"choices\":[{\"index\":1,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n"
      "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":3}}\n\ndata: [DONE]\n\n",
      2);
  CHECK(chat[0]->text == "<think>\nhm\n</think>\na \xC3\xA9!</answer>");
  CHECK(chat[0]->finish == Completion::Finish::stop);
  CHECK(*chat[0]->logprob == -0.75);
  CHECK(chat[0]->prompt_tokens == 4);
  CHECK(chat[0]->completion_tokens == 2);
  CHECK(chat[1]->text == "B");
  CHECK(chat[1]->finish == Completion::Finish::length);
  const auto plain = completions(
      "data: {\"choices\":[{\"index\":0,\"text\":\"x\",\"logprobs\":{\"tokens\":[\"x\"],\"token_logprobs\":[-1]}}]}\n\n"
      "data: "
      "{\"choices\":[{\"index\":0,\"text\":\"y\",\"finish_reason\":\"length\",\"logprobs\":{\"tokens\":[\"y\"],"
      "\"token_logprobs\":[-2]}}]}"
      "\n\ndata: [DONE]\n\n",
      1);
  CHECK(plain[0]->text == "xy");
  CHECK(*plain[0]->logprob == -3);
  CHECK(plain[0]->tokens == std::vector<Completion::TokenLogprob>{{"x", -1}, {"y", -2}});
  CHECK(chat[0]->tokens.empty());  // their texts are not given
}

TEST_CASE("token ids add up too, and count each sample's tokens") {
  const auto chat = completions(
      "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a \"},\"token_ids\":[5,6]}]}\n\n"
      "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"b\"},\"token_ids\":[5]}]}\n\n"
      "data: "
      "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"c\"},\"token_ids\":[7,8],\"finish_reason\":\"stop\"}]}\n\n"
      "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"\"},\"finish_reason\":\"stop\"}],\"usage\":null}\n\n"
      "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":5}}\n\ndata: [DONE]\n\n",
      2);
  CHECK(chat[0]->completion_tokens == 4);
  CHECK(chat[1]->completion_tokens == 1);
}

TEST_CASE("lines of Ollama add up to the reply that would have come whole") {
  const auto whole = [](const std::string& lines) { return *completions(lines, 1, Server::ollama)[0]; };
  const Completion chat = whole(
      "{\"message\":{\"content\":\"\",\"thinking\":\"h\"},\"done\":false}\r\n\n"
      "{\"message\":{\"content\":\"a \",\"thinking\":\"m\"},\"done\":false,\"logprobs\":[{\"logprob\":-1}]}\n"
      "{\"message\":{\"content\":\"b\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":3,\"eval_"
      "count\":2,\"logprobs\":[{\"logprob\":-2}]}");
  CHECK(chat.text == "<think>\nhm\n</think>\na b");
  CHECK(chat.finish == Completion::Finish::stop);
  CHECK(chat.prompt_tokens == 3);
  CHECK(chat.completion_tokens == 2);
  CHECK(chat.logprob == -3);
  const Completion plain =
      whole("{\"response\":\"x\",\"done\":false}\n{\"response\":\"y\",\"done\":true,\"done_reason\":\"length\"}\n");
  CHECK(plain.text == "xy");
  CHECK(plain.finish == Completion::Finish::length);
  const std::string begun = "{\"response\":\"x\",\"done\":false}\n";
  for (const std::string& bad : {std::string(), begun, begun + "{\"response\":\"y\",\"do", begun + "<html>\n",
                                 begun + "{\"error\":\"out of memory\"}\n"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(whole(bad), BackendError);
  }
}

}  // namespace streamed_reply_test
