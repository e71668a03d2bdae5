#include "errors.hpp"

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace espalier::python {
namespace {

/// pybind11 reports arguments that do not fit in many lines. All functions that it binds are called through one
/// function of pybind11. The functions below take its place: they call it, and espalier.bridge.mismatch makes one line
/// of its report.
using Fast = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
using Plain = PyObject* (*)(PyObject*, PyObject*, PyObject*);
PyCFunction pybind11_call = nullptr;

/// Replaces the current error of Python if it is such a report. Returns null.
template <class Arguments>
PyObject* said_shorter(Arguments arguments) {
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) return nullptr;
  try {
    py::error_already_set error;
    const auto said = py::str(error.value()).cast<std::string>();
    if (said.find("arguments. The following argument types are supported:\n") == std::string::npos)
      return error.restore(), nullptr;
    const auto [args, kwargs] = arguments();
    const py::object line = py::module_::import("espalier.bridge.mismatch").attr("sentence")(said, args, kwargs);
    PyErr_SetObject(PyExc_TypeError, line.ptr());
  } catch (py::error_already_set& error) {
    error.restore();
  }
  return nullptr;
}

PyObject* call_fast(PyObject* self, PyObject* const* values, Py_ssize_t count, PyObject* names) {
  PyObject* result = reinterpret_cast<Fast>(reinterpret_cast<void (*)()>(pybind11_call))(self, values, count, names);
  if (result) return result;
  return said_shorter([&] {
    py::tuple args(count);
    for (Py_ssize_t i = 0; i < count; ++i) args[i] = py::reinterpret_borrow<py::object>(values[i]);
    py::dict kwargs;
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i)
      kwargs[py::handle(PyTuple_GET_ITEM(names, i))] = py::handle(values[count + i]);
    return std::pair(args, kwargs);
  });
}

PyObject* call_plain(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* result = reinterpret_cast<Plain>(reinterpret_cast<void (*)()>(pybind11_call))(self, args, kwargs);
  if (result) return result;
  return said_shorter([&] {
    return std::pair(py::reinterpret_borrow<py::tuple>(args),
                     kwargs ? py::reinterpret_borrow<py::dict>(kwargs) : py::dict());
  });
}

/// The definition of a function, or null if it is none.
PyMethodDef* definition_of(py::handle function) {
  if (PyInstanceMethod_Check(function.ptr())) function = PyInstanceMethod_GET_FUNCTION(function.ptr());
  return PyCFunction_Check(function.ptr()) ? reinterpret_cast<PyCFunctionObject*>(function.ptr())->m_ml : nullptr;
}

void shorten(py::handle function) {
  PyMethodDef* const definition = definition_of(function);
  if (!definition || definition->ml_meth != pybind11_call) return;
  const bool fast = definition->ml_flags & METH_FASTCALL;  // from pybind11 3.1 on
  definition->ml_meth = reinterpret_cast<PyCFunction>(fast ? reinterpret_cast<void (*)()>(&call_fast)
                                                           : reinterpret_cast<void (*)()>(&call_plain));
}

/// How pybind11 writes the types of a signature, and how Python does. Parts are known by their parameters' names.
constexpr std::pair<std::string_view, std::string_view> types_of_python[] = {
    {"typing.SupportsInt | typing.SupportsIndex", "int"},
    {"typing.SupportsFloat | typing.SupportsIndex", "float"},
    {"os.PathLike | str | bytes", "str | os.PathLike"},
    {"espalier._core.", ""},
    {"collections.abc.", ""},
    {"model: object", "model: LanguageModelLike"},
    {"Mapping[str, object]", "Mapping[str, LanguageModelLike]"},
    {"retriever: object", "retriever: RetrieverLike"},
    {"retrievers: Sequence[object]", "retrievers: Sequence[RetrieverLike]"},
    {"encoder: object", "encoder: EncoderLike"},
    {"values: object", "values: EncoderLike"},
    {"reranker: object", "reranker: RerankerLike"},
    {"reward: object", "reward: RewardLike"},
    {"prune: object", "prune: PruningLike"},
    {"progress: object", "progress: Callable[[str, int, int], Any] | None"},
    {"Like = None", "Like | None = None"},
    {"object", "Any"}};

/// A signature without types, as `inspect` reads it. A default that is no literal becomes `...`.
std::string untyped(std::string_view signature) {
  std::string out;
  int depth = 0;
  bool quoted = false, shown = true;
  for (const char c : signature) {
    quoted ^= c == '\'';
    if (!quoted) depth += int(c == '(' || c == '[' || c == '{') - int(c == ')' || c == ']' || c == '}');
    if (depth == 1 && !quoted && (c == ':' || c == ',' || c == '=')) shown = c != ':';
    if (shown && depth == 2 && c == '(') {
      out.erase(out.rfind('=') + 1) += "...";
      shown = false;
    }
    if (shown || depth == 0) out += c;
    if (depth == 0 && c == ')') break;
  }
  return out;
}

