#pragma once

/// Formatters of fmt for trees, nodes, costs and accounts. They need the component `espalier::fmt`.

#include <espalier/fmt/ledger.hpp>
#include <espalier/fmt/one_line.hpp>
#include <espalier/fmt/tree.hpp>
