// SPDX-License-Identifier: Apache-2.0
#include "readers/expert_loads.hpp"

#include "errors.hpp"
#include "readers/rows.hpp"
#include "report/output.hpp"

#include <cstddef>

namespace ballast_cli {

std::vector<std::vector<std::int64_t>> read_expert_loads(std::string_view bytes, std::string const& name) {
  constexpr auto most = std::int64_t{1} << 42;
  std::vector<std::vector<std::int64_t>> layers;
  for_each_row(bytes, [&](std::span<std::string_view const> fields, std::size_t line) {
    auto const place = name + ":" + std::to_string(line);
    if (!layers.empty() && fields.size() != layers.front().size())
      throw bad_input(place + ": " + counted(fields.size(), "expert") + " where the first layer has " +
                      std::to_string(layers.front().size()));
    std::int64_t sum = 0;
    auto& layer = layers.emplace_back();
    for (auto const field : fields) {
      auto& rows = layer.emplace_back();
      if (!read_field(field, rows) || rows < 0)
        throw bad_input(place + ": " + printable(field) + " is not a load: loads are whole numbers of rows from 0");
      if (rows >= most - sum) throw bad_input(place + ": the loads of the layer add up to 2^42 rows or more");
      sum += rows;
    }
  });
  if (layers.empty()) throw bad_input(name + ": there are no loads in it");
  return layers;
}

}  // namespace ballast_cli
