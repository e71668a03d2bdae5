// How full the slots of a model server are while the main job runs: 500 questions of a generated world, DecEx-RAG's
// expansion, the simulated model behind a server on the loopback with 64 slots and log-normal service (mean 50 ms,
// sigma 0.5, decided by the request), the OpenAI client and the journal in between. Beside it the same job in virtual
// time, where nothing but the order of the calls costs, and a sample of the same calls as ProRAG's code issues them: 16
// questions at once, one call after the other in each. Usage: bench_many_questions [questions [in_flight
// [open_questions]]]
#include <espalier/backend/journal.hpp>
#include <espalier/backend/openai.hpp>
#include <espalier/backend/sqlite_store.hpp>
#include <espalier/core/json_writer.hpp>

#include "slot_server.hpp"
#include "virtual_server.hpp"
#include "world.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

using namespace espalier;
using benchmarks::SlotServer;
using benchmarks::VirtualServer;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::size_t slots = 64;
constexpr double mean_s = 0.05;

/// What the simulated model says to each body: put down when a request is sent, read when it is served.
class Answers {
 public:
  void put(const std::string& body, const Completion& completion) {
    std::string reply;
    JsonWriter json(reply);
    json.begin_object()
        .key("choices")
        .begin_array()
        .begin_object()
        .field("index", 0)
        .field("finish_reason", "stop")
        .key("message");
    json.begin_object()
        .field("role", "assistant")
        .field("content", completion.text)
        .end_object()
        .end_object()
        .end_array();
    json.key("usage")
        .begin_object()
        .field("prompt_tokens", completion.prompt_tokens)
        .field("completion_tokens", completion.completion_tokens);
    json.end_object().end_object();
    const std::lock_guard lock(mutex_);
    replies_.insert_or_assign(Hasher().add(body).finish(), std::move(reply));
  }
  [[nodiscard]] std::string get(std::string_view body) {
    const std::lock_guard lock(mutex_);
    return replies_.at(Hasher().add(body).finish());
  }

 private:
  std::mutex mutex_;
  std::unordered_map<Hash, std::string> replies_;
};

/// The client of the server, which first tells the server's side what to say, and remembers who asked for what.
class Informed final : public Service<Prompt, Completion> {
 public:
  using Calls = std::map<std::uint64_t, std::vector<Prompt>>;  ///< by question
  Informed(const sim::Model& model, Answers& answers, Calls& calls, const std::string& url, std::size_t in_flight)
      : model_(model),
        answers_(answers),
        calls_(calls),
        client_({.url = url, .model = "m", .api_key_env = "", .http = {.max_in_flight = in_flight}}) {}
  void submit(Ticket ticket, const Prompt& prompt) override {
    const std::span<const Prompt> one(&prompt, 1);
    answers_.put(request_.write(one, backend::detail::dialect_of(backend::Server::other)), model_(one).front());
    calls_[prompt.affinity()].push_back(prompt);
    client_.submit(ticket, prompt);
  }
  std::vector<Reply<Completion>> poll(std::chrono::milliseconds wait) override { return client_.poll(wait); }
  [[nodiscard]] bool batch() const override { return false; }
  void cancel(Ticket ticket) override { client_.cancel(ticket); }

 private:
  const sim::Model& model_;
  Answers& answers_;
  Calls& calls_;
  backend::detail::OpenAiRequest request_{"m", true, ""};
  backend::OpenAi client_;
};

/// The main job over all questions of a world.
class Job {
 public:
  Job(std::uint32_t passages, std::uint32_t questions)
      : world_({.passages = passages, .questions = questions}), model_(world_.examples()) {
    std::vector<Passage> passages_of_world;
    for (std::size_t i = 0; i < world_.size(); ++i) passages_of_world.push_back(world_.passage(i));
    index_.emplace(std::move(passages_of_world));
  }
  [[nodiscard]] const sim::Model& model() const { return model_; }
  /// Returns the number of nodes grown.
  std::size_t run(std::unique_ptr<Service<Prompt, Completion>> service, std::size_t in_flight, std::size_t open) const {
    Scheduler scheduler;
    const ModelPort model = scheduler.model(std::move(service), in_flight);
    const rag::Environment loop(rag::Sampler(model, method::decex_prompts(), {.sampling = {.temperature = 0.7}}),
                                scheduler.retriever(*index_), {});
    method::DecExRag search({}, loop, rag::F1());
    std::size_t nodes = 0;
    scheduler.for_each(
        world_.examples().size(), open, [&](std::size_t i) { return search(rag::State(world_.examples()[i]), 1); },
        [&](std::size_t, Outcome<rag::Tree> tree) { nodes += std::move(tree).value().size(); });
    return nodes;
  }

