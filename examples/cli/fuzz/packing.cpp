// SPDX-License-Identifier: Apache-2.0
#include "readers/packing.hpp"
#include "errors.hpp"

#include <ballast/packing/check.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

// The readers of foreign packings and the validator behind them: lists a line, or an array of offsets and one of members.

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace ballast_cli;
  if (size == 0) return 0;
  std::string_view const bytes(reinterpret_cast<char const*>(data + 1), size - 1);
  std::vector<std::int64_t> const lengths{5, 3, 8, 1};
  try {
    ballast::groups<std::uint64_t> packs;
    if (data[0] % 2 == 0)
      packs = read_index_lists(bytes, "input");
    else
      packs = {read_indices(bytes, "offsets"), {0, 1, 2, 3}};
    (void)describe(ballast::check_packing(packs, lengths, {.capacity = 10}));
  } catch (bad_input const&) {
    return 0;
  }
  return 0;
}
