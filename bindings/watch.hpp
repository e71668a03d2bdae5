#pragma once

#include <espalier/backend/http/watch.hpp>

#include <memory>
#include <string>

namespace espalier::python {

/// Writes a warning to Python's logger "espalier". Takes the interpreter lock.
void warn(const std::string& what);

/// Watches servers where no progress view does, and warns.
std::shared_ptr<backend::HttpWatch> warning_watch(double deadline_s);

/// The options for a new service, with its own watch, because a watch belongs to one run.
template <class Options>
Options watched(Options options) {
  options.http.watch = warning_watch(options.http.deadline_s);
  return options;
}

}  // namespace espalier::python
