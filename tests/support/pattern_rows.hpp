// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/patterns/detail/reduce_stock.hpp>

#include <cstdint>
#include <map>
#include <vector>

namespace ballast_test {

/// How often each length occurs.
inline std::map<std::int64_t, std::uint64_t> counted(std::vector<std::int64_t> const& lengths) {
  std::map<std::int64_t, std::uint64_t> out;
  for (auto const l : lengths) ++out[l];
  return out;
}
/// A row for each length, whose class is its number.
inline ballast::detail::pattern_rows rows_of(std::map<std::int64_t, std::uint64_t> const& samples, std::int64_t capacity,
                                             std::uint64_t max_samples = 0) {
  ballast::detail::pattern_rows out{capacity, {}, {}, {}, max_samples};
  for (auto at = samples.rbegin(); at != samples.rend(); ++at) {
    out.length.push_back(at->first);
    out.item_class.push_back(static_cast<std::uint32_t>(out.item_class.size()));
    out.count.push_back(at->second);
  }
  return out;
}

}  // namespace ballast_test
