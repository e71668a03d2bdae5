# The Python extension espalier._core: every bindings/*.cpp, with each component that was found.
find_package(Python REQUIRED COMPONENTS Interpreter Development.Module)
find_package(pybind11 CONFIG REQUIRED)
include(cmake/programs.cmake)

file(GLOB bindings CONFIGURE_DEPENDS bindings/*.cpp)
if(bindings)
  pybind11_add_module(_core NO_EXTRAS ${bindings} ${PROJECT_SOURCE_DIR}/cmake/methods.cpp)  # no link-time optimisation: g++ 12 warns about coroutine frames
  espalier_program(_core)
  target_compile_definitions(_core PRIVATE ESPALIER_METHODS_ELSEWHERE)
  foreach(component IN LISTS espalier_components)
    if(TARGET espalier::${component})
      target_link_libraries(_core PRIVATE espalier::${component})
    endif()
  endforeach()
  install(TARGETS _core DESTINATION espalier COMPONENT python)
endif()
