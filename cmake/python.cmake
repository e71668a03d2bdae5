# The Python extension espalier._core: every bindings/*.cpp, with each component that was found. It cannot do without fmt.
find_package(Python REQUIRED COMPONENTS Interpreter Development.Module)
find_package(pybind11 CONFIG REQUIRED)
include(cmake/programs.cmake)

file(GLOB bindings CONFIGURE_DEPENDS bindings/*.cpp)

# A few large files in place of thirty: a third of the work. Their includes are relative to the project, so that ccache
# knows them in another folder. CMake has that of its own from 4.0 on, UNITY_BUILD_RELOCATABLE.
function(espalier_units name sources most)
  while(sources)
    list(LENGTH units number)
    list(SUBLIST sources 0 ${most} batch)
    list(REMOVE_ITEM sources ${batch})
    set(lines "")
    foreach(source IN LISTS batch)
      file(RELATIVE_PATH source ${PROJECT_SOURCE_DIR} ${source})
      string(APPEND lines "#include \"${source}\"\n")
    endforeach()
    file(CONFIGURE OUTPUT units/${name}_${number}.cpp CONTENT "${lines}" @ONLY)
    list(APPEND units ${CMAKE_CURRENT_BINARY_DIR}/units/${name}_${number}.cpp)
  endwhile()
  set(${name}_units ${units} PARENT_SCOPE)
endfunction()

# What grows trees, retrieves and reads replies is optimised fully. What runs once a run is not: that is a third less work.
set(busy ${bindings})
list(FILTER busy INCLUDE REGEX "/bind_(dense|engines|environment|http|index|local_backends|problem|search)[.]cpp$")
list(REMOVE_ITEM bindings ${busy})
espalier_units(_core "${busy}" 4)
espalier_units(core_once "${bindings}" 7)
pybind11_add_module(_core NO_EXTRAS ${_core_units} ${PROJECT_SOURCE_DIR}/cmake/methods.cpp)  # no link-time optimisation: g++ 12 warns about coroutine frames
add_library(core_once OBJECT ${core_once_units})
target_compile_options(core_once PRIVATE $<$<CONFIG:Release>:-O1>)
set_target_properties(core_once PROPERTIES
  POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
target_link_libraries(core_once PRIVATE pybind11::module)
target_sources(_core PRIVATE $<TARGET_OBJECTS:core_once>)  # the linker keeps the first, fully optimised one of equal functions

# fmt is compiled into the extension, so that a wheel carries no library for it.
if(NOT TARGET espalier::fmt)
  message(FATAL_ERROR "The Python extension needs fmt (Debian: libfmt-dev)")
endif()

foreach(target _core core_once)
  espalier_program(${target})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  # As in tests/CMakeLists.txt, included files look like headers to g++.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  target_link_libraries(${target} PRIVATE fmt::fmt-header-only)
  foreach(component IN LISTS espalier_components)
    if(TARGET espalier::${component} AND NOT component STREQUAL fmt)
      target_link_libraries(${target} PRIVATE espalier::${component})
    endif()
  endforeach()
endforeach()

# What the extension says of its parts: the name of each, and why it was left out ("" = it is there).
set(parts "")
foreach(name IN LISTS espalier_components)
  if(NOT name STREQUAL fmt)
    get_property(left_out GLOBAL PROPERTY espalier_${name}_left_out)
    string(REGEX REPLACE "([\\\"])" "\\\\\\1" left_out "${left_out}")
    string(REPLACE sqlite journal part ${name})
    string(APPEND parts "{\"${part}\", \"${left_out}\"},\n")
  endif()
endforeach()
file(CONFIGURE OUTPUT parts/espalier_parts.inc CONTENT "${parts}" @ONLY)
target_include_directories(core_once PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/parts)

install(TARGETS _core DESTINATION espalier COMPONENT python)

# A wheel's list of what is compiled into the extension, beside auditwheel's list of the libraries that it carries.
if(SKBUILD_METADATA_DIR)
  set(parts "")
  set(compiled fmt pybind11)
  if(TARGET espalier::dense)
    list(APPEND compiled Eigen3)
  endif()
  foreach(package IN LISTS compiled)
    find_package(${package} CONFIG QUIET)
    string(TOLOWER ${package} name)
    string(APPEND parts ",\n{\"type\": \"library\", \"name\": \"${name}\", \"version\": \"${${package}_VERSION}\"}")
  endforeach()
  string(SUBSTRING "${parts}" 1 -1 parts)
  file(CONFIGURE OUTPUT compiled.cdx.json @ONLY CONTENT
    "{\"bomFormat\": \"CycloneDX\", \"specVersion\": \"1.5\", \"version\": 1, \"components\": [@parts@]}\n")
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/compiled.cdx.json DESTINATION ${SKBUILD_METADATA_DIR}/sboms COMPONENT python)
endif()
