#pragma once

#include <espalier/core/concepts.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace espalier::toy {

/// A tree of fixed branching and depth whose nodes are 64-bit hashes: h(root) = 1, h(child a) = mix64(3 h + a + 1). A state's
/// value is (h >> 11) 2^-53, uniform in [0, 1). Costs nothing, so it measures engines; sums along paths have known optima.
class UniformTree {
 public:
  struct Options {
    std::uint32_t branching = 3;
    std::uint32_t depth = 16;
  };
  struct State {
    std::uint64_t hash = 1;
    std::uint32_t depth = 0;
  };
  using Action = std::uint32_t;

  explicit UniformTree(Options options) : options_(options) {
    if (options.branching == 0) bad_option("branching", options.branching, "1 or more");
  }
  [[nodiscard]] State root() const { return {}; }
  [[nodiscard]] std::span<const Kind> kinds(const State& s) const {
    static constexpr std::array<Kind, 1> move{0};
    return std::span<const Kind>(move).first(s.depth < options_.depth ? 1 : 0);
  }
  /// The n actions from the context's first one on.
  [[nodiscard]] std::vector<Proposal<Action>> propose(const State&, Kind kind, std::uint32_t n, const Context& context) const {
    std::vector<Proposal<Action>> proposals;
    for (std::uint32_t a = context.first; a < std::min(context.first + n, options_.branching); ++a)
      proposals.emplace_back(a, kind, 1.0F / static_cast<float>(options_.branching));
    return proposals;
  }
  [[nodiscard]] State step(const State& s, Action a) const { return {mix64(3 * s.hash + a + 1), s.depth + 1}; }
  [[nodiscard]] static double value(const State& s) { return static_cast<double>(s.hash >> 11) * 0x1p-53; }

 private:
  Options options_;
};

}  // namespace espalier::toy
