// What models write, read by every purpose of every protocol, and what documents hold.
#include "fuzzing.hpp"

#include <espalier/method/air_prompts.hpp>
#include <espalier/method/decex_prompts.hpp>
#include <espalier/method/decouple_prompts.hpp>
#include <espalier/method/pro_prompts.hpp>
#include <espalier/method/reason_prompts.hpp>
#include <espalier/rag/parse.hpp>

using namespace espalier;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::shared_ptr<const Protocol> protocols[] = {method::air_protocol(), method::decex_protocol(), method::decouple_protocol(),
                                                              method::pro_protocol(), method::reason_protocol()};
  const std::string text = fuzz::text_of(data, size);
  const std::string shown = rag::neutralise(text);
  fuzz::require(shown.find('<') == std::string::npos, "no mark survives in a document");
  fuzz::require(rag::restore(shown) == text, "the original comes back");
  for (const auto& protocol : protocols)
    for (const Purpose& purpose : protocol->purposes) {
      const auto reply = rag::parse(rag::ModelText(text), *protocol, purpose);
      if (!reply) continue;
      fuzz::require(!reply->content.empty(), "a reply is never empty");
      bool wanted = purpose.returns.empty() && reply->tag.empty();
      for (const std::string& role : purpose.returns) wanted = wanted || role == reply->tag;
      fuzz::require(wanted, "a reply plays a role that was asked for");
    }
  return 0;
}