/// Writes the signature at the head of a function's docstring with the types of Python, and once more for `inspect`.
void retype(py::handle function) {
  PyMethodDef* const definition = definition_of(function);
  if (!definition || !definition->ml_doc) return;
  std::string doc = definition->ml_doc;
  for (const auto& [from, to] : types_of_python)
    for (auto at = doc.find(from); at < doc.find('\n'); at = doc.find(from, at + to.size()))
      doc.replace(at, from.size(), to);
  if (doc.starts_with(std::string(definition->ml_name) + "("))
    doc = untyped(doc.substr(0, doc.find('\n'))) + "\n--\n\n" + doc;
  std::free(const_cast<char*>(definition->ml_doc));  // as pybind11 does
  definition->ml_doc = strdup(doc.c_str());
}

/// An object whose __init__ was not called, or failed, holds no value. At its first use pybind11 would make room for
/// one with this, and take the bytes that lie there for a value.
void* refuse_empty(std::size_t) { throw py::type_error(empty_object); }

/// How objects are pickled. Python's own way would make an object of pybind11's base, which ends the process.
py::object reduced(const py::object& self) {
  if (!py::hasattr(self, "__setstate__")) throw py::type_error("cannot pickle '" + type_name(self) + "' object");
  const py::object make = py::module_::import("copyreg").attr("__newobj__");
  return py::make_tuple(make, py::make_tuple(py::type::of(self)), self.attr("__getstate__")());
}

PyObject* made_from = nullptr;  ///< objects without properties -> (values, values by name) that they were made from
initproc plain_init = nullptr;

/// Makes an object, and keeps the arguments for its repr.
int init_and_keep(PyObject* self, PyObject* args, PyObject* kwargs) {
  if (plain_init(self, args, kwargs) != 0) return -1;
  const py::object by_name = kwargs ? py::reinterpret_borrow<py::object>(kwargs) : py::dict();
  return PyObject_SetItem(made_from, self, py::make_tuple(py::handle(args), by_name).ptr());
}

/// The repr of a class that has none of its own: what the object was made from, or its properties.
py::str shown(const py::object& self) {
  if (!reinterpret_cast<py::detail::instance*>(self.ptr())->get_value_and_holder().holder_constructed())
    throw py::type_error(empty_object);
  py::list parts;
  const auto add = [&](auto name, auto value) { parts.append(py::str("{}={}").format(name, brief(value))); };
  const py::object made = py::handle(made_from).attr("get")(self);
  if (!made.is_none()) {
    for (const py::handle value : made[py::int_(0)]) parts.append(brief(value));
    for (const auto& [name, value] : py::dict(made[py::int_(1)])) add(name, value);
  }
  for (const py::handle base : py::type::of(self).attr("__mro__"))
    for (const auto& [name, member] : py::dict(base.attr("__dict__")))
      if (Py_IS_TYPE(member.ptr(), &PyProperty_Type)) add(name, self.attr(py::str(name)));
  const bool unknown = made.is_none() && parts.empty();
  return py::str("{}({})").format(type_name(self), unknown ? py::str("...") : py::str(", ").attr("join")(parts));
}

}  // namespace

void shorten_mismatches(const py::module_& m) {
  pybind11_call = definition_of(py::cpp_function([] {}))->ml_meth;  // all bound functions share it
  made_from = py::module_::import("weakref").attr("WeakKeyDictionary")().release().ptr();
  const py::object plain_repr = py::module_::import("builtins").attr("object").attr("__repr__");
  for (const auto& [name, member] : py::dict(m.attr("__dict__"))) {
    shorten(member);
    retype(member);
    if (!PyType_Check(member.ptr())) continue;
    bool keeps = plain_repr.is(py::object(member.attr("__repr__")));
    if (auto* type = py::detail::get_type_info(reinterpret_cast<PyTypeObject*>(member.ptr()))) {
      type->operator_new = &refuse_empty;
      if (!py::dict(member.attr("__dict__")).contains("__reduce__"))
        member.attr("__reduce__") = py::cpp_function(&reduced, py::name("__reduce__"), py::is_method(member));
      if (keeps) member.attr("__repr__") = py::cpp_function(&shown, py::name("__repr__"), py::is_method(member));
    }
    for (const auto& [inner_name, inner] : py::dict(member.attr("__dict__"))) {
      shorten(inner);
      retype(inner);
      if (!Py_IS_TYPE(inner.ptr(), &PyProperty_Type)) continue;
      retype(inner.attr("fget"));
      keeps = false;
    }
    if (keeps) plain_init = std::exchange(reinterpret_cast<PyTypeObject*>(member.ptr())->tp_init, &init_and_keep);
  }
}

}  // namespace espalier::python
