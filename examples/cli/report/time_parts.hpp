// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/timed_step.hpp"
#include "report/page.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

// Where the time of a step goes: in words on the stage that waits least, in JSON and on a page on all stages.

namespace ballast_cli {

/// As `kernels_named` takes it, or a file.
[[nodiscard]] std::string rates_name(timed_step const& of);
/// What is added to the notes of a plan, without its full stop, where it is not told. Empty where it is.
[[nodiscard]] std::string untold_in_words(timed_step const& of);

/// `null` where it is not told.
[[nodiscard]] nlohmann::ordered_json to_json(timed_step const& of);
/// Nothing where it is not told.
[[nodiscard]] std::string in_words(timed_step const& of);
/// Without bars where it is not told. `others` says what all other times of the page are modelled by.
[[nodiscard]] report_split on_page(timed_step const& of, std::string const& others);

}  // namespace ballast_cli
