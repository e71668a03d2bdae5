#pragma once

/// Formatters of fmt for trees and nodes. They need the component `espalier::fmt`.

#include <espalier/fmt/one_line.hpp>
#include <espalier/fmt/tree.hpp>
