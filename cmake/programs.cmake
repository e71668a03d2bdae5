# What our own programs (tests, examples, benchmarks, the Python extension) are built with. Users never read this file.
include_guard()

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(ESPALIER_CCACHE ccache)
  if(ESPALIER_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${ESPALIER_CCACHE})
  endif()
endif()

add_library(espalier_options INTERFACE)
target_compile_options(espalier_options INTERFACE -Wall -Wextra -Wpedantic -Wconversion
  # The compilers alike: neither speaks of `x(x)` in a constructor, nor of signs in conversions.
  $<IF:$<CXX_COMPILER_ID:GNU>,-Wshadow=local,-Wshadow> $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>
  $<$<BOOL:${ESPALIER_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(espalier_options INTERFACE -Wno-restrict)  # GCC PR 105651: wrong about "text" + string
endif()
if(ESPALIER_SANITIZE)
  set(sanitize -fsanitize=${ESPALIER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>   # unreliable in instrumented code, says GCC's manual
    $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)  # LLVM 49689: does not compile coroutines
  target_compile_options(espalier_options INTERFACE ${sanitize})
  target_link_options(espalier_options INTERFACE ${sanitize})
endif()

# Builds `target` under the warnings and sanitizers above.
function(espalier_program target)
  target_link_libraries(${target} PRIVATE espalier::espalier espalier_options)
endfunction()

include(${CMAKE_CURRENT_LIST_DIR}/includes.cmake)

# Links `target` to the components that its sources include, directly or through our headers.
# Sources that need a component which was not found are not given to it: espalier_buildable sorts them out first.
function(espalier_link_components target sources)
  espalier_program(${target})
  foreach(source IN LISTS sources)
    espalier_components_of(${source} required wanted)
    foreach(component IN LISTS required wanted)
      if(TARGET espalier::${component})
        target_link_libraries(${target} PRIVATE espalier::${component})
      endif()
    endforeach()
  endforeach()
endfunction()

# Sets `out` to those of `sources` whose components were all found, and says which were left out.
function(espalier_buildable sources out)
  foreach(source IN LISTS sources)
    espalier_components_of(${source} required wanted)
    set(missing "")
    foreach(component IN LISTS required)
      if(NOT TARGET espalier::${component})
        list(APPEND missing ${component})
      endif()
    endforeach()
    if(missing)
      file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${source})
      message(STATUS "Left out: ${name} needs ${missing}")
    else()
      list(APPEND buildable ${source})
    endif()
  endforeach()
  set(${out} ${buildable} PARENT_SCOPE)
endfunction()

# Gives `target` every method by name, from an object that all such programs share: methods are what costs most to compile.
function(espalier_share_methods target)
  if(NOT TARGET espalier_methods)
    add_library(espalier_methods OBJECT ${PROJECT_SOURCE_DIR}/cmake/methods.cpp)
    espalier_link_components(espalier_methods ${PROJECT_SOURCE_DIR}/cmake/methods.cpp)
    target_compile_options(espalier_methods PRIVATE ${optimised})
  endif()
  target_link_libraries(${target} PRIVATE espalier_methods)
endfunction()
