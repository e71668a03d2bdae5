#pragma once

#include <espalier/core/concepts.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace espalier::toy {

/// A tree of fixed branching and depth whose nodes are 64-bit hashes: h(root) = 1, h(child a) = mix64(3 h + a + 1). A
/// state's value is (h >> 11) 2^-53, uniform in [0, 1). It costs almost nothing. Sums along paths have known optima.
class UniformTree {
 public:
  struct Options {
    std::uint32_t branching = 3;  ///< > 0
    std::uint32_t depth = 16;
  };
  struct State {
    std::uint64_t hash = 1;
    std::uint32_t depth = 0;
  };
  using Action = std::uint32_t;

  explicit UniformTree(Options options) : options_(options) {
    if (options.branching == 0) bad_option("branching", options.branching, "1 or more");
    for (Action a = 0; a < options.branching; ++a) moves_.emplace_back(a, Kind(0), 1.0F / float(options.branching));
  }
  [[nodiscard]] State root() const { return {}; }
  [[nodiscard]] std::span<const Kind> kinds(const State& s) const {
    static constexpr std::array<Kind, 1> move{0};
    return std::span<const Kind>(move).first(s.depth < options_.depth ? 1 : 0);
  }
  /// The next n actions from `context.first` on.
  [[nodiscard]] std::span<const Proposal<Action>> propose(const State&, Kind, std::uint32_t n,
                                                          const Context& context) const {
    const std::size_t first = std::min<std::size_t>(context.first, moves_.size());
    return std::span(moves_).subspan(first, std::min<std::size_t>(n, moves_.size() - first));
  }
  [[nodiscard]] State step(const State& s, Action a) const {
    return {espalier::detail::mix64(3 * s.hash + a + 1), s.depth + 1};
  }
  [[nodiscard]] static double value(const State& s) { return static_cast<double>(s.hash >> 11) * 0x1p-53; }

 private:
  Options options_;
  std::vector<Proposal<Action>> moves_;
};

}  // namespace espalier::toy
