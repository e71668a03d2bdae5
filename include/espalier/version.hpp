#pragma once

#if defined(__clang__) ? __clang_major__ < 16 : defined(__GNUC__) && __GNUC__ < 12
#ifdef __clang__
#error "Espalier needs clang 16 or newer (or g++ 12): this clang is older"
#else
#error "Espalier needs g++ 12 or newer (or clang 16): this g++ is older"
#endif
#include <espalier/a_newer_compiler>  // which is not there: older compilers stop here, without pages of further errors
#endif

namespace espalier {

inline constexpr const char* version = "0.3.0";

}  // namespace espalier
