#include <espalier/core/nearest.hpp>
#include <espalier/method/match_budget.hpp>
#include <espalier/method/registry.hpp>

#include "parts.hpp"
#include "search.hpp"
#include "tree.hpp"
#include <fmt/format.h>
#include <pybind11/stl.h>

#include <map>
#include <memory>
#include <ranges>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace espalier::python {

namespace {

using Set = std::vector<std::pair<std::string, std::string>>;

/// A method with its options, checked.
std::unique_ptr<method::Method> configured(const std::string& name, const std::string& preset, const Set& set,
                                           const AnyPruning& prune = {}) {
  auto made = method::make_method(name);
  if (!preset.empty()) made->preset(preset);
  for (const auto& [option, value] : set) made->options().set(option, value);
  if (!prune.empty()) made->options().prune_by(prune);
  made->check();
  return made;
}

/// (purpose, text, slots, (role, opening mark, closing mark) of each tag that it returns) of each prompt.
std::vector<std::tuple<std::string, std::string, std::vector<std::string>,
                       std::vector<std::tuple<std::string, std::string, std::string>>>>
method_prompts(const std::string& name, const Set& set) {
  const rag::PromptSet prompts = configured(name, "", set)->prompts();
  decltype(method_prompts(name, set)) rows;
  for (const Protocol::Purpose& purpose : prompts.protocol()->purposes) {
    auto& [own, text, slots, marks] = rows.emplace_back();
    own = purpose.name;
    text = prompts.texts().at(purpose.name);
    slots = purpose.slots;
    for (const std::string& role : purpose.returns) {
      const Protocol::Tag& tag = *prompts.protocol()->tag(role);
      marks.emplace_back(tag.name, tag.open, tag.close);
    }
  }
  return rows;
}

std::vector<Embedding> no_encoder(std::span<const EncodeRequest>) { throw std::logic_error("rows ask no encoder"); }
std::vector<Passages> no_retriever(std::span<const Query>) { throw std::logic_error("rows ask no retriever"); }

/// Any method by its name, with options as on the command line.
class MethodSearch final : public Search {
 public:
  MethodSearch(const std::string& name, const std::optional<std::string>& preset, bool answers, Set set,
               std::map<std::string, py::object> models, py::object encoder, py::object values, py::object reward,
               const py::object& prune, const std::string& prompts)
      : Search(name, Loop({}, {}, configured(name, preset.value_or(""), set)->prompts(prompts)), std::move(reward)),
        preset_(preset.value_or("")),
        answers_(answers),
        set_(std::move(set)),
        models_(std::move(models)),
        encoder_(std::move(encoder)),
        values_(std::move(values)),
        prune_(make_pruning(prune)) {
    (void)make();  // checks the options
    for (const auto& [purpose, model] : models_)
      if (const Protocol& protocol = *environment.prompts->protocol(); !protocol.purpose(purpose))
        throw std::invalid_argument(
            fmt::format("models: {} has no purpose '{}'{}", method, purpose,
                        espalier::detail::did_you_mean(
                            purpose, protocol.purposes | std::views::transform(&Protocol::Purpose::name))));
  }

  [[nodiscard]] std::string options() const override { return make()->options().json(); }

  [[nodiscard]] Grow on(Scheduler& scheduler, ModelPort model, RetrieverPort retriever,
                        const py::object& chosen_reward) const override {
    const std::shared_ptr<method::Method> made = make();
    method::Ports ports(std::move(model), std::move(retriever));
    for (const auto& [purpose, other] : models_)
      ports.models.insert_or_assign(purpose, scheduler.model(open_backend<Prompt, Completion>(other, "model")));
    if (!encoder_.is_none())
      ports.encoder = scheduler.encoder(open_backend<EncodeRequest, Embedding>(encoder_, "encoder"));
    if (!values_.is_none())
      ports.values = scheduler.encoder(open_backend<EncodeRequest, Embedding>(values_, "encoder"));
    if (!chosen_reward.is_none()) ports.reward = make_reward(chosen_reward, scheduler);
    made->prepare(ports, *environment.prompts);
    return [made, answers = answers_](rag::State root, std::uint64_t run_seed) {
      if (!answers) return made->grow(std::move(root), run_seed);
      return method::answer(*made, rag::State(root.question()), run_seed);
    };
  }

  /// The rows of each of the method's data files, as text. The prompts in them are each tree's own.
  [[nodiscard]] std::map<std::string, std::string> rows(const std::vector<std::shared_ptr<GrownTree>>& trees) const {
    Scheduler scheduler;
    method::Ports ports(scheduler.external_model(), scheduler.retriever(&no_retriever));
    ports.encoder = scheduler.encoder(&no_encoder);
    ports.values = ports.encoder;
    std::map<std::string, std::string> files;
    std::shared_ptr<const rag::PromptSet> shown = environment.prompts;
    const auto ready = [&] {
      auto made = make();
      made->prepare(ports, *shown);
      for (const method::Product& product : made->products()) files[product.file];
      return made;
    };
    auto made = ready();
    for (const auto& tree : trees) {
      if (std::exchange(shown, tree->prompts) != tree->prompts) made = ready();
      for (const method::Product& product : made->products()) product.rows(tree->record(), files[product.file]);
    }
    return files;
  }

 private:
  [[nodiscard]] std::unique_ptr<method::Method> make() const { return configured(method, preset_, set_, prune_); }

  std::string preset_;
  bool answers_;
  Set set_;
  std::map<std::string, py::object> models_;
  py::object encoder_, values_;
  AnyPruning prune_;
};

}  // namespace

void bind_method(py::module_& m) {
  m.def("method_prompts", &method_prompts, py::arg("method"), py::arg("set") = Set(),
        "(purpose, text, slots, (role, opening mark, closing mark) of each returned tag) of each built-in prompt.");
  m.def(
      "copyable_texts",
      [](const std::string& name, const std::string& purpose, const std::string& text) {
        return method::make_method(name)->prompts().copyable(purpose, text);
      },
      py::arg("method"), py::arg("purpose"), py::arg("text"),
      "The texts between returned marks in a prompt that would be read as a reply.");
  py::class_<MethodSearch, Search, std::shared_ptr<MethodSearch>>(
      m, "Method", "A method by its name, with options as on the command line.")
      .def(py::init<const std::string&, const std::optional<std::string>&, bool, Set, std::map<std::string, py::object>,
                    py::object, py::object, py::object, const py::object&, const std::string&>(),
           py::arg("name"), py::kw_only(), py::arg("preset") = py::none(), py::arg("answer") = false,
           py::arg("set") = Set(), py::arg("models") = std::map<std::string, py::object>(),
           py::arg("encoder") = py::none(), py::arg("values") = py::none(), py::arg("reward") = py::none(),
           py::arg("prune") = py::none(), py::arg("prompts") = "")
      .def("_lines", &MethodSearch::rows, py::arg("trees"));
}

}  // namespace espalier::python
