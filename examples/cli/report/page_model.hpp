// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "report/page.hpp"

#include <string>

// The part of a report that only a plan with stages has: the stages, their memory, and the timeline of a step.

namespace ballast_cli {

/// Shapes of the timeline, as CSS beside `chart_style`.
[[nodiscard]] std::string timeline_style();

/// Headings, tables and pictures. There is a model in `data`.
[[nodiscard]] std::string model_section(report_data const& data);

}  // namespace ballast_cli
