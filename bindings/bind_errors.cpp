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
    std::rethrow_exception(error);
  } catch (const PythonBackendError& python) {
    return py::reinterpret_borrow<py::object>(python.error());
  } catch (const BackendError& ours) {
    return error_class("BackendError")(one_line(ours.what()),
                                       py::arg("permanent") = ours.kind() != BackendError::Kind::transport);
  }
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
    const auto raise_as = [](const char* name, const std::exception& error) {
      PyErr_SetString(error_class(name).ptr(), one_line(error.what()).c_str());
    };
    try {
      std::rethrow_exception(thrown);
    } catch (const BackendError&) {
      const py::object error = python_error(thrown);
      PyErr_SetObject(py::type::handle_of(error).ptr(), error.ptr());
    } catch (const PolicyError& error) {
      const py::object made = error_class("PolicyError")(one_line(error.what()));
      try {
        std::rethrow_if_nested(error);
      } catch (const PythonPolicyError& python) {
        made.attr("__cause__") = *python.cause;
      } catch (const PolicyError&) {  // ours has no cause
      }
      PyErr_SetObject(py::type::handle_of(made).ptr(), made.ptr());
    } catch (const InputError& error) {
      raise_as("InputError", error);
    } catch (const MissingPart& error) {
      raise_as("MissingPart", error);
    } catch (const backend::StoreError& error) {
      raise_as("StoreError", error);
    } catch (const Error& error) {
      raise_as("Error", error);
    } catch (const py::cast_error& error) {  // an empty object of a class that shared pointers hold
      if (!std::string_view(error.what()).starts_with("Unable to cast from non-held")) throw;
      PyErr_SetString(PyExc_TypeError, empty_object);
    } catch (const std::filesystem::filesystem_error& error) {
      raise_as("InputError", run::detail::input_error(error));
    }
  });
}

}  // namespace espalier::python
