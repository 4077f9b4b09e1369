// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "report/page.hpp"

#include <map>
#include <string>
#include <string_view>

// What fills the places of page.html: each part of a plan adds those that are named after it there.

namespace ballast_cli {

/// Names of places, and the HTML that takes them.
using page_places = std::map<std::string_view, std::string>;

/// The page with `{{name}}` replaced by its value, `{{#name}}...{{/name}}` left out where the name has none, and `{{! ...}}` gone. A mark
/// in a line of its own leaves no line. Values are not looked into.
[[nodiscard]] std::string filled(std::string_view page, page_places const& places);

/// What all plans say: the first lines, waiting, loads and limits.
void add_plans(page_places& places, report_data const& data);
/// The histograms, and what long samples hold.
void add_lengths(page_places& places, report_data const& data);
/// Some packs, sample by sample.
void add_packs(page_places& places, report_data const& data);
/// Of a plan in several levels: the levels, and the order of their steps.
void add_levels(page_places& places, report_data const& data);
/// Of a plan with stages: the stages, their memory, and the timeline of a step.
void add_stages(page_places& places, report_data const& data);

}  // namespace ballast_cli
