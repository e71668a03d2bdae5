#pragma once

/// Formatters of fmt for trees, nodes, costs and values. They need the component `espalier::fmt`.

#include <espalier/fmt/ledger.hpp>
#include <espalier/fmt/one_line.hpp>
#include <espalier/fmt/tree.hpp>
#include <espalier/fmt/value.hpp>
