// What models write, read by every purpose of every method's protocol, and what documents hold.
#include <espalier/method/all.hpp>
#include <espalier/rag/parse.hpp>

#include "fuzzing.hpp"

using namespace espalier;

namespace {

std::vector<std::shared_ptr<const Protocol>> all_protocols() {
  std::vector<std::shared_ptr<const Protocol>> all;
  for (const auto& [name, make] : method::detail::methods()) all.push_back(make()->prompts().protocol());
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<std::shared_ptr<const Protocol>> protocols = all_protocols();
  const std::string text = fuzz::text_of(data, size);
  const std::string shown = rag::detail::neutralise(text);
  fuzz::require(shown.find('<') == std::string::npos && shown.find("###") == std::string::npos,
                "no tag and no section survives in a document");
  for (std::size_t at = 0; (at = shown.find('[', at)) != std::string::npos; ++at)
    fuzz::require(!rag::detail::names_control(std::string_view(shown).substr(at + 1)),
                  "no control token survives in a document");
  fuzz::require(rag::detail::restore(shown) == text, "the original comes back");
  for (const auto& protocol : protocols)
    for (const Protocol::Purpose& purpose : protocol->purposes) {
      const auto reply = rag::parse(rag::ModelText(text), *protocol, purpose);
      if (!reply) continue;
      fuzz::require(!reply->content.empty(), "a reply is never empty");
      bool wanted = purpose.returns.empty() && reply->tag.empty();
      for (const std::string& role : purpose.returns) wanted = wanted || role == reply->tag;
      fuzz::require(wanted, "a reply plays a role that was asked for");
    }
  return 0;
}
