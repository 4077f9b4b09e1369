// SPDX-License-Identifier: Apache-2.0
#include "../../tests/support/measured_memory.hpp"

#include "figures.hpp"

#include <ballast/core/random.hpp>
#include <ballast/memory/buffer_addresses.hpp>
#include <ballast/memory/fit_layouts.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace figures {

using namespace ballast;

void memory_model(writer& show) {
  using namespace ballast_test;
  for (auto const& [name, rows] : {std::pair{"torchtitan", torchtitan_rows()},
                                   {"megatron_swift", megatron_swift_rows()},
                                   {"deepspeed_swift", deepspeed_swift_rows()},
                                   {"swift", swift_rows()},
                                   {"chunkflow", chunkflow_rows()}}) {
    std::vector<numbers> out;  // measured and computed, in MiB; whether a constant was fitted to the row
    for (auto const& row : rows) {
      auto const of = computed(row);
      out.push_back(
          {static_cast<std::int64_t>(row.measured * 1024 + 0.5), (of.states + of.kept + of.working + of.fixed) >> 20, row.fitted ? 1 : 0});
    }
    show("memory_model." + std::string(name), out);
  }
}

void memory_layout(writer& show) {
  // A rectangle of 1000 times and 1000 bytes, cut 35 times, so that a layout of 1000 bytes exists.
  splitmix64 draw(19);
  auto const below = [&](std::int64_t bound) { return static_cast<std::int64_t>(uniform_below(static_cast<std::uint64_t>(bound), draw)); };
  std::vector<buffer> all{{.lower = 0, .upper = 1000, .size = 1000}};
  while (all.size() < 36) {
    auto& largest = *std::max_element(
        all.begin(), all.end(), [](auto const& a, auto const& b) { return (a.upper - a.lower) * a.size < (b.upper - b.lower) * b.size; });
    auto other = largest;
    if (below(2) == 0) {
      largest.upper = other.lower = largest.lower + 1 + below(largest.upper - largest.lower - 1);
    } else {
      largest.size = 1 + below(largest.size - 1);
      other.size -= largest.size;
    }
    all.push_back(other);
  }
  auto const first_fit = first_fit_layout(all), searched = layout_buffers(all);
  std::vector<numbers> rows;  // times, size, addresses
  for (std::size_t i = 0; i < all.size(); ++i)
    rows.push_back({all[i].lower, all[i].upper, all[i].size, first_fit.offsets[i], searched.offsets[i]});
  show("memory_layout", rows);
  show("memory_layout.height", numbers{first_fit.height.value, searched.height.value, searched.height.lower_bound});
}

}  // namespace figures
