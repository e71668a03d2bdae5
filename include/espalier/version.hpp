#pragma once

namespace espalier {

inline constexpr const char* version = "0.1.0";

}  // namespace espalier
