// SPDX-License-Identifier: Apache-2.0
#include "readers/buffers.hpp"
#include "errors.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

// The reader behind `layout`, from memory: buffers within their limits, which are written and read back as they are, or one sentence.

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace ballast_cli;
  try {
    auto const table = read_buffers({reinterpret_cast<char const*>(data), size}, "input");
    if (table.buffers.empty() || table.names.size() != table.buffers.size()) std::abort();
    std::uint64_t sum = 0;
    std::vector<std::int64_t> offsets;
    for (auto const& b : table.buffers) {
      if (b.lower >= b.upper || b.size < 0 || b.alignment < 1 || b.fixed < -1 || (b.fixed > 0 && b.fixed % b.alignment != 0)) std::abort();
      sum += static_cast<std::uint64_t>(b.size) + static_cast<std::uint64_t>(b.alignment) +
             static_cast<std::uint64_t>(b.fixed < 0 ? 0 : b.fixed);
      if (sum >= std::uint64_t{1} << 62) std::abort();
      offsets.push_back(0);
    }
    auto again = read_buffers(buffers_csv(table, offsets), "input");
    for (std::size_t i = 0; i < again.buffers.size(); ++i) again.buffers[i].fixed = table.buffers[i].fixed;
    if (again.buffers != table.buffers || again.names != table.names) std::abort();
  } catch (bad_input const& e) {
    if (std::string(e.what()).find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
