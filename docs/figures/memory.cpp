// SPDX-License-Identifier: Apache-2.0
#include "../../tests/support/measured_memory.hpp"

#include "figures.hpp"

#include <string>
#include <utility>

namespace figures {

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

}  // namespace figures
