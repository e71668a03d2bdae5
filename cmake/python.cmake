# The Python extension espalier._core: every bindings/*.cpp, with each component that was found. It cannot do without fmt.
find_package(Python REQUIRED COMPONENTS Interpreter Development.Module)
find_package(pybind11 CONFIG REQUIRED)
include(cmake/programs.cmake)

file(GLOB bindings CONFIGURE_DEPENDS bindings/*.cpp)
if(bindings)
  pybind11_add_module(_core NO_EXTRAS ${bindings} ${PROJECT_SOURCE_DIR}/cmake/methods.cpp)  # no link-time optimisation: g++ 12 warns about coroutine frames
  espalier_program(_core)
  # Three large files in place of thirty: a third of the work. As in tests/CMakeLists.txt, included files look like headers to g++.
  set_target_properties(_core PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 11)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/cmake/methods.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_compile_options(_core PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  # fmt is compiled into the extension, so that a wheel carries no library for it.
  if(NOT TARGET espalier::fmt)
    message(FATAL_ERROR "The Python extension needs fmt (Debian: libfmt-dev)")
  endif()
  target_link_libraries(_core PRIVATE fmt::fmt-header-only)
  foreach(component IN LISTS espalier_components)
    if(TARGET espalier::${component} AND NOT component STREQUAL fmt)
      target_link_libraries(_core PRIVATE espalier::${component})
    endif()
  endforeach()
  install(TARGETS _core DESTINATION espalier COMPONENT python)
endif()
