// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "report/page.hpp"

#include <string>

// The part of a report that only a plan in several levels has: its levels, and the order of their steps.

namespace ballast_cli {

/// Colours of levels, as CSS beside `chart_style`.
[[nodiscard]] std::string level_style();

/// Headings, a table of the levels and the pictures.
[[nodiscard]] std::string levels_section(report_data const& data);

}  // namespace ballast_cli
