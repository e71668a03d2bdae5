#pragma once

#include <espalier/core/input_file.hpp>
#include <espalier/run/settings.hpp>
#include <espalier/search/budget.hpp>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <system_error>

namespace espalier::run::detail {

/// Remembers where the clock ended searches. Each stop is written as a line "tree steps" when it happens, and happens
/// at the same step when the run is repeated. An unfinished last line is ignored.
class Stops {
 public:
  /// `search` separates trees of different methods and options that share the file. "" = no file.
  Stops(const std::filesystem::path& file, Hash search) : search_(search) {
    if (file.empty()) return;
    std::istringstream in(std::filesystem::exists(file) ? espalier::detail::read_input(file.string()) : "");
    std::string line;
    while (std::getline(in, line) && !in.eof()) {
      const std::size_t blank = line.find(' ');
      std::uint64_t steps = 0;
      if (blank == std::string::npos) continue;
      if (std::from_chars(line.data() + blank + 1, line.data() + line.size(), steps).ec == std::errc())
        known_[line.substr(0, blank)] = steps;
    }
    out_.open(file, std::ios::binary | std::ios::app);
    if (!line.empty()) out_ << '\n';  // behind an unfinished one
  }
  /// True if a tree's time is up after these steps: as recorded before, or because it is late now.
  bool operator()(Seed tree, std::uint64_t steps, bool late) {
    const std::string key = Hasher().add(search_).add(tree.value()).finish().hex();
    const auto stop = known_.find(key);
    if (stop != known_.end()) return steps >= stop->second;
    if (!late) return false;
    known_[key] = steps;
    if (out_.is_open()) out_ << key << ' ' << steps << '\n' << std::flush;
    return true;
  }

 private:
  Hash search_;
  std::map<std::string, std::uint64_t> known_;
  std::ofstream out_;
};

/// A run's stops by the clock, kept beside its journal.
inline Budget::Timeout remembered_stops(const Settings& settings, const std::filesystem::path& folder,
                                        const std::string& options) {
  const std::filesystem::path file =
      settings.journal.file.empty() ? folder / "stops" : std::filesystem::path(settings.journal.file + ".stops");
  const Hash search = Hasher().add(settings.method).add(options).finish();
  const auto stops = std::make_shared<Stops>(settings.journal.keep ? file : std::filesystem::path(), search);
  return [stops](Seed tree, std::uint64_t steps, bool late) { return (*stops)(tree, steps, late); };
}

}  // namespace espalier::run::detail
