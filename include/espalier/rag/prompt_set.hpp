#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/input_file.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/core/utf8.hpp>
#include <espalier/llm/prompt.hpp>
#include <espalier/rag/parse.hpp>
#include <espalier/rag/render.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::rag::detail {

/// The texts between the marks of a returned tag that stand complete in a prompt's text, and that would be read as a
/// reply: a small model may copy them in place of an answer. A mark that claims the rest of the text claims it up to
/// the next heading ("### ..."). Texts with a slot are left out, because a value takes its place.
inline std::vector<std::string> copyable(std::string_view prompt, const Protocol& protocol,
                                         const Protocol::Purpose& purpose) {
  std::vector<std::string> found;
  for (const std::string& role : purpose.returns) {
    const Protocol::Tag& tag = *protocol.tag(role);
    if (tag.open.empty()) continue;
    for (std::size_t at = prompt.find(tag.open); at != prompt.npos; at = prompt.find(tag.open, at + tag.open.size())) {
      std::string_view rest = prompt.substr(at);
      if (tag.close.empty()) rest = rest.substr(0, rest.find("\n### "));
      const auto [open, close] = marked(rest, tag);
      if (open != 0) continue;  // none, or a later opening mark is nearer to the closing one
      const std::string piece(rest.substr(0, close + tag.close.size()));
      const auto shows = [&](const std::string& slot) { return piece.find('{' + slot + '}') != piece.npos; };
      if (std::any_of(purpose.slots.begin(), purpose.slots.end(), shows)) continue;
      if (auto reply = parse(ModelText(piece), protocol, purpose)) found.push_back(std::move(reply->content));
    }
  }
  return found;
}

}  // namespace espalier::rag::detail

namespace espalier::rag {

/// The prompt texts of a method: one template per purpose. {slot} stands for a slot's value, other braces are text.
class PromptSet {
 public:
  using Texts = std::map<std::string, std::string, std::less<>>;
  using Slots = std::vector<std::pair<std::string, Rendering>>;

  /// Throws InputError for a purpose whose text or slot is missing, std::invalid_argument for one whose tag is missing.
  PromptSet(std::shared_ptr<const Protocol> protocol, Texts texts)
      : protocol_(std::move(protocol)), texts_(std::move(texts)) {
    for (const Protocol::Purpose& purpose : protocol_->purposes) {
      check(purpose, purpose.name);
      for (const auto& role : purpose.returns)
        if (protocol_->tag(role) == nullptr)
          throw std::invalid_argument("the prompt '" + purpose.name + "' of " + protocol_->method +
                                      " returns the tag '" + role + "', which has no marks");
    }
  }

  PromptSet(Protocol protocol, Texts texts)
      : PromptSet(std::make_shared<const Protocol>(std::move(protocol)), std::move(texts)) {}

  /// The same set with texts of the files `DIR/<purpose>.txt`. Another .txt file is an error, as is a folder of none.
  [[nodiscard]] PromptSet replaced_from(const std::string& folder) const {
    PromptSet other = *this;
    bool any = false;
    for (const std::string& file : espalier::detail::names_in(folder)) {
      if (file.size() <= 4 || !file.ends_with(".txt")) continue;
      const std::string path = folder + (folder.ends_with('/') ? "" : "/") + file;
      const Protocol::Purpose* purpose = protocol_->purpose(file.substr(0, file.size() - 4));
      if (purpose == nullptr) throw InputError(path, 0, "", "no prompt of " + protocol_->method + " has this name");
      const std::string text = espalier::detail::read_input(path, 1 << 20);
      for (std::size_t i = 0, length = 0; i < text.size(); i += length)
        if ((length = espalier::detail::utf8_sequence(text, i)) == 0)
          throw InputError(path, 0, "", "byte " + std::to_string(i + 1) + " is not UTF-8");
      other.texts_[purpose->name] = text;
      other.check(*purpose, path);
      any = true;
    }
    if (!any) throw InputError(folder, 0, "", "holds no prompt, such as " + texts_.begin()->first + ".txt");
    return other;
  }

  [[nodiscard]] const std::shared_ptr<const Protocol>& protocol() const { return protocol_; }
  [[nodiscard]] const Texts& texts() const { return texts_; }

  /// The texts between returned marks of a prompt that read as a reply. Throws std::invalid_argument if there is none.
  [[nodiscard]] std::vector<std::string> copyable(std::string_view purpose, std::string_view text) const {
    const Protocol::Purpose* known = protocol_->purpose(purpose);
    if (known == nullptr) throw std::invalid_argument("there is no prompt '" + std::string(purpose) + "'");
    return detail::copyable(text, *protocol_, *known);
  }

  /// Fills a purpose's template. Slots not in it are ignored. Throws std::invalid_argument for an unknown purpose.
  [[nodiscard]] std::shared_ptr<const PromptBody> render(std::string_view purpose, const Slots& slots,
                                                         Sampling sampling, std::uint64_t affinity = 0) const {
    const auto found = texts_.find(purpose);
    if (found == texts_.end())
      throw std::invalid_argument("the prompts of " + protocol_->method + " have no purpose '" + std::string(purpose) +
                                  "'");
    Rendering out;
    detail::fill(out.text, found->second, [&](std::string_view name) {
      const auto slot = std::find_if(slots.begin(), slots.end(), [&](const auto& one) { return one.first == name; });
      if (slot == slots.end()) return false;
      const auto begin = static_cast<std::uint32_t>(out.text.size());
      out.spans.push_back({slot->first, begin, begin + static_cast<std::uint32_t>(slot->second.text.size())});
      out.add(slot->second);
      return true;
    });
    if (sampling.tools) out.text += tools_line(*protocol_->purpose(purpose));
    PromptBody body;
    body.messages.push_back(PromptBody::Message{"user", std::move(out.text)});
    body.spans = std::move(out.spans);
    body.purpose = std::string(purpose);
    body.protocol = protocol_;
    body.sampling = std::move(sampling);
    body.affinity = affinity;
    return std::make_shared<const PromptBody>(std::move(body));
  }

 private:
  /// What stands below a prompt whose tags are asked for as calls of tools.
  [[nodiscard]] std::string tools_line(const Protocol::Purpose& purpose) const {
    std::string line;
    for (const auto& role : purpose.returns)
      if (const Protocol::Tag* tag = protocol_->tag(role); !tag->open.empty())
        line += (line.empty() ? "\nWrite no marks. In place of " : ", in place of ") + tag->open +
                (tag->close == "\n" ? "" : " " + tag->close) + " call the tool " + role;
    return line.empty() ? line : line + ".\n";
  }
  void check(const Protocol::Purpose& purpose, const std::string& where) const {
    const auto text = texts_.find(purpose.name);
    if (text == texts_.end()) throw InputError(where, 0, "", "there is no text for the prompt '" + purpose.name + "'");
    for (const auto& slot : purpose.slots)
      if (text->second.find('{' + slot + '}') == std::string::npos)
        throw InputError(where, 0, "{" + slot + "}", "the prompt lacks this slot");
  }

  std::shared_ptr<const Protocol> protocol_;
  Texts texts_;
};

}  // namespace espalier::rag
