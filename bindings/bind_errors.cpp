#include <espalier/backend/journal/store.hpp>
#include <espalier/fmt/one_line.hpp>
#include <espalier/run/work_folder.hpp>

#include "errors.hpp"

#include <chrono>
#include <string_view>

namespace espalier::python {

py::object error_class(const char* name) { return py::module_::import("espalier.errors").attr(name); }

py::object python_error(const std::exception_ptr& error) {
  try {
    py::cpp_function([&] { std::rethrow_exception(error); })();
  } catch (const py::error_already_set& told) {
    if (told.trace()) told.value().attr("__traceback__") = told.trace();
    return told.value();
  }
  return py::none();
}

void check_signals() {
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  using Clock = std::chrono::steady_clock;
  thread_local Clock::time_point due{};
  const auto now = Clock::now();
  if (now < due) return;
  due = now + std::chrono::milliseconds(20);
  py::module_::import("espalier.bridge.awaited").attr("check")();
}

void warn(const std::string& what) {
  const py::gil_scoped_acquire lock;
  py::module_::import("logging").attr("getLogger")("espalier").attr("warning")("%s", one_line(what));
}

void bind_errors() {
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const PythonBackendError& python) {
      raise(python.error());
    } catch (const BackendError& error) {
      const bool permanent = error.kind() != BackendError::Kind::transport;
      raise(error_class("BackendError")(one_line(error.what()), py::arg("permanent") = permanent));
    } catch (const PolicyError& error) {
      const py::object made = error_class("PolicyError")(one_line(error.what()));
      try {
        std::rethrow_if_nested(error);
      } catch (const PolicyError& inner) {  // ours has no cause
        if (const auto* python = dynamic_cast<const PythonPolicyError*>(&inner))
          made.attr("__cause__") = *python->cause;
      }
      raise(made);
    } catch (const Error& error) {
      const char* const name = dynamic_cast<const InputError*>(&error)            ? "InputError"
                               : dynamic_cast<const MissingPart*>(&error)         ? "MissingPart"
                               : dynamic_cast<const backend::StoreError*>(&error) ? "StoreError"
                                                                                  : "Error";
      raise(error_class(name)(one_line(error.what())));
    } catch (const py::cast_error& error) {  // an empty object of a class that shared pointers hold
      if (!std::string_view(error.what()).starts_with("Unable to cast from non-held")) throw;
      PyErr_SetString(PyExc_TypeError, empty_object);
    } catch (const std::filesystem::filesystem_error& error) {
      raise(error_class("InputError")(one_line(run::detail::input_error(error).what())));
    }
  });
}

}  // namespace espalier::python
