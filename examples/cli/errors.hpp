// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

// How a command ends. Each failure is an exception whose text is the one sentence the user reads.

namespace ballast_cli {

inline constexpr int exit_ok = 0;
inline constexpr int exit_failure = 1;     // could not write, no GPU that works, or a fault of our own
inline constexpr int exit_bad_input = 2;   // files or options that cannot be used
inline constexpr int exit_infeasible = 3;  // the input is fine, but no plan meets the demand
inline constexpr int exit_doubtful = 4;    // what was printed may be wrong, and `--strict` demands better

struct bad_input : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct cannot_write : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// No GPU can be used, or one failed.
struct gpu_failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct no_plan : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct doubtful : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A piece of input fit for a terminal: unprintable bytes escaped, long text cut.
[[nodiscard]] inline std::string printable(std::string_view text) {
  constexpr std::size_t most = 40;
  constexpr std::string_view digits = "0123456789abcdef";
  if (text.empty()) return "an empty field";
  std::string out;
  for (auto const c : text.substr(0, most)) {
    auto const byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f)
      out += c;
    else
      (out += "\\x") += {digits[byte >> 4], digits[byte & 15]};
  }
  return text.size() > most ? out + "..." : out;
}

}  // namespace ballast_cli