 private:
  sim::World world_;
  sim::Model model_;
  std::optional<backend::Bm25> index_;
};

void print(const char* what, double wall, double work, double held, std::uint64_t requests) {
  const double all = static_cast<double>(slots);
  std::printf("%s: %llu requests, %.1f s, %.1f %% of slot time used, wall time %.3f of work / slots\n", what,
              static_cast<unsigned long long>(requests), wall, 100 * held / (all * wall), wall / (work / all));
  std::fflush(stdout);
}

/// One question's calls one after the other.
Task<int> one_by_one(ModelPort model, std::vector<Prompt> prompts) {
  for (Prompt& prompt : prompts) co_await model(std::move(prompt));
  co_return 0;
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i, std::size_t otherwise) {
    return argc > i ? std::strtoul(argv[i], nullptr, 10) : otherwise;
  };
  const std::size_t questions = number(1, 500), in_flight = number(2, 64), open = number(3, 4 * in_flight);
  const Job job(10'000, static_cast<std::uint32_t>(questions));
  std::printf("%zu questions, %zu slots, %zu in flight, %zu questions open\n", questions, slots, in_flight, open);

  const auto clock = std::make_shared<VirtualServer::Clock>();
  std::uint64_t served = 0;
  const auto answer = [&](const Prompt& prompt) {
    ++served;
    return job.model()(std::span<const Prompt>(&prompt, 1)).front();
  };
  const std::size_t nodes = job.run(std::make_unique<VirtualServer>(slots, clock, answer), in_flight, open);
  print("virtual time", mean_s * clock->now, mean_s * clock->busy, mean_s * clock->busy, served);
  if (std::getenv("VIRTUAL_ONLY") != nullptr) return 0;

  Answers answers;
  Informed::Calls calls;
  SlotServer server(slots, mean_s, [&](std::string_view body) { return answers.get(body); });
  const auto folder =
      std::filesystem::temp_directory_path() / ("espalier-many-questions-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  auto client = std::make_unique<Informed>(job.model(), answers, calls, server.url(), in_flight);
  auto journal = std::make_unique<backend::Journaled<Prompt, Completion>>(
      std::move(client), std::make_shared<backend::SqliteStore>((folder / "journal.sqlite").string()), Hash());
  const double cpu = benchmarks::cpu_seconds();
  auto start = Clock::now();
  if (job.run(std::move(journal), in_flight, open) != nodes) std::puts("OTHER TREES");
  const double wall = seconds_since(start), used = benchmarks::cpu_seconds() - cpu;
  const auto ours = server.times();
  print("Espalier    ", wall, ours.work, ours.held, ours.requests);
  std::printf("  %.3f CPU s per 1,000 calls, server and simulated model included\n",
              1000 * used / static_cast<double>(ours.requests));
  std::filesystem::remove_all(folder);

  // A sample is enough to see the share: some questions' first calls, in the order in which they were made. As many
  // calls of each, so that no long question is left alone at the end.
  constexpr std::size_t sample = 64, calls_of_each = 50;
  std::vector<std::vector<Prompt>> lists;
  for (auto& [question, prompts] : calls) {
    if (lists.size() == sample) break;
    if (prompts.size() < calls_of_each) continue;
    prompts.erase(prompts.begin() + calls_of_each, prompts.end());
    lists.push_back(std::move(prompts));
  }
  Scheduler scheduler;
  backend::OpenAiOptions options{.url = server.url(), .model = "m", .api_key_env = ""};
  const ModelPort model =
      scheduler.model(std::unique_ptr<Service<Prompt, Completion>>(std::make_unique<backend::OpenAi>(options)), 16);
  start = Clock::now();
  scheduler.for_each(
      lists.size(), 16, [&](std::size_t i) { return one_by_one(model, lists[i]); },
      [](std::size_t, Outcome<int> done) { (void)std::move(done).value(); });
  const double their_wall = seconds_since(start);
  const auto all = server.times();
  const double their_work = all.work - ours.work;
  print("16 questions at once, one call after the other", their_wall, their_work, all.held - ours.held,
        all.requests - ours.requests);
  std::printf("  Espalier did %.2f times as much work a second\n", ours.work / wall / (their_work / their_wall));
}
