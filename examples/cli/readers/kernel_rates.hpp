// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/calibrated_rates.hpp>
#include <ballast/cost/kernel_rates.hpp>

#include <string>
#include <string_view>

// Files of what kernels reach on a device, and of what measured steps say of it: TOML, with the names of the library's fields as keys.

namespace ballast_cli {

/// Rates of a file; what it does not say is that of its `preset` or, without one, `otherwise`. Whose kernels run, and in which precision,
/// is that of `otherwise`. Throws bad_input, naming `name`, the line and the key.
[[nodiscard]] ballast::kernel_rates read_kernel_rates(std::string_view text, std::string const& name,
                                                      ballast::kernel_rates const& otherwise);

/// A calibration as `to_toml` writes it. Throws bad_input, naming `name`, the line and the key.
[[nodiscard]] ballast::step_calibration read_step_calibration(std::string_view text, std::string const& name);
[[nodiscard]] std::string to_toml(ballast::step_calibration const& of);

}  // namespace ballast_cli
