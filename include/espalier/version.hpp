#pragma once

namespace espalier {

inline constexpr const char* version = "0.2.0";

}  // namespace espalier
