// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/framework_setting.hpp"

#include <map>
#include <string>
#include <string_view>

// What a file says of adapters, the optimiser, the length of the run and the 16-bit format, on which neither memory nor time of a step
// depends: each framework's key of it.

namespace ballast_cli {

/// The numbers that a file says by keys of `format`, by what they are in words: "weight decay".
[[nodiscard]] std::map<std::string_view, std::string> numbers_in(framework_format const& format, setting_source const& source);
/// Leaves out those that the kind of training does not have.
void keep_numbers_of_task(imported_setting& out);
/// Whether a file says that the 16-bit format is float16, and not bfloat16. The details have it as Megatron-Core's key "fp16".
[[nodiscard]] bool trains_in_float16(setting_source const& source);
/// Adds the numbers for which `format` has a key to the text of a file, and writes its 16-bit format.
void write_details(framework_format const& format, imported_setting const& of, std::string& text);

}  // namespace ballast_cli
