// SPDX-License-Identifier: Apache-2.0
#include "report/output.hpp"

#include "errors.hpp"
#include "report/replace.hpp"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>

namespace ballast_cli {

void write_standard_output(std::string_view text) {
  if (auto const error = write_all(STDOUT_FILENO, text); error != 0)
    throw cannot_write(std::string("standard output: cannot be written: ") + std::strerror(error));
}

std::string grouped(std::uint64_t value) {
  auto digits = std::to_string(value);
  for (auto at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string counted(std::uint64_t count, std::string const& what) {
  if (count == 1) return "1 " + what;
  if (what.ends_with("ry")) return grouped(count) + " " + what.substr(0, what.size() - 1) + "ies";
  return grouped(count) + " " + what + (what.ends_with("tch") || what.ends_with("ss") ? "es" : "s");
}

std::string percent(double share) {
  auto const shown = share < 1.0 && share > 0.9999 ? 0.9999 : share;
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.2f %%", 100.0 * shown);
  return text;
}

std::string percent_up(double share) { return percent(std::ceil(share * 1e4) / 1e4); }

}  // namespace ballast_cli
