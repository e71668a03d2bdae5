#pragma once

#include <espalier/core/error.hpp>

#include "bindings.hpp"

#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace espalier::python {

/// What is said of an object whose __init__ was not called, or failed. TypeError.
inline constexpr const char* empty_object = "this object holds nothing: its __init__ was not called, or it failed";

/// The class with this name in espalier.errors.
py::object error_class(const char* name);

/// A Python object that a thread without the interpreter lock may release.
inline std::shared_ptr<py::object> shared(py::object object) {
  return {new py::object(std::move(object)), [](py::object* last) {
            const py::gil_scoped_acquire lock;
            delete last;
          }};
}

/// A Python BackendError passing through C++. It leaves as the same object, with its traceback.
class PythonBackendError : public BackendError {
 public:
  explicit PythonBackendError(const py::object& error)
      : BackendError(py::str(error).cast<std::string>(),
                     error.attr("permanent").cast<bool>() ? Kind::permanent : Kind::transport),
        error_(shared(error)) {}
  [[nodiscard]] py::handle error() const { return *error_; }

 private:
  std::shared_ptr<py::object> error_;
};

/// A pruning policy in Python raised something.
class PythonPolicyError : public PolicyError {
 public:
  PythonPolicyError(const std::string& what, py::object error) : PolicyError(what), cause(shared(std::move(error))) {}
  std::shared_ptr<py::object> cause;
};

/// The Python exception for an error.
py::object python_error(const std::exception_ptr& error);

/// Raises an exception object that was returned in place of a value.
[[noreturn]] inline void raise(py::handle error) {
  PyErr_SetObject(py::type::handle_of(error).ptr(), error.ptr());
  throw py::error_already_set();
}

/// Throws the exception of a signal handler (Ctrl-C), or one that ends the run if nobody awaits it any more.
void check_signals();

/// Writes a warning to Python's logger "espalier". Takes the interpreter lock.
void warn(const std::string& what);

/// True for a text with half of a surrogate pair, which UTF-8 cannot hold.
inline bool halved(py::handle text) {
  return PyUnicode_Check(text.ptr()) && !py::detail::make_caster<std::string>().load(text, false);
}

/// The name of an object's type, for messages.
inline std::string type_name(py::handle object) {
  return py::type::handle_of(object).attr("__name__").cast<std::string>();
}

}  // namespace espalier::python
