// SPDX-License-Identifier: Apache-2.0
#include "readers/profile.hpp"

#include "errors.hpp"
#include "readers/rows.hpp"

#include <algorithm>
#include <cstdint>

namespace ballast_cli {

std::vector<profile_row> read_profile(std::string_view bytes, std::string const& name) {
  std::vector<profile_row> rows;
  for_each_row(bytes, [&](std::span<std::string_view const> fields, std::size_t line) {
    auto const place = name + ":" + std::to_string(line) + ": ";
    if (fields.size() != 4 && fields.size() != 5)
      throw bad_input(place + "four columns are expected, length, sp, recomputed_layers and milliseconds, or a fifth, memory; there are " +
                      std::to_string(fields.size()));
    profile_row row{{}, 0, {}, line};
    auto& at = row.setting;
    if (!read_field(fields[0], at.capacity) || at.capacity < 1 || at.capacity >= std::int64_t{1} << 31)
      throw bad_input(place + printable(fields[0]) + " is not a length of packs: these are whole numbers from 1 to 2^31-1");
    if (!read_field(fields[1], at.sp) || at.sp < 1 || at.sp > 8192)
      throw bad_input(place + printable(fields[1]) + " is not an SP degree: these are whole numbers from 1 to 8192");
    if (!read_field(fields[2], at.recomputed_layers))
      throw bad_input(place + printable(fields[2]) + " is not a number of recomputed layers: these are whole numbers from 0");
    if (!read_field(fields[3], row.ms) || !(row.ms >= 1e-3 && row.ms <= 1e6))
      throw bad_input(place + printable(fields[3]) + " is not a time: times are milliseconds from 0.001 to 10^6");
    if (fields.size() == 5) {
      double gigabytes = 0;
      if (!read_field(fields[4], gigabytes) || !(gigabytes > 0 && gigabytes <= 1e9))
        throw bad_input(place + printable(fields[4]) + " is not a memory: these are gigabytes of a device above 0");
      row.gigabytes = gigabytes;
    }
    if (std::any_of(rows.begin(), rows.end(), [&](profile_row const& r) { return r.setting == at; }))
      throw bad_input(place + "this length, sp and number of layers occur a second time");
    rows.push_back(row);
  });
  if (rows.empty()) throw bad_input(name + ": there are no measured settings in it");
  return rows;
}

}  // namespace ballast_cli
